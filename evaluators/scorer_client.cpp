#include "evaluators/scorer_client.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>

#include "core/files.h"
#include "evaluators/scorer_process.h"

namespace harness {
namespace {

using std::chrono::milliseconds;

constexpr int kStartAttempts = 3;
constexpr const char* kClosed = "the scorer was closed before it answered";

/// Thrown where the pool is closed while a child starts.
struct Stopped {};

constexpr std::size_t kIdDigits = 15, kTellingDigits = 5;

/// An id that no scorer can know before its request. Every language's numbers hold 15 digits exactly, also
/// where they are doubles; and all ids are equally long, so that places in a line do not depend on them.
std::uint64_t unguessable_id() {
  std::random_device source;
  return std::uniform_int_distribution<std::uint64_t>(100'000'000'000'000, 999'999'999'999'999)(source);
}

/// A scorer's words with "ID" in the place of ids that it was sent: nothing random is stored.
std::string without_ids(const std::string& text, const std::set<std::uint64_t>& ids) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string out;
  for (std::size_t i = 0, end = 0; i < text.size(); i = std::max(end, i + 1)) {
    end = static_cast<std::size_t>(
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(), is_digit) - text.begin());
    const auto digits = text.substr(i, end - i);
    const bool is_id = digits.size() == kIdDigits && ids.contains(std::stoull(digits));
    // A long text was cut off, perhaps within an id.
    const bool is_cut =
        digits.size() >= kTellingDigits && digits.size() < kIdDigits &&
        std::ranges::any_of(ids, [&](auto id) { return std::to_string(id).starts_with(digits); });
    out += is_id || is_cut ? "ID" : digits.empty() ? text.substr(i, 1) : digits;
  }
  return out;
}

ScorerAnswer failed(std::string reason, bool cost_a_process = true) {
  ScorerAnswer answer;
  answer.error = std::move(reason);
  answer.cost_a_process = cost_a_process;
  return answer;
}

/// Marks the reasons of an answer with "lasting": true.
void mark_lasting(const std::string& line, ScorerAnswer& answer) {
  const auto value = Json::parse(line, nullptr, false);  // not one with NaN, which a reason is not
  const auto lasting = value.is_object() ? value.value("lasting", Json(false)) : Json(false);
  if (!lasting.is_boolean()) throw Error("\"lasting\" is neither true nor false", "answer");
  if (!lasting.get<bool>()) return;
  if (answer.error) *answer.error += kLastingMark;
  for (auto& [_, reason] : answer.unusable) reason += kLastingMark;
}

/// Blocks every signal in this thread and those it starts: signals belong to the main program, and a write to
/// a dead child then returns EPIPE.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

Exchange send(const ScorerRequest& request, const Image& image, ScorerProcess& child, Deadline deadline) {
  const auto sent = child.write(request_line(request), deadline);
  if (sent != Exchange::kDone || !request.path.empty()) return sent;
  return child.write({reinterpret_cast<const char*>(image.rgb.data()), image.rgb.size()}, deadline);
}

std::string reason_for(Exchange state, ScorerProcess& child, int deadline_ms) {
  if (state == Exchange::kLate) return fmt::format("no answer within {} ms", deadline_ms);
  if (state == Exchange::kTooLong) return "unreadable answer: a line of more than 1 MiB";
  if (state == Exchange::kStopped) return kClosed;
  return "the scorer " + child.how_it_ended();
}

Descriptor new_event() {
  Descriptor event(::eventfd(0, EFD_CLOEXEC));
  if (event.get() < 0) throw Error("cannot create an event descriptor", "scorer", {}, Status::kFailed);
  return event;
}

}  // namespace

ScorerPool::ScorerPool(ScorerPoolSettings settings) : settings_(std::move(settings)), stop_(new_event()) {
  if (settings_.command.empty() || settings_.workers < 1 || settings_.deadline_ms < 1)
    throw std::invalid_argument("ScorerPool");
  if (settings_.name.empty()) settings_.name = settings_.command[0];
  auto first = start_child();
  const SignalsBlocked blocked;
  for (int i = 0; i < settings_.workers; ++i) {
    threads_.emplace_back([this, child = std::move(first)]() mutable { work(std::move(child)); });
  }
}

ScorerPool::ScorerPool(std::vector<std::string> command, int workers, int deadline_ms)
    : ScorerPool({.command = std::move(command), .workers = workers, .deadline_ms = deadline_ms}) {}

ScorerPool::~ScorerPool() {
  stop();
  for (auto& thread : threads_) thread.join();
  for (auto& task : queue_) task.promise.set_value(failed(kClosed, false));
}

void ScorerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  ::eventfd_write(stop_.get(), 1);
  waiting_.notify_all();
}

std::future<ScorerAnswer> ScorerPool::submit(Image image, std::optional<ScorerText> text) {
  const std::size_t pixels = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
  if (image.width < 1 || image.height < 1 || image.rgb.size() != pixels * 3)
    throw std::invalid_argument("submit");
  Task task{0, std::move(image), std::move(text), {}};
  auto future = task.promise.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (failure_) {
      task.promise.set_exception(failure_);
      return future;
    }
    task.number = next_number_++;
    queue_.push_back(std::move(task));
  }
  waiting_.notify_one();
  return future;
}

void ScorerPool::work(Child child) {
  try {
    if (!child) child = start_child();
    while (auto task = next_task()) answer(*task, child);
  } catch (const Stopped&) {
  } catch (...) {
    fail_all(std::current_exception());
  }
}

std::optional<ScorerPool::Task> ScorerPool::next_task() {
  std::unique_lock lock(mutex_);
  waiting_.wait(lock, [this] { return closing_ || failure_ || !queue_.empty(); });
  if (closing_ || failure_) return std::nullopt;
  Task task = std::move(queue_.front());
  queue_.pop_front();
  return task;
}

/// Throws (after handing the same exception to the image's future) if no child can be had any more.
void ScorerPool::answer(Task& task, Child& child) {
  try {
    task.promise.set_value(answer_of(task, child));
  } catch (const Stopped&) {
    task.promise.set_value(failed(kClosed, false));
    throw;
  } catch (...) {
    task.promise.set_exception(std::current_exception());
    throw;
  }
}

/// Leaves no child where it failed: the next image starts one.
ScorerAnswer ScorerPool::answer_of(const Task& task, Child& child) {
  if (child && child->has_output_or_ended()) discard(child);
  if (!child) child = start_child();
  bool is_late = false;
  auto result = exchange(task, *child, is_late);
  // A child that has answered before may have failed on account of that: a second answer, or one to a
  // request that it expected, or an exit. Whether we saw it in time is chance, so the image is sent again.
  if (result.cost_a_process && !is_late && child->has_answered) {
    discard(child);
    child = start_child();
    result = exchange(task, *child, is_late);
  }
  if (result.cost_a_process) discard(child);
  return result;
}

void ScorerPool::discard(Child& child) {
  child->kill();
  child.reset();
  ++replaced_;
}

/// Sends the image, as a PNG file if there is a folder for them, and waits for the answer.
ScorerAnswer ScorerPool::exchange(const Task& task, ScorerProcess& child, bool& is_late) {
  std::filesystem::path file;
  if (!settings_.image_folder.empty()) {
    file = settings_.image_folder / fmt::format("{}.png", task.number);
    write_file(file, png_bytes(task.image));
  }
  const auto id = unguessable_id();
  child.ids.insert(id);
  auto answer =
      asked({id, task.image.width, task.image.height, file.string(), task.text}, task.image, child, is_late);
  std::error_code ignored;
  if (!file.empty()) std::filesystem::remove(file, ignored);
  if (answer.error) answer.error = without_ids(*answer.error, child.ids);
  for (auto& [name, reason] : answer.unusable) reason = without_ids(reason, child.ids);
  return answer;
}

ScorerAnswer ScorerPool::asked(const ScorerRequest& request, const Image& image, ScorerProcess& child,
                               bool& is_late) {
  const auto deadline = std::chrono::steady_clock::now() + milliseconds(settings_.deadline_ms);
  std::string line;
  Exchange state = send(request, image, child, deadline);
  // A child that refuses the image may close its input and still have sent the reason.
  if (state == Exchange::kDone || state == Exchange::kEnded) state = child.read_line(line, deadline);
  is_late = state == Exchange::kLate;
  if (state != Exchange::kDone) return failed(reason_for(state, child, settings_.deadline_ms));
  try {
    auto answer = parse_answer(line, request.id);
    mark_lasting(line, answer);
    child.has_answered = true;
    return answer;
  } catch (const Error& error) {
    return failed(fmt::format("unreadable {}", error.what()));
  }
}

/// A child that has said hello, after at most kStartAttempts.
ScorerPool::Child ScorerPool::start_child() {
  std::string reason;
  for (int attempt = 0; attempt < kStartAttempts; ++attempt) {
    if (closing_) throw Stopped{};
    auto child = std::make_unique<ScorerProcess>(settings_, stop_.get());
    std::string line;
    const Exchange state =
        child->read_line(line, std::chrono::steady_clock::now() + milliseconds(settings_.start_deadline_ms));
    if (state == Exchange::kStopped) throw Stopped{};
    if (state == Exchange::kDone) {
      accept(parse_hello(line, settings_.name, settings_.stated ? &*settings_.stated : nullptr));
      return child;
    }
    if (state == Exchange::kEnded) {
      reason = child->how_it_ended(" before its hello line");
    } else {
      reason = fmt::format("sent no hello line within {} ms", settings_.start_deadline_ms);
      child->kill();
    }
  }
  throw Error(fmt::format("{} ({} attempts)", reason, kStartAttempts), settings_.name,
              "its messages on standard error say more", Status::kFailed);
}

/// The first hello describes the pool; a later one must be equal, or one run would mix two scorers.
void ScorerPool::accept(ScorerHello hello) {
  const std::lock_guard lock(mutex_);
  if (!hello_) {
    hello_ = std::move(hello);
  } else if (hello.to_json() != hello_->to_json()) {
    throw Error("describes itself differently than at the start", settings_.name,
                "it or its data changed during the run", Status::kFailed);
  }
}

void ScorerPool::fail_all(const std::exception_ptr& failure) {
  std::deque<Task> unanswered;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = failure;
    unanswered.swap(queue_);
  }
  waiting_.notify_all();
  for (auto& task : unanswered) task.promise.set_exception(failure);
}

}  // namespace harness

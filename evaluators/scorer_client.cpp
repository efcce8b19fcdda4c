#include "evaluators/scorer_client.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "core/files.h"

namespace harness {
namespace {

using std::chrono::milliseconds;

constexpr int kStartAttempts = 3;
constexpr const char* kClosed = "the scorer was closed before it answered";

/// The pool is being closed while a child starts; nobody is left to hear of it.
struct Stopped {};

struct Task {
  std::uint64_t number;  ///< in the order of submission
  Image image;
  std::optional<ScorerText> text;
  std::promise<ScorerAnswer> promise;
  bool settled = false;
};

/// An image as a PNG file for as long as a scorer looks at it; without a folder there is none.
class ImageFile {
 public:
  ImageFile(const std::filesystem::path& folder, const Task& task) {
    if (folder.empty()) return;
    path_ = folder / fmt::format("{}.png", task.number);
    write_file(path_, png_bytes(task.image));
  }
  ~ImageFile() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }
  ImageFile(const ImageFile&) = delete;
  ImageFile& operator=(const ImageFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

constexpr std::size_t kIdDigits = 15, kTellingDigits = 5;

/// An id that no scorer knows before it was asked. Every language's numbers hold 15 digits exactly, also
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

ScorerAnswer failed(std::string reason) {
  ScorerAnswer answer;
  answer.error = std::move(reason);
  return answer;
}

/// Blocks every signal in this thread and those it starts: signals belong to the main program, and a write to
/// a dead child shall fail with EPIPE instead of ending us.
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

/// An event that wakes every poll(2) on it, once and for all.
class StopEvent {
 public:
  StopEvent() : fd_(::eventfd(0, EFD_CLOEXEC)) {
    if (fd_ < 0) throw Error("cannot create an event descriptor", "scorer", {}, Status::kFailed);
  }
  ~StopEvent() { ::close(fd_); }
  StopEvent(const StopEvent&) = delete;
  StopEvent& operator=(const StopEvent&) = delete;

  int fd() const { return fd_; }
  void set() { ::eventfd_write(fd_, 1); }

 private:
  int fd_;
};

}  // namespace

class ScorerPool::Impl {
 public:
  explicit Impl(ScorerPoolSettings settings)
      : settings_(std::move(settings)),
        deadline_(settings_.deadline_ms),
        start_deadline_(settings_.start_deadline_ms) {
    const auto& s = settings_;
    if (s.command.empty() || s.workers < 1 || s.deadline_ms < 1) throw std::invalid_argument("ScorerPool");
    if (settings_.name.empty()) settings_.name = s.command[0];
    auto first = start_child();
    const SignalsBlocked blocked;
    for (int i = 0; i < settings_.workers; ++i) {
      threads_.emplace_back([this, child = std::move(first)]() mutable { work(std::move(child)); });
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    stop_.set();
    waiting_.notify_all();
  }

  ~Impl() {
    stop();
    for (auto& thread : threads_) thread.join();
    for (auto& task : queue_) task.promise.set_value(failed(kClosed));
  }

  std::future<ScorerAnswer> submit(Image image, std::optional<ScorerText> text) {
    const std::size_t pixels = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
    if (image.width < 1 || image.height < 1 || image.rgb.size() != pixels * 3)
      throw std::invalid_argument("submit");
    Task task{0, std::move(image), std::move(text), {}, false};
    auto future = task.promise.get_future();
    {
      const std::lock_guard lock(mutex_);
      if (failure_) std::rethrow_exception(failure_);
      task.number = next_number_++;
      queue_.push_back(std::move(task));
    }
    waiting_.notify_one();
    return future;
  }

  const ScorerHello& hello() const { return hello_; }
  std::size_t replaced() const { return replaced_; }

 private:
  struct ChildState {
    ChildState(const ScorerPoolSettings& settings, int stop_fd)
        : process(settings.command, stop_fd, settings.child) {}

    ScorerProcess process;
    std::set<std::uint64_t> ids = {};  ///< of the requests that it was sent
    bool has_answered = false;
  };
  using Child = std::unique_ptr<ChildState>;

  /// How an exchange left the child.
  enum class After { kUsable, kLate, kUnusable };

  void work(Child child) {
    try {
      if (!child) child = start_child();
      while (auto task = next_task()) answer(*task, child);
    } catch (const Stopped&) {
    } catch (...) {
      fail_all(std::current_exception());
    }
  }

  /// Answers one image. Throws (after handing the same exception to the image's future) if no child can be
  /// had any more.
  void answer(Task& task, Child& child) {
    try {
      if (child->process.has_spoken_or_ended()) replace(child);
      After after = After::kUsable;
      ScorerAnswer result = exchange(task, *child, after);
      // A child that has answered before may have failed on account of that: a second answer, or one to a
      // request that it expected, or an exit. Whether we saw it in time is chance, so the image is sent anew.
      if (after == After::kUnusable && child->has_answered) {
        replace(child);
        result = exchange(task, *child, after);
      }
      const bool usable = after == After::kUsable;
      result.cost_a_process = !usable;
      settle(task, [&] { task.promise.set_value(std::move(result)); });
      if (!usable) replace(child);
    } catch (const Stopped&) {
      settle(task, [&] { task.promise.set_value(failed(kClosed)); });
      throw;
    } catch (...) {
      settle(task, [&] { task.promise.set_exception(std::current_exception()); });
      throw;
    }
  }

  /// Fulfils the task's promise unless that was done before (then only the replacement of its child failed).
  template <class Fulfil>
  static void settle(Task& task, Fulfil fulfil) {
    if (!std::exchange(task.settled, true)) fulfil();
  }

  void replace(Child& child) {
    child->process.kill();
    ++replaced_;
    child = start_child();
  }

  /// Sends the image and waits for the answer.
  ScorerAnswer exchange(const Task& task, ChildState& child, After& after) {
    const ImageFile file(settings_.image_folder, task);
    const auto id = unguessable_id();
    child.ids.insert(id);
    auto answer = asked(request_of(task, id, file.path()), task.image, child, after);
    if (answer.error) answer.error = without_ids(*answer.error, child.ids);
    for (auto& [name, reason] : answer.unusable) reason = without_ids(reason, child.ids);
    return answer;
  }

  static ScorerRequest request_of(const Task& task, std::uint64_t id, const std::string& path) {
    return {id, task.image.width, task.image.height, path, task.text};
  }

  ScorerAnswer asked(const ScorerRequest& request, const Image& image, ChildState& child,
                     After& after) const {
    const auto deadline = std::chrono::steady_clock::now() + deadline_;
    std::string line;
    Exchange state = send(request, image, child.process, deadline);
    // A child that refuses the image may close its input and still have said why.
    if (state == Exchange::kDone || state == Exchange::kEnded)
      state = child.process.read_line(line, deadline);
    after = state == Exchange::kLate ? After::kLate : After::kUnusable;
    if (state != Exchange::kDone) return failed(reason_for(state, child.process));
    try {
      auto answer = parse_answer(line, request.id);
      child.has_answered = true;
      after = After::kUsable;
      return answer;
    } catch (const Error& error) {
      return failed(fmt::format("unreadable {}", error.what()));
    }
  }

  static Exchange send(const ScorerRequest& request, const Image& image, ScorerProcess& child,
                       Deadline deadline) {
    const auto sent = child.write(request_line(request), deadline);
    if (sent != Exchange::kDone || !request.path.empty()) return sent;
    return child.write({reinterpret_cast<const char*>(image.rgb.data()), image.rgb.size()}, deadline);
  }

  std::string reason_for(Exchange state, ScorerProcess& child) const {
    switch (state) {
      case Exchange::kLate:
        return fmt::format("no answer within {} ms", deadline_.count());
      case Exchange::kTooLong:
        return "unreadable answer: a line of more than 1 MiB";
      case Exchange::kStopped:
        return kClosed;
      default:
        break;
    }
    const auto how = child.how_it_ended();
    return fmt::format("the scorer {}{}", how, child.last_message());
  }

  /// A child that has said hello, after at most kStartAttempts.
  Child start_child() {
    std::string reason;
    for (int attempt = 0; attempt < kStartAttempts; ++attempt) {
      if (is_closing()) throw Stopped{};
      auto child = std::make_unique<ChildState>(settings_, stop_.fd());
      std::string line;
      const Exchange state =
          child->process.read_line(line, std::chrono::steady_clock::now() + start_deadline_);
      if (state == Exchange::kStopped) throw Stopped{};
      if (state == Exchange::kDone) {
        accept(parse_hello(line, settings_.name, settings_.stated ? &*settings_.stated : nullptr));
        return child;
      }
      if (state == Exchange::kEnded) {
        const auto how = child->process.how_it_ended();
        reason = fmt::format("{} before its hello line{}", how, child->process.last_message());
      } else {
        reason = fmt::format("sent no hello line within {} ms", start_deadline_.count());
        child->process.kill();
      }
    }
    throw Error(fmt::format("{} ({} attempts)", reason, kStartAttempts), settings_.name,
                "its messages on standard error say more", Status::kFailed);
  }

  /// The first hello describes the pool; a later one must be equal, or one run would mix two scorers.
  void accept(ScorerHello hello) {
    const std::lock_guard lock(mutex_);
    if (!have_hello_) {
      hello_ = std::move(hello);
      have_hello_ = true;
    } else if (hello.to_json() != hello_.to_json()) {
      throw Error("describes itself differently than at the start", settings_.name,
                  "it or its data changed during the run", Status::kFailed);
    }
  }

  bool is_closing() {
    const std::lock_guard lock(mutex_);
    return closing_;
  }

  std::optional<Task> next_task() {
    std::unique_lock lock(mutex_);
    waiting_.wait(lock, [this] { return closing_ || failure_ || !queue_.empty(); });
    if (closing_ || failure_) return std::nullopt;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    return task;
  }

  void fail_all(std::exception_ptr failure) {
    std::deque<Task> unanswered;
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = failure;
      unanswered.swap(queue_);
    }
    waiting_.notify_all();
    for (auto& task : unanswered) task.promise.set_exception(failure);
  }

  ScorerPoolSettings settings_;
  const milliseconds deadline_, start_deadline_;
  StopEvent stop_;
  std::mutex mutex_;
  std::condition_variable waiting_;
  std::deque<Task> queue_;
  std::uint64_t next_number_ = 1;
  std::exception_ptr failure_;
  ScorerHello hello_;
  bool have_hello_ = false, closing_ = false;
  std::atomic<std::size_t> replaced_ = 0;
  std::vector<std::thread> threads_;
};

ScorerPool::ScorerPool(ScorerPoolSettings settings) : impl_(std::make_unique<Impl>(std::move(settings))) {}

ScorerPool::ScorerPool(std::vector<std::string> command, int workers, int deadline_ms, int start_deadline_ms)
    : ScorerPool({.command = std::move(command),
                  .workers = workers,
                  .deadline_ms = deadline_ms,
                  .start_deadline_ms = start_deadline_ms}) {}

ScorerPool::~ScorerPool() = default;

const ScorerHello& ScorerPool::hello() const {
  return impl_->hello();
}

std::future<ScorerAnswer> ScorerPool::submit(Image image, std::optional<ScorerText> text) {
  return impl_->submit(std::move(image), std::move(text));
}

void ScorerPool::stop() {
  impl_->stop();
}

std::size_t ScorerPool::replaced() const {
  return impl_->replaced();
}

}  // namespace harness

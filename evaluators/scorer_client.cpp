#include "evaluators/scorer_client.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "evaluators/child_process.h"

namespace harness {
namespace {

using std::chrono::milliseconds;

constexpr int kStartAttempts = 3;
constexpr const char* kClosed = "the scorer was closed before it answered";

/// The pool is being closed while a child starts; nobody is left to hear of it.
struct Stopped {};

struct Task {
  std::uint64_t id;
  Image image;
  std::promise<ScorerAnswer> promise;
  bool settled = false;
};

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
  Impl(std::vector<std::string> command, int workers, int deadline_ms, int start_deadline_ms)
      : command_(std::move(command)), deadline_(deadline_ms), start_deadline_(start_deadline_ms) {
    if (command_.empty() || workers < 1 || deadline_ms < 1) throw std::invalid_argument("ScorerPool");
    auto first = start_child();
    const SignalsBlocked blocked;
    for (int i = 0; i < workers; ++i) {
      threads_.emplace_back([this, child = std::move(first)]() mutable { work(std::move(child)); });
    }
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    stop_.set();
    waiting_.notify_all();
    for (auto& thread : threads_) thread.join();
    for (auto& task : queue_) task.promise.set_value(failed(kClosed));
  }

  std::future<ScorerAnswer> submit(Image image) {
    const std::size_t pixels = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
    if (image.width < 1 || image.height < 1 || image.rgb.size() != pixels * 3)
      throw std::invalid_argument("submit");
    Task task{0, std::move(image), {}, false};
    auto future = task.promise.get_future();
    {
      const std::lock_guard lock(mutex_);
      if (failure_) std::rethrow_exception(failure_);
      task.id = next_id_++;
      queue_.push_back(std::move(task));
    }
    waiting_.notify_one();
    return future;
  }

  const ScorerHello& hello() const { return hello_; }
  std::size_t replaced() const { return replaced_; }

 private:
  using Child = std::unique_ptr<ChildProcess>;

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
      if (child->has_spoken_or_ended()) replace(child);
      bool usable = true;
      ScorerAnswer result = exchange(task, *child, usable);
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
    child->kill();
    ++replaced_;
    child = start_child();
  }

  /// Sends the image and waits for the answer. usable: false if the child is in no state to go on.
  ScorerAnswer exchange(const Task& task, ChildProcess& child, bool& usable) {
    const auto deadline = std::chrono::steady_clock::now() + deadline_;
    const std::string_view pixels(reinterpret_cast<const char*>(task.image.rgb.data()),
                                  task.image.rgb.size());
    std::string line;
    Exchange state = child.write(request_line({task.id, task.image.width, task.image.height}), deadline);
    if (state == Exchange::kDone) state = child.write(pixels, deadline);
    // A child that refuses the image may close its input and still have said why.
    if (state == Exchange::kDone || state == Exchange::kEnded) state = child.read_line(line, deadline);
    if (state == Exchange::kDone) {
      try {
        return parse_answer(line, task.id);
      } catch (const Error& error) {
        usable = false;
        return failed(fmt::format("unreadable {}", error.what()));
      }
    }
    usable = false;
    return failed(reason_for(state, child));
  }

  std::string reason_for(Exchange state, ChildProcess& child) const {
    switch (state) {
      case Exchange::kLate:
        return fmt::format("no answer within {} ms", deadline_.count());
      case Exchange::kTooLong:
        return "unreadable answer: a line of more than 1 MiB";
      case Exchange::kStopped:
        return kClosed;
      default:
        return "the scorer " + child.how_it_ended();
    }
  }

  /// A child that has said hello, after at most kStartAttempts.
  Child start_child() {
    std::string reason;
    for (int attempt = 0; attempt < kStartAttempts; ++attempt) {
      if (is_closing()) throw Stopped{};
      auto child = std::make_unique<ChildProcess>(command_, stop_.fd());
      std::string line;
      const Exchange state = child->read_line(line, std::chrono::steady_clock::now() + start_deadline_);
      if (state == Exchange::kStopped) throw Stopped{};
      if (state == Exchange::kDone) {
        accept(parse_hello(line, command_[0]));
        return child;
      }
      if (state == Exchange::kEnded) {
        reason = fmt::format("{} before its hello line", child->how_it_ended());
      } else {
        reason = fmt::format("sent no hello line within {} ms", start_deadline_.count());
        child->kill();
      }
    }
    throw Error(fmt::format("{} ({} attempts)", reason, kStartAttempts), command_[0],
                "its messages on standard error say more", Status::kFailed);
  }

  /// The first hello describes the pool; a later one must be equal, or one run would mix two scorers.
  void accept(ScorerHello hello) {
    const std::lock_guard lock(mutex_);
    if (!have_hello_) {
      hello_ = std::move(hello);
      have_hello_ = true;
    } else if (hello.to_json() != hello_.to_json()) {
      throw Error("describes itself differently than at the start", command_[0],
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

  const std::vector<std::string> command_;
  const milliseconds deadline_, start_deadline_;
  StopEvent stop_;
  std::mutex mutex_;
  std::condition_variable waiting_;
  std::deque<Task> queue_;
  std::uint64_t next_id_ = 1;
  std::exception_ptr failure_;
  ScorerHello hello_;
  bool have_hello_ = false, closing_ = false;
  std::atomic<std::size_t> replaced_ = 0;
  std::vector<std::thread> threads_;
};

ScorerPool::ScorerPool(std::vector<std::string> command, int workers, int deadline_ms, int start_deadline_ms)
    : impl_(std::make_unique<Impl>(std::move(command), workers, deadline_ms, start_deadline_ms)) {}

ScorerPool::~ScorerPool() = default;

const ScorerHello& ScorerPool::hello() const {
  return impl_->hello();
}

std::future<ScorerAnswer> ScorerPool::submit(Image image) {
  return impl_->submit(std::move(image));
}

std::size_t ScorerPool::replaced() const {
  return impl_->replaced();
}

}  // namespace harness

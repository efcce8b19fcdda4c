#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/descriptor.h"
#include "core/image.h"
#include "evaluators/scorer_settings.h"

namespace harness {

class ScorerProcess;

/// Scorer processes (harness-scorer, or any program that speaks PROTOCOL.md) that work on images side by
/// side.
///
/// An image that a child crashes on, answers with garbage, or does not answer within the deadline costs that
/// image alone: its answer holds the reason in `error`, and the child is replaced. What a child does between
/// images, such as a second answer, an answer before its request, or an exit, costs none: the next image goes
/// to a new child. No answer is taken for another image's, as requests have ids that cannot be guessed. The
/// answer to an image depends on that image only, and futures keep the order of submission, so results do not
/// depend on timing or on the number of workers (the deadline itself aside: choose it far above the usual).
class ScorerPool {
 public:
  /// Starts the children. Throws Error naming the program if it is missing, says that it cannot work, or
  /// fails to start three times in a row.
  explicit ScorerPool(ScorerPoolSettings settings);
  ScorerPool(std::vector<std::string> command, int workers, int deadline_ms);

  /// Closes the children's input, which ends them. Images not answered yet get an answer with `error`.
  ~ScorerPool();
  ScorerPool(const ScorerPool&) = delete;
  ScorerPool& operator=(const ScorerPool&) = delete;

  /// The scorer's description of itself; every child sent the same.
  const ScorerHello& hello() const { return *hello_; }

  /// Thread-safe. The future throws Error if, meanwhile, the scorer could not be started
  /// again (see the constructor), or a replacement described itself differently. image.rgb must hold width x
  /// height x 3 bytes.
  std::future<ScorerAnswer> submit(Image image, std::optional<ScorerText> text = {});

  /// Ends the children at once. Images not answered yet get an answer with `error`, at the latest when the
  /// pool is destroyed.
  void stop();

  /// Children that were replaced so far.
  std::size_t replaced() const { return replaced_; }

 private:
  using Child = std::unique_ptr<ScorerProcess>;
  struct Task {
    std::uint64_t number;  ///< in the order of submission
    Image image;
    std::optional<ScorerText> text;
    std::promise<ScorerAnswer> promise;
  };

  void work(Child child);
  std::optional<Task> next_task();
  void answer(Task& task, Child& child);
  ScorerAnswer answer_of(const Task& task, Child& child);
  ScorerAnswer exchange(const Task& task, ScorerProcess& child, bool& is_late);
  ScorerAnswer asked(const ScorerRequest& request, const Image& image, ScorerProcess& child, bool& is_late);
  Child start_child();
  void accept(ScorerHello hello);
  void discard(Child& child);
  void fail_all(const std::exception_ptr& failure);

  ScorerPoolSettings settings_;
  const Descriptor stop_;  ///< an event that wakes every poll(2) on it, once and for all
  std::mutex mutex_;
  std::condition_variable waiting_;
  std::deque<Task> queue_;
  std::uint64_t next_number_ = 1;
  std::exception_ptr failure_;
  std::optional<ScorerHello> hello_;
  std::atomic<bool> closing_ = false;
  std::atomic<std::size_t> replaced_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace harness

#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "evaluators/sample_score.h"

namespace harness {

/// Scores that a model gives to several images at once. A batch is worked on by the thread that completes it,
/// or by the first one that waits for an image of it. Safe to use from several threads.
template <class Input>
class ImageBatches {
 public:
  /// The scores of inputs, one each, in their order.
  using Work = std::function<std::vector<SampleScore>(const std::vector<Input>&)>;
  /// What the images of a batch get whose work failed.
  using Failure = std::function<SampleScore(const std::string& reason)>;

  ImageBatches(std::size_t size, Work work, Failure failure)
      : size_(size), work_(std::move(work)), failure_(std::move(failure)) {}

  /// This object must outlive the future, which may be waited for from any thread.
  std::future<SampleScore> submit(Input input) {
    auto ticket = std::make_shared<Ticket>(Ticket{.input = std::move(input)});
    Batch full;
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(ticket);
      if (waiting_.size() == size_) full = take_waiting();
    }
    if (!full.empty()) score(full);
    return std::async(std::launch::deferred, [this, ticket] { return wait_for(*ticket); });
  }

 private:
  struct Ticket {
    Input input;
    SampleScore score = {};
    bool taken = false, done = false;
  };
  using Batch = std::vector<std::shared_ptr<Ticket>>;

  /// Under the mutex.
  Batch take_waiting() {
    Batch batch;
    batch.swap(waiting_);
    for (const auto& one : batch) one->taken = true;
    return batch;
  }

  SampleScore wait_for(Ticket& ticket) {
    std::unique_lock lock(mutex_);
    if (!ticket.taken) {
      const auto rest = take_waiting();
      lock.unlock();
      score(rest);
      lock.lock();
    }
    done_.wait(lock, [&ticket] { return ticket.done; });
    return std::move(ticket.score);
  }

  void score(const Batch& batch) {
    std::vector<Input> inputs;
    for (const auto& one : batch) inputs.push_back(std::move(one->input));
    auto scores = worked(inputs);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch[i]->score = std::move(scores[i]);
      batch[i]->done = true;
    }
    done_.notify_all();
  }

  /// LibTorch's errors end with a stack trace: their first line is the reason.
  std::vector<SampleScore> worked(const std::vector<Input>& inputs) const {
    try {
      return work_(inputs);
    } catch (const std::exception& error) {
      const std::string text = error.what();
      return std::vector(inputs.size(), failure_("the model failed: " + text.substr(0, text.find('\n'))));
    }
  }

  std::size_t size_;
  Work work_;
  Failure failure_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable done_;
  Batch waiting_;  ///< fewer than size_
};

}  // namespace harness

#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace harness {

/// A fixed number of threads that work on numbered tasks. Which thread does which task is left open, so a
/// task may depend on its number only; results are the caller's to combine in task order.
class WorkerPool {
 public:
  /// `at_start` runs once on every thread, before its first task.
  explicit WorkerPool(int threads, std::function<void()> at_start = {});
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Calls task(0) .. task(count - 1) and returns when all are done. The first exception (by task number) is
  /// thrown again here, after the tasks that had begun have ended.
  void run(std::size_t count, const std::function<void(std::size_t)>& task);

  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t count_ = 0, next_ = 0, running_ = 0;
  std::size_t failed_at_ = 0;
  std::exception_ptr failure_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace harness

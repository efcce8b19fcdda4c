#include "core/processes/worker_pool.h"

namespace harness {

WorkerPool::WorkerPool(int threads, std::function<void()> at_start) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, at_start] {
      if (at_start) at_start();
      work();
    });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void WorkerPool::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::unique_lock lock(mutex_);
  task_ = &task;
  count_ = count;
  next_ = running_ = 0;
  failure_ = nullptr;
  wake_.notify_all();
  done_.wait(lock, [this] { return next_ >= count_ && running_ == 0; });
  task_ = nullptr;
  if (failure_) std::rethrow_exception(failure_);
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || (task_ != nullptr && next_ < count_); });
    if (stopping_) return;
    const std::size_t index = next_++;
    const auto& task = *task_;
    ++running_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      task(index);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --running_;
    if (failure) {
      if (!failure_ || index < failed_at_) {
        failure_ = failure;
        failed_at_ = index;
      }
      next_ = count_;
    }
    if (next_ >= count_ && running_ == 0) done_.notify_all();
  }
}

}  // namespace harness

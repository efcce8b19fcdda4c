#include "trainers/gradient_sum.h"

namespace harness {

void GradientSum::add(std::size_t task, Gradients gradients) {
  const torch::NoGradGuard no_grad;
  const std::lock_guard lock(mutex_);
  waiting_.emplace(task, std::move(gradients));
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
       first = waiting_.erase(first), ++next_) {
    for (std::size_t i = 0; i < total_.size(); ++i) {
      const auto& g = first->second[i];
      if (!g.defined()) continue;
      // The first one may be shared with the graph (a view, an expanded scalar), so it is copied.
      total_[i] = total_[i].defined() ? total_[i].add_(g) : g.clone(at::MemoryFormat::Contiguous);
    }
  }
}

const GradientSum::Gradients& GradientSum::total() const {
  TORCH_CHECK(waiting_.empty(), "a task's gradients are missing");
  return total_;
}

}  // namespace harness

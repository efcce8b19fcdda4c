#include "trainers/optimisation/gradient_sum.h"

namespace harness {

void add_gradients(GradientSum::Gradients& sum, const GradientSum::Gradients& gradients, double factor) {
  GradientSum::Gradients to, added;  // all in a few launches on a GPU, one by one on a CPU
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const auto& g = gradients[i];
    if (!g.defined()) continue;
    if (sum[i].defined()) {
      to.push_back(sum[i]);
      added.push_back(g);
    } else {
      // The first one may be shared with the graph (a view, an expanded scalar), so it is copied.
      sum[i] = g.clone(at::MemoryFormat::Contiguous);
      if (factor != 1) sum[i].mul_(factor);
    }
  }
  if (!to.empty()) at::_foreach_add_(to, added, factor);
}

GradientSum::Gradients copy_of(const GradientSum::Gradients& gradients) {
  GradientSum::Gradients copy;
  for (const auto& g : gradients) copy.push_back(g.defined() ? g.clone() : torch::Tensor());
  return copy;
}

void GradientSum::add(std::size_t task, Gradients gradients, double weight) {
  TORCH_CHECK(weight > 0, "a weight of a gradient must be positive");
  const torch::NoGradGuard no_grad;
  const std::lock_guard lock(mutex_);
  waiting_.emplace(task, std::pair(std::move(gradients), weight));
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
       first = waiting_.erase(first), ++next_) {
    const auto& [added, its_weight] = first->second;
    if (its_weight != 1 && !undamped_) undamped_ = copy_of(total_);
    if (undamped_) add_gradients(*undamped_, added, 1 / its_weight);
    add_gradients(total_, added);
  }
}

const GradientSum::Gradients& GradientSum::total() const {
  TORCH_CHECK(waiting_.empty(), "a task's gradients are missing");
  return total_;
}

}  // namespace harness

#include "trainers/optimisation/fold_sum.h"

namespace harness {

FoldSum::FoldSum(std::size_t parameters, std::size_t tasks, std::size_t folds) : total_(parameters) {
  TORCH_CHECK(folds > 0 && tasks % folds == 0, "folds must be of equal size");
  tasks_of_a_fold_ = tasks / folds;
  for (std::size_t i = 0; i < folds; ++i)
    folds_.push_back({.sum = std::make_unique<GradientSum>(parameters), .missing = tasks_of_a_fold_});
}

void FoldSum::add(std::size_t task, Gradients gradients, double weight) {
  auto& fold = folds_.at(task / tasks_of_a_fold_);
  fold.sum->add(task % tasks_of_a_fold_, std::move(gradients), weight);
  const std::lock_guard lock(mutex_);
  --fold.missing;
  merge_complete();
}

void FoldSum::merge_complete() {
  const torch::NoGradGuard no_grad;
  for (; merged_ < folds_.size() && folds_[merged_].missing == 0; ++merged_) {
    const auto sum = std::move(folds_[merged_].sum);
    const auto& without_weights = sum->undamped();
    if (without_weights && !undamped_) undamped_ = copy_of(total_);
    if (undamped_) add_gradients(*undamped_, without_weights ? *without_weights : sum->total());
    add_gradients(total_, sum->total());
  }
}

const FoldSum::Gradients& FoldSum::total() const {
  TORCH_CHECK(merged_ == folds_.size(), "a task's gradients are missing");
  return total_;
}

const FoldSum::Gradients& FoldSum::undamped() const {
  return undamped_.value();
}

}  // namespace harness

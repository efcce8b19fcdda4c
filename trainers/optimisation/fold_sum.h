#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "trainers/optimisation/gradient_sum.h"

namespace harness {

/// Adds the gradients of an update's numbered tasks: within a fold of consecutive tasks in their order, then
/// fold after fold, ((G_0 + G_1) + G_2) + ... The folds are a setting of the run and can be summed apart, so
/// neither threads nor the number of processes changes a bit of the sum.
class FoldSum {
 public:
  using Gradients = GradientSum::Gradients;

  /// Tasks 0 .. tasks - 1 in `folds` folds of equal size, which must divide them.
  FoldSum(std::size_t parameters, std::size_t tasks, std::size_t folds);

  /// As GradientSum::add. Thread-safe.
  void add(std::size_t task, Gradients gradients, double weight = 1);

  /// The sum over all folds. Call it when every task has been added.
  const Gradients& total() const;

  /// The sum of the gradients over their weights; call it where one of these is not 1.
  const Gradients& undamped() const;

 private:
  struct Fold {
    std::unique_ptr<GradientSum> sum;
    std::size_t missing = 0;  ///< tasks that have not been added yet
  };
  /// Takes over the folds that are complete, as far as the order allows, and frees them.
  void merge_complete();

  std::size_t tasks_of_a_fold_;
  mutable std::mutex mutex_;
  std::vector<Fold> folds_;
  std::size_t merged_ = 0;  ///< folds that are in the total
  Gradients total_;
  std::optional<Gradients> undamped_;  ///< from the first fold with a weight other than 1 on
};

}  // namespace harness

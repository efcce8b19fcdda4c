#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "trainers/optimisation/gradient_sum.h"
#include "trainers/ranks/ranks.h"

namespace harness {

/// Adds the gradients of an update's numbered tasks: in order within each fold of consecutive tasks, then
/// fold after fold, ((G_0 + G_1) + G_2) + ... The folds are a setting, so that neither threads nor the number
/// of processes (which divides the folds') changes a bit of the sum.
class FoldSum {
 public:
  using Gradients = GradientSum::Gradients;

  /// `tasks` tasks in `folds` folds of equal size; this process has its part of the folds.
  FoldSum(std::size_t parameters, std::size_t tasks, std::size_t folds, const Ranks& ranks);

  /// As GradientSum::add, for the tasks of this process' folds. Thread-safe.
  void add(std::size_t task, Gradients gradients, double weight = 1);

  /// Sums the folds of all processes. Once, after the last task; from one thread. shapes: one tensor per
  /// parameter, of its shape, type and device.
  void gather(const std::vector<torch::Tensor>& shapes);

  /// The sum over all folds.
  const Gradients& total() const;
  /// The sum of the gradients divided by their weights; call it if one of these is not 1.
  const Gradients& undamped() const;

 private:
  struct Fold {
    std::unique_ptr<GradientSum> sum;
    std::size_t missing = 0;  ///< tasks that have not been added yet
  };
  /// In a single process: adds and frees the complete folds that are next in order.
  void merge_complete();
  /// The sum over all processes' folds. own: per fold.
  Gradients sum_over_ranks(std::vector<Gradients> own, const std::vector<torch::Tensor>& shapes) const;

  const Ranks& ranks_;
  Ranks::Part own_;  ///< folds
  std::size_t tasks_of_a_fold_;
  std::mutex mutex_;
  std::vector<Fold> folds_;  ///< own ones
  std::size_t merged_ = 0;   ///< folds that are in the total
  Gradients total_;
  std::optional<Gradients> undamped_;  ///< if a fold has a weight other than 1
};

}  // namespace harness

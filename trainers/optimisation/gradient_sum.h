#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "models/nn/torch.h"

namespace harness {

/// Adds the gradients of numbered tasks in the order of their numbers, so that no timing changes the sum.
class GradientSum {
 public:
  using Gradients = std::vector<torch::Tensor>;  ///< one per parameter; undefined: zero

  explicit GradientSum(std::size_t parameters) : total_(parameters) {}

  /// Thread-safe; takes ownership. weight: the positive factor that `undamped` divides by.
  void add(std::size_t task, Gradients gradients, double weight = 1);

  /// The sum. Call it when every task from 0 on has been added.
  const Gradients& total() const;

  /// The sum of the gradients divided by their weights; empty if all of these are 1.
  const std::optional<Gradients>& undamped() const { return undamped_; }

 private:
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::map<std::size_t, std::pair<Gradients, double>> waiting_;  // with their weights
  Gradients total_;
  std::optional<Gradients> undamped_;  // from the first weight other than 1 on
};

/// sum += factor * gradients, per parameter; undefined counts as 0 and stays undefined.
void add_gradients(GradientSum::Gradients& sum, const GradientSum::Gradients& gradients, double factor = 1);

/// Deep copy.
GradientSum::Gradients copy_of(const GradientSum::Gradients& gradients);

}  // namespace harness

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
  using Gradients = std::vector<torch::Tensor>;  ///< one a parameter; undefined: zero

  explicit GradientSum(std::size_t parameters) : total_(parameters) {}

  /// Thread-safe; takes the tensors over. weight: the positive factor that `undamped` takes out again.
  void add(std::size_t task, Gradients gradients, double weight = 1);

  /// The sum. Call it when every task from 0 on has been added.
  const Gradients& total() const;

  /// The sum of the gradients over their weights; call it where one of these is not 1.
  const Gradients& undamped() const;

 private:
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::map<std::size_t, std::pair<Gradients, double>> waiting_;  // with their weights
  Gradients total_;
  std::optional<Gradients> undamped_;  // from the first weight other than 1 on
};

}  // namespace harness

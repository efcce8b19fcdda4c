#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "models/torch.h"

namespace harness {

/// Adds the gradients of numbered tasks in the order of their numbers, whichever is ready first: the sum does
/// not depend on timing.
class GradientSum {
 public:
  using Gradients = std::vector<torch::Tensor>;  ///< one a parameter; undefined: zero

  explicit GradientSum(std::size_t parameters) : total_(parameters) {}

  /// Thread-safe; takes the tensors over.
  void add(std::size_t task, Gradients gradients);

  /// The sum. Call it when every task from 0 on has been added.
  const Gradients& total() const;

 private:
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::map<std::size_t, Gradients> waiting_;
  Gradients total_;
};

}  // namespace harness

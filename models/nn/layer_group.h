#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "models/nn/parameters.h"

namespace harness {

/// Linear layers that read the same x, as q, k and v do: what they share of the work is done once where their
/// precision allows it (adapted_linears).
class LayerGroup {
 public:
  LayerGroup() = default;
  /// joined: so many of the first layers, whose outputs may be parts of one array. Where the project's GPU
  /// kernels run they lie one below the other in memory from their first use on, and their product is one.
  explicit LayerGroup(std::vector<Dense> layers, std::size_t joined = 0);

  /// The layers' outputs, in order; the same bits as without gradient.
  std::vector<torch::Tensor> operator()(const torch::Tensor& x);

 private:
  struct Stack;
  bool are_joined() const;
  StackedWeights stacked();

  std::vector<Dense> layers_;
  std::size_t joined_ = 0;
  RoundedMatrices together_;
  std::shared_ptr<Stack> stack_;
};

}  // namespace harness

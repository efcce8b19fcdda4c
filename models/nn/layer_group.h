#pragma once

#include <memory>
#include <vector>

#include "models/nn/parameters.h"

namespace harness {

/// Linear layers that read the same x, as q, k and v do: what they share of the work is done once where their
/// precision allows it (adapted_linears). Where the project's GPU kernels run, layers of one shape lie one
/// below the other in memory from their first use on, and their products are one. Safe to use from several
/// threads as long as nobody replaces a layer's tensors meanwhile.
class LayerGroup {
 public:
  LayerGroup() = default;
  explicit LayerGroup(std::vector<Dense> layers);

  /// The layers' outputs, in order; the same bits as without gradient.
  std::vector<torch::Tensor> operator()(const torch::Tensor& x);

 private:
  struct Stack;
  StackedWeights stacked();

  std::vector<Dense> layers_;
  RoundedMatrices together_;
  std::shared_ptr<Stack> stack_;
};

}  // namespace harness

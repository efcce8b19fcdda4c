#pragma once

#include <vector>

#include "models/nn/parameters.h"

namespace harness {

/// Linear layers that read the same x, as q, k and v do: what they share of the work is done once where their
/// precision allows it (adapted_linears).
class LayerGroup {
 public:
  LayerGroup() = default;
  explicit LayerGroup(std::vector<Dense> layers) : layers_(std::move(layers)) {}

  /// The layers' outputs, in order; the same bits as without gradient.
  std::vector<torch::Tensor> operator()(const torch::Tensor& x);

 private:
  std::vector<Dense> layers_;
  RoundedMatrices together_;
};

}  // namespace harness

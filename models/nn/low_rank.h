#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/nn/torch.h"

namespace harness {

/// Matrices of one width, one below the other, in another type: made once for all calls until one of them
/// changes. Copies share what they keep; safe to use from several threads.
class RoundedMatrices {
 public:
  torch::Tensor of(const std::vector<torch::Tensor>& matrices, torch::ScalarType type) const;

 private:
  struct Kept;
  std::shared_ptr<Kept> kept_ = new_kept();
  static std::shared_ptr<Kept> new_kept();
};

/// An update of rank r to a matrix [out,in]: it becomes W + scale b a (arXiv:2106.09685, Eq. 3). Copies share
/// their tensors.
struct LowRank {
  torch::Tensor a;  ///< [r,in], float32
  torch::Tensor b;  ///< [out,r], float32
  double scale = 1;
  /// Of its products: float32, or that of the layer, as autocast has it in the public trainers. Matrices and
  /// their gradients are float32 in either case.
  torch::ScalarType products = torch::kFloat32;
  RoundedMatrices rounded_a = {}, rounded_b = {};  ///< a and b as their products read them
};

/// A linear layer with, or without, an update.
struct AdaptedLayer {
  torch::Tensor weight;  ///< [out,in]
  torch::Tensor bias;    ///< [out], or undefined
  const LowRank* update = nullptr;
};

/// Weights and biases of the first of several layers, one below the other. Undefined: all are apart.
struct StackedWeights {
  torch::Tensor weight;  ///< [sum of out,in]
  torch::Tensor bias;    ///< [sum of out], or undefined
};

/// Whether adapted_linears takes the layers: their weights are frozen, and the updates' products are in the
/// weights' type, which is not float32.
bool in_one_precision(const torch::Tensor& x, const std::vector<AdaptedLayer>& layers);

/// x W^T + bias + scale (x a^T) b^T over the last axis for several layers that read the same x,
/// differentiable in x, a and b. x [..,in] of the weights' type -> [..,out] of the same each, rounded after
/// each of the two sums. The updates' first products are one; `together` keeps their matrices a for it. So
/// are those of the layers whose weights `stacked` holds: their outputs are then parts of one array.
std::vector<torch::Tensor> adapted_linears(const torch::Tensor& x, const std::vector<AdaptedLayer>& layers,
                                           const RoundedMatrices& together,
                                           const StackedWeights& stacked = {});

/// The same for one layer, whichever the precision of its update.
torch::Tensor adapted_linear(const torch::Tensor& x, const AdaptedLayer& layer);

}  // namespace harness

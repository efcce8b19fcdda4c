#pragma once

#include <optional>
#include <utility>

#include "models/nn/low_rank.h"
#include "models/nn/ops.h"
#include "models/nn/torch.h"

namespace harness {

/// A flag that is set while this lives.
class ScopedFlag {
 public:
  explicit ScopedFlag(bool& flag) : flag_(flag), outer_(std::exchange(flag, true)) {}
  ~ScopedFlag() { flag_ = outer_; }
  ScopedFlag(const ScopedFlag&) = delete;
  ScopedFlag& operator=(const ScopedFlag&) = delete;

 private:
  bool& flag_;
  bool outer_;
};

/// While one lives, parameters that this thread makes with the functions below have a shape and no memory, so
/// that load_into can give them the checkpoint's tensors without a second copy. They cannot be written to.
struct WithoutParameterMemory : ScopedFlag {
  WithoutParameterMemory();
};

bool parameters_have_memory();  ///< whether none lives in this thread

/// A float32 tensor filled with `value`, or of no memory within WithoutParameterMemory.
torch::Tensor new_parameter(at::IntArrayRef shape, double value = 0);

/// While one lives, this thread computes without low-rank updates, which gives the base model's output.
struct WithoutLowRank : ScopedFlag {
  WithoutLowRank();
};

/// x W^T + b over the last axis. Weights start at 0: they are loaded, or drawn by initialise_uniform.
struct DenseImpl : torch::nn::Module {
  DenseImpl(std::int64_t in, std::int64_t out, bool with_bias = true);

  /// x [..,in] -> [..,out], with the low-rank update where there is one (adapted_linear).
  torch::Tensor forward(const torch::Tensor& x);
  /// With the update that it has now, and none within WithoutLowRank; valid until that changes.
  AdaptedLayer as_adapted() const;

  torch::Tensor weight;             ///< [out,in]
  torch::Tensor bias;               ///< [out], undefined without one
  std::optional<LowRank> low_rank;  ///< no parameter of this module: keys and loading are the base model's
};
TORCH_MODULE(Dense);

/// Rows of a table: ids [..] -> [..,width].
struct EmbeddingImpl : torch::nn::Module {
  EmbeddingImpl(std::int64_t rows, std::int64_t width);
  torch::Tensor forward(const torch::Tensor& ids) { return torch::embedding(weight, ids); }

  torch::Tensor weight;  ///< [rows,width]
};
TORCH_MODULE(Embedding);

/// Layer norm over the last axis, with weight and bias.
struct LayerNormImpl : torch::nn::Module {
  LayerNormImpl(std::int64_t width, double eps);
  torch::Tensor forward(const torch::Tensor& x) {
    return torch::layer_norm(x, {weight.size(0)}, weight, bias, eps_);
  }

  torch::Tensor weight, bias;  ///< [width]

 private:
  double eps_;
};
TORCH_MODULE(LayerNorm);

/// Two-dimensional convolution: [B,in,H,W] -> [B,out,H',W'].
struct ConvImpl : torch::nn::Module {
  ConvImpl(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride = 1,
           std::int64_t padding = 0, bool with_bias = true);
  torch::Tensor forward(const torch::Tensor& x) { return torch::conv2d(x, weight, bias, stride_, padding_); }
  torch::Tensor without_bias(const torch::Tensor& x) {
    return torch::conv2d(x, weight, {}, stride_, padding_);
  }

  torch::Tensor weight;  ///< [out,in,size,size]
  torch::Tensor bias;    ///< [out], undefined without one

 private:
  std::int64_t stride_, padding_;
};
TORCH_MODULE(Conv);

/// Group norm over the channels of [B,C,..], with weight and bias.
struct GroupNormImpl : torch::nn::Module {
  GroupNormImpl(std::int64_t groups, std::int64_t channels, double eps);
  torch::Tensor forward(const torch::Tensor& x) { return torch::group_norm(x, groups_, weight, bias, eps_); }
  std::int64_t groups() const { return groups_; }

  torch::Tensor weight, bias;  ///< [C]

 private:
  std::int64_t groups_;
  double eps_;
};
TORCH_MODULE(GroupNorm);

/// One vector of scales, so that its key is NAME.weight: what norms without a bias hold.
struct ScaleImpl : torch::nn::Module {
  explicit ScaleImpl(std::int64_t width);
  torch::Tensor weight;  ///< [width], ones
};
TORCH_MODULE(Scale);

}  // namespace harness

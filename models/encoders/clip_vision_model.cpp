#include "models/encoders/clip_vision_model.h"

#include "models/nn/ops.h"

namespace harness {
namespace {

using torch::Tensor;

/// A convolution of stride `size` without a bias, under its key name.
struct PatchEmbedding : torch::nn::Module {
  PatchEmbedding(std::int64_t width, std::int64_t size)
      : weight(register_parameter("weight", new_parameter({width, 3, size, size}))) {}
  Tensor weight;  ///< [C,3,P,P]
};

}  // namespace

class ClipVisionEmbeddings : public torch::nn::Module {
 public:
  explicit ClipVisionEmbeddings(const ClipVisionConfig& config)
      : image_size_(config.image_size), grid_(config.grid()), patch_size_(config.patch_size) {
    const auto c = config.hidden_size;
    class_ = register_parameter("class_embedding", new_parameter({c}));
    patches_ = register_module("patch_embedding", std::make_shared<PatchEmbedding>(c, patch_size_));
    positions_ = register_module("position_embedding", Embedding(grid_ * grid_ + 1, c));
  }

  /// [B,3,S,S] -> [B,1+patches,C], the class token first.
  Tensor forward(const Tensor& pixel_values) {
    const auto batch = pixel_values.size(0);
    const auto first = class_.expand({batch, 1, -1});
    const auto rest =
        harness::linear(patches_of(pixel_values), patches_->weight.flatten(1), /*bias=*/Tensor());
    return torch::cat({first, rest}, 1) + positions_->weight;
  }

 private:
  /// [B,patches,3*P*P], a row a patch. A product instead of a convolution: one kernel on every device, and
  /// full float32 on GPUs, where convolutions are rounded to TF32 by default.
  Tensor patches_of(const Tensor& x) const {
    TORCH_CHECK(x.dim() == 4 && x.size(1) == 3 && x.size(2) == image_size_ && x.size(3) == image_size_,
                "images of ", x.sizes(), " instead of [B, 3, ", image_size_, ", ", image_size_, "]");
    const auto seen = grid_ * patch_size_;
    return x.narrow(2, 0, seen)
        .narrow(3, 0, seen)
        .reshape({x.size(0), 3, grid_, patch_size_, grid_, patch_size_})
        .permute({0, 2, 4, 1, 3, 5})
        .reshape({x.size(0), grid_ * grid_, 3 * patch_size_ * patch_size_});
  }

  std::int64_t image_size_, grid_, patch_size_;
  Tensor class_;
  std::shared_ptr<PatchEmbedding> patches_;
  Embedding positions_{nullptr};
};

ClipVisionTowerImpl::ClipVisionTowerImpl(const ClipVisionConfig& config) {
  const auto c = config.hidden_size;
  embeddings_ = register_module("embeddings", std::make_shared<ClipVisionEmbeddings>(config));
  pre_norm_ = register_module("pre_layrnorm", LayerNorm(c, config.layer_norm_eps));  // the public spelling
  encoder_ = register_module("encoder", ClipEncoder(config));
  post_norm_ = register_module("post_layernorm", LayerNorm(c, config.layer_norm_eps));
}

Tensor ClipVisionTowerImpl::hidden_states(const Tensor& pixel_values) {
  return encoder_->forward(pre_norm_(embeddings_->forward(pixel_values)), /*causal=*/false).last;
}

Tensor ClipVisionTowerImpl::pooled(const Tensor& hidden_states) {
  return post_norm_(hidden_states.select(1, 0));
}

}  // namespace harness

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/nn/layer_group.h"
#include "models/nn/ops.h"
#include "models/nn/parameters.h"
#include "models/nn/torch.h"

namespace harness {

/// Per-head RMS weights of queries and keys; undefined without such norms.
struct QkNorm {
  torch::Tensor q, k;

  torch::Tensor query(const torch::Tensor& x, const Rotation& rotation = {}) const {
    return normed(x, q, rotation);
  }
  torch::Tensor key(const torch::Tensor& x, const Rotation& rotation = {}) const {
    return normed(x, k, rotation);
  }

 private:
  /// Rotary positions come with norms alone.
  static torch::Tensor normed(const torch::Tensor& x, const torch::Tensor& weight, const Rotation& rotation) {
    if (rotation.cos.defined()) return head_rms_norm(x, weight, rotation);
    return weight.defined() ? head_rms_norm(x, weight) : x;
  }
};

struct JointBlockShape {
  std::int64_t heads = 1, head_size = 1;
  bool qk_norm = false;
  bool last = false;  ///< "context pre-only": reads the text and does not update it
  bool dual = false;  ///< a second attention over the image alone

  std::int64_t width() const { return heads * head_size; }
};

/// One joint attention block of an MMDiT (arXiv:2403.03206), weights under diffusers' key names: image and
/// text streams with their own weights, one attention over both.
class JointBlock : public torch::nn::Module {
 public:
  explicit JointBlock(const JointBlockShape& shape);

  /// image [B,N,C], text [B,S,C], silu(embedding) [B,C]; both streams are replaced by their updates.
  /// `rotation`, of the image's tokens and then the text's, turns queries and keys; without tensors: none.
  void run(torch::Tensor& image, torch::Tensor& text, const torch::Tensor& condition,
           const Rotation& rotation = {});

 private:
  Dense linear(const std::string& path, std::int64_t in, std::int64_t out);
  QkNorm norms(const std::string& query, const std::string& key);

  JointBlockShape shape_;
  Dense modulation_{nullptr}, text_modulation_{nullptr};
  LayerGroup qkv_, text_qkv_, qkv2_;  ///< the last block's text has no q
  Dense out_{nullptr}, text_out_{nullptr}, out2_{nullptr};
  Dense ff_in_{nullptr}, ff_out_{nullptr}, text_ff_in_{nullptr}, text_ff_out_{nullptr};
  QkNorm norm_, text_norm_, norm2_;
};

/// block->run, with what happens inside computed once more for the gradient where `recompute`
/// (models/nn/recompute.h).
void run_block(const std::shared_ptr<JointBlock>& block, torch::Tensor& image, torch::Tensor& text,
               const torch::Tensor& condition, const Rotation& rotation, bool recompute);

/// Two layers with SiLU between them, as diffusers embeds times, guidance and pooled texts.
struct EmbeddingLayers {
  Dense first{nullptr}, second{nullptr};

  /// PATH.linear_1 and PATH.linear_2 of `root`.
  static EmbeddingLayers make(torch::nn::Module& root, const std::string& path, std::int64_t in,
                              std::int64_t out);

  torch::Tensor operator()(const torch::Tensor& x) { return second(torch::silu(first(x))); }
  /// Of numbers [B], through kSinusoids sinusoids.
  torch::Tensor of_numbers(const torch::Tensor& numbers);

  static constexpr std::int64_t kSinusoids = 256;
};

}  // namespace harness

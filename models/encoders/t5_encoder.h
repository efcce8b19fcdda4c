#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/configs/t5_config.h"
#include "models/nn/parameters.h"
#include "models/nn/torch.h"

namespace harness {

class T5Block;  // models/encoders/t5_encoder.cpp

/// The encoder of T5 (arXiv:1910.10683), weights under transformers' key names. In float16 the published
/// weights overflow: as in transformers, `wo` then stays in float32, so the residual stream is float32 from
/// the first block on, and what is still float16 is clamped after each half of a block.
class T5EncoderImpl : public torch::nn::Module {
 public:
  explicit T5EncoderImpl(const T5Config& config);

  /// last_hidden_state [B,S,d_model] in the weights' dtype, without gradients. input_ids [B,S] integers;
  /// attention_mask [B,S], 0 where a token is not to be attended to, or none (as SD3 and FLUX do: padding is
  /// attended to). Both on the weights' device.
  torch::Tensor forward(const torch::Tensor& input_ids,
                        const std::optional<torch::Tensor>& attention_mask = std::nullopt);

  const T5Config& config() const { return config_; }

 private:
  /// [1,heads,S,S], added to every layer's attention scores.
  torch::Tensor position_bias(std::int64_t length) const;

  T5Config config_;
  Embedding tokens_{nullptr}, position_table_{nullptr};
  std::vector<std::shared_ptr<T5Block>> blocks_;
  Scale norm_{nullptr};
};
TORCH_MODULE(T5Encoder);

/// Is NAME one of the weights that stay in float32 where the others are float16?
bool t5_keeps_float32(const std::string& name);

/// Buckets of relative positions (key - query): half of them for either direction, half of those exact, the
/// rest logarithmic up to `max_distance`. Computed on the CPU, so that every device has the same.
torch::Tensor t5_position_buckets(const torch::Tensor& relative, std::int64_t buckets,
                                  std::int64_t max_distance);

}  // namespace harness

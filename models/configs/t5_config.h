#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"

namespace harness {

/// Flags of transformers' T5EncoderModel (config.json), version 1.0 and 1.1 of the architecture.
struct T5Config {
  std::int64_t vocab_size = 32128;
  std::int64_t d_model = 512;
  std::int64_t d_kv = 64;
  std::int64_t d_ff = 2048;
  std::int64_t num_layers = 6;
  std::int64_t num_heads = 8;
  std::int64_t relative_attention_num_buckets = 32;
  std::int64_t relative_attention_max_distance = 128;
  double layer_norm_epsilon = 1e-6;
  bool gated = false;  ///< feed_forward_proj "gated-gelu" (1.1) instead of "relu" (1.0)

  std::int64_t inner_dim() const { return num_heads * d_kv; }

  /// Throws Error at a flag or value that this class does not implement.
  static T5Config from_json(const Json& document, const std::string& where);
};

}  // namespace harness

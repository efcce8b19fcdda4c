#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// Flags of diffusers' SD3Transformer2DModel (config.json).
struct Sd3Config {
  std::int64_t sample_size = 128;
  std::int64_t patch_size = 2;
  std::int64_t in_channels = 16;
  std::int64_t out_channels = 16;
  std::int64_t num_layers = 18;
  std::int64_t attention_head_dim = 64;
  std::int64_t num_attention_heads = 18;
  std::int64_t joint_attention_dim = 4096;
  std::int64_t caption_projection_dim = 1152;
  std::int64_t pooled_projection_dim = 2048;
  std::int64_t pos_embed_max_size = 96;
  std::vector<std::int64_t> dual_attention_layers;
  bool qk_norm = false;  ///< "rms_norm", or none

  std::int64_t width() const { return num_attention_heads * attention_head_dim; }

  /// Absent keys have diffusers' defaults. Throws Error at a key or value that is not implemented, a size out
  /// of range, and sizes that do not go together; any product of sizes that the shapes need is in range.
  static Sd3Config from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

}  // namespace harness

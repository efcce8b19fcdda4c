#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// Flags of diffusers' FluxTransformer2DModel (config.json).
struct FluxConfig {
  std::int64_t in_channels = 64;  ///< of a token: a 2 x 2 patch of the latent
  std::int64_t num_layers = 19;
  std::int64_t num_single_layers = 38;
  std::int64_t attention_head_dim = 128;
  std::int64_t num_attention_heads = 24;
  std::int64_t joint_attention_dim = 4096;
  std::int64_t pooled_projection_dim = 768;
  bool guidance_embeds = false;                             ///< FLUX.1-dev's; not FLUX.1-schnell's
  std::vector<std::int64_t> axes_dims_rope = {16, 56, 56};  ///< of a head, a position axis each

  std::int64_t width() const { return num_attention_heads * attention_head_dim; }

  /// Absent keys have diffusers' defaults. Throws Error at a key or value that is not implemented, a size out
  /// of range, and sizes that do not go together; any product of sizes that the shapes need is in range.
  static FluxConfig from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

}  // namespace harness

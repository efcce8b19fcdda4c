#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// Flags of diffusers' AutoencoderKL (config.json).
struct AutoencoderConfig {
  std::int64_t in_channels = 3;
  std::int64_t out_channels = 3;
  std::vector<std::int64_t> block_out_channels = {128, 256, 512, 512};
  std::int64_t layers_per_block = 2;
  std::int64_t latent_channels = 16;
  std::int64_t norm_num_groups = 32;
  std::int64_t sample_size = 1024;
  double scaling_factor = 1.5305;
  double shift_factor = 0.0609;
  bool use_quant_conv = false;
  bool use_post_quant_conv = false;
  bool mid_block_add_attention = true;
  bool force_upcast = true;  ///< kept, without effect: this project computes images in float32

  /// Pixels a latent row or column stands for.
  std::int64_t reduction() const { return std::int64_t{1} << (block_out_channels.size() - 1); }

  /// Absent keys have diffusers' defaults; those that differ between published models must be there. Throws
  /// Error at a key or value that is not implemented, a size out of range, and sizes that do not go together.
  static AutoencoderConfig from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

}  // namespace harness

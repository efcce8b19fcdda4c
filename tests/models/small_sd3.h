#pragma once

#include <filesystem>
#include <functional>

#include "core/files.h"
#include "core/json.h"
#include "models/configs/autoencoder_config.h"
#include "models/configs/sd3_config.h"

namespace harness {

inline constexpr std::int64_t kSmallTextWidth = 32, kSmallPooledWidth = 64;

/// One block of SD3's transformer.
inline Sd3Config small_sd3_transformer() {
  Sd3Config c;
  c.sample_size = 32;
  c.num_layers = 1;
  c.num_attention_heads = 4;
  c.attention_head_dim = 8;
  c.joint_attention_dim = kSmallTextWidth;
  c.caption_projection_dim = c.width();
  c.pooled_projection_dim = kSmallPooledWidth;
  c.pos_embed_max_size = 32;
  return c;
}

inline AutoencoderConfig small_autoencoder() {
  AutoencoderConfig c;
  c.block_out_channels = {8, 8};
  c.layers_per_block = 1;
  c.norm_num_groups = 4;
  c.sample_size = 64;
  c.mid_block_add_attention = false;
  return c;
}

/// What makes a folder.
using Make = std::function<void(const std::filesystem::path& folder)>;

inline constexpr auto kWeights = "diffusion_pytorch_model.safetensors";

/// `patch`: a JSON merge patch.
inline void change_json(const std::filesystem::path& file, const std::string& patch) {
  Json document = read_json(file);
  document.merge_patch(Json::parse(patch));
  write_file_atomically(file, document.dump());
}

}  // namespace harness

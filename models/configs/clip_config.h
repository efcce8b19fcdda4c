#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"
#include "models/configs/clip_text_config.h"

namespace harness {

/// Flags of the vision_config of a CLIPModel. Images are square, of three channels.
struct ClipVisionConfig {
  std::int64_t hidden_size = 768;
  std::int64_t intermediate_size = 3072;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t image_size = 224;
  std::int64_t patch_size = 32;
  ClipActivation hidden_act = ClipActivation::kQuickGelu;
  double layer_norm_eps = 1e-5;

  std::int64_t grid() const { return image_size / patch_size; }  ///< patches a side; the rest is not seen
  ClipEncoderConfig encoder() const;

  /// Throws Error at a flag or value that is not implemented; see ClipTextConfig::from_json.
  static ClipVisionConfig from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

/// config.json of transformers' CLIPModel.
struct ClipConfig {
  ClipTextConfig text;
  ClipVisionConfig vision;
  std::int64_t projection_dim = 512;
  double logit_scale_init = 2.6592;

  /// `text_config_dict` and `vision_config_dict` of older files go before `text_config` and `vision_config`,
  /// as in transformers. Throws Error as the two above.
  static ClipConfig from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

}  // namespace harness

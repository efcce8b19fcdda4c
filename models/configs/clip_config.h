#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"

namespace harness {

enum class ClipActivation {
  kQuickGelu,  ///< x sigmoid(1.702 x)
  kGelu        ///< exact, with the error function
};

/// Shape of the transformer that both towers of a CLIP model have.
struct ClipTowerConfig {
  std::int64_t hidden_size = 512;
  std::int64_t intermediate_size = 2048;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 8;
  ClipActivation hidden_act = ClipActivation::kQuickGelu;
  double layer_norm_eps = 1e-5;
};

/// config.json of CLIPTextModel and CLIPTextModelWithProjection, and the text_config of a CLIPModel.
struct ClipTextConfig : ClipTowerConfig {
  std::int64_t vocab_size = 49408;
  std::int64_t max_position_embeddings = 77;
  std::int64_t projection_dim = 512;
  std::int64_t eos_token_id = 49407;  ///< 2 is written by old versions and means the largest id
  bool with_projection = false;       ///< `architectures` names CLIPTextModelWithProjection

  /// Throws Error at a flag or value that these classes do not implement.
  static ClipTextConfig from_json(const Json& document, const std::string& where);
  /// As the text_config of a CLIPModel.
  Json to_json() const;
};

/// Flags of the vision_config of a CLIPModel. Images are square, of three channels.
struct ClipVisionConfig : ClipTowerConfig {
  ClipVisionConfig() : ClipTowerConfig{768, 3072, 12, 12} {}

  std::int64_t image_size = 224;
  std::int64_t patch_size = 32;

  std::int64_t grid() const { return image_size / patch_size; }  ///< patches a side; the rest is not seen

  /// Throws Error at a flag or value that is not implemented.
  static ClipVisionConfig from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

/// config.json of transformers' CLIPModel.
struct ClipConfig {
  ClipTextConfig text;
  ClipVisionConfig vision;
  std::int64_t projection_dim = 512;
  double logit_scale_init = 2.6592;

  /// `text_config_dict` and `vision_config_dict` of older files go first, as in transformers.
  static ClipConfig from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

}  // namespace harness

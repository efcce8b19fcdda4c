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
struct ClipEncoderConfig {
  std::int64_t width = 512;
  std::int64_t intermediate = 2048;
  std::int64_t heads = 8;
  std::int64_t layers = 12;
  ClipActivation activation = ClipActivation::kQuickGelu;
  double norm_eps = 1e-5;
};

/// Flags of transformers' CLIPTextModel and CLIPTextModelWithProjection (config.json), and of the text_config
/// of a CLIPModel.
struct ClipTextConfig {
  std::int64_t vocab_size = 49408;
  std::int64_t hidden_size = 512;
  std::int64_t intermediate_size = 2048;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 8;
  std::int64_t max_position_embeddings = 77;
  std::int64_t projection_dim = 512;
  std::int64_t eos_token_id = 49407;  ///< 2 is written by old versions and means the largest id
  ClipActivation hidden_act = ClipActivation::kQuickGelu;
  double layer_norm_eps = 1e-5;
  bool with_projection = false;  ///< `architectures` names CLIPTextModelWithProjection

  ClipEncoderConfig encoder() const;

  /// Throws Error at a flag or value that these classes do not implement. Flags without a bearing on what
  /// the encoder computes (dropout, initialisation, text generation) are accepted by name.
  static ClipTextConfig from_json(const Json& document, const std::string& where);
  /// As the text_config of a CLIPModel.
  Json to_json() const;
};

}  // namespace harness

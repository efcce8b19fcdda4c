#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// The backbone_config of a Mask2Former: a Swin transformer of four stages (arXiv:2103.14030).
struct SwinConfig {
  std::int64_t embed_dim = 96;
  std::int64_t patch_size = 4;
  std::int64_t window_size = 7;
  std::vector<std::int64_t> depths = {2, 2, 18, 2};
  std::vector<std::int64_t> num_heads = {3, 6, 12, 24};
  double mlp_ratio = 4;
  double layer_norm_eps = 1e-5;

  std::int64_t channels(std::size_t stage) const { return embed_dim << stage; }

  static SwinConfig from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

/// config.json of transformers' Mask2FormerForUniversalSegmentation with a Swin backbone (arXiv:2112.01527).
struct Mask2FormerConfig {
  SwinConfig backbone;
  std::int64_t feature_size = 256;  ///< of the pixel decoder
  std::int64_t mask_feature_size = 256;
  std::int64_t hidden_dim = 256;    ///< of the queries
  std::int64_t encoder_layers = 6;  ///< of deformable attention
  std::int64_t encoder_feedforward_dim = 1024;
  std::int64_t decoder_layers = 10;  ///< one more than there are: the queries themselves count
  std::int64_t dim_feedforward = 2048;
  std::int64_t num_attention_heads = 8;
  std::int64_t num_queries = 100;
  std::vector<std::string> labels;  ///< class names by label; "no object" is one more
  /// The framework that trained the weights, as the converter marked them: "mmdetection"; empty: not stated.
  std::string framework;

  std::int64_t classes() const { return static_cast<std::int64_t>(labels.size()); }

  /// Throws Error at a flag or value that is not implemented.
  static Mask2FormerConfig from_json(const Json& document, const std::string& where);
  /// Without `framework`.
  Json to_json() const;
};

/// preprocessor_config.json of a detector that reads pictures as mmdetection 2 does.
struct DetectionImageConfig {
  std::int64_t shortest_edge = 800, longest_edge = 1333;  ///< keep-ratio: neither is exceeded
  std::int64_t size_divisor = 32;
  double pad_value = 128;  ///< right and below, before normalising
  std::array<double, 3> mean = {123.675, 116.28, 103.53}, std = {58.395, 57.12, 57.375};  ///< RGB, 0..255

  /// Throws Error for any other processor, transformers' own of Mask2Former among them: it resizes to another
  /// size, and the benchmark's thresholds mean nothing there.
  static DetectionImageConfig from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

}  // namespace harness

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "evaluators/clip/clip_scorers.h"
#include "models/configs/clip_image_config.h"
#include "models/encoders/clip_model.h"
#include "models/nn/weights_io.h"
#include "models/tokenizers/text_tokenizer.h"

namespace harness {

/// The files of a CLIP scorer, which fit one another: config.json and model.safetensors (or its shards),
/// preprocessor_config.json, and a tokenizer.
struct ClipFolder {
  ClipModel model{nullptr};
  ClipImageConfig images;
  std::shared_ptr<const TextTokenizer> tokenizer;

  /// Throws Error naming the file and the rule that it breaks; with `placement.read` false, only headers of
  /// the weights are read.
  static ClipFolder load(const std::filesystem::path& folder, const ClipScorerInfo& scorer,
                         const ClipProfile& profile, const Placement& placement = {});

  std::int64_t bytes() const;  ///< of its weights, as float32
};

}  // namespace harness

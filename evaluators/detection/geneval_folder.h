#pragma once

#include <cstdint>
#include <filesystem>

#include "evaluators/clip/clip_folder.h"
#include "evaluators/detection/geneval_scorers.h"
#include "models/configs/mask2former_config.h"
#include "models/detection/mask2former.h"

namespace harness {

/// The files of a GenEval scorer, which fit one another: FOLDER/detector (config.json,
/// preprocessor_config.json, model.safetensors or its shards) and FOLDER/clip
/// (evaluators/clip/clip_folder.h).
struct GenevalFolder {
  Mask2Former detector{nullptr};
  DetectionImageConfig pictures;
  ClipFolder clip;

  /// Throws Error naming the file and the rule that it breaks: labels that are not the vocabulary's, weights
  /// of another framework than the profile asks for, and as the loaders do. With `placement.read` false, only
  /// headers of the weights are read.
  static GenevalFolder load(const std::filesystem::path& folder, const GenevalScorerInfo& scorer,
                            const GenevalProfile& profile, const Placement& placement = {});

  std::int64_t bytes() const;  ///< of its weights, as float32
};

}  // namespace harness

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "evaluators/metrics/metric_info.h"

namespace harness {

/// How a number follows from the cosine of an image's and a text's embedding.
struct ClipProfile {
  const char* name;
  bool learned_scale;  ///< times exp(logit_scale) of the model
  float factor;        ///< times this
  float divisor;       ///< divided by this
  bool whole_bytes;    ///< Pillow's image processor; otherwise the path without rounding
  const char* formula;
};

/// A metric that a CLIPModel gives.
struct ClipScorerInfo {
  const char* name;  ///< of the evaluator, of the folder under --scorers, and of the task that rewards it
  const char* metric;
  const char* title;  ///< of the metric; a higher value is better for all of them
  const char* help;
  const char* summary;
  const char* model;                  ///< whose files the folder holds
  bool embedded = false;              ///< its folder is part of the program's data, not of --scorers
  std::vector<ClipProfile> profiles;  ///< the first is the default

  /// The folder of an embedded one: scorers/NAME among the data files; nothing where it is not shipped.
  std::optional<std::filesystem::path> embedded_folder() const;

  MetricInfo metric_info() const;

  /// Throws Error for an unknown profile.
  const ClipProfile& profile(const std::string& wanted, const std::string& where) const;
};

const std::vector<ClipScorerInfo>& clip_scorers();

/// nullptr for a name that is none of theirs.
const ClipScorerInfo* find_clip_scorer(const std::string& name);

/// {"name", "version", "profile"}: what can change a value beside the files.
Json clip_identity(const ClipScorerInfo& scorer, const ClipProfile& profile);

}  // namespace harness

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/geneval/record.h"
#include "core/json.h"
#include "evaluators/clip/clip_scorers.h"
#include "evaluators/geneval/rule.h"
#include "evaluators/metrics/metric_info.h"

namespace harness {

/// How pictures reach the detector and how its finds are judged.
struct GenevalProfile {
  const char* name;
  const char* formula;
  /// The path of public training code: the picture as a JPEG file of quality 75, and its red and blue
  /// exchanged for the detector alone.
  bool reward_path = false;
  GenevalRule rule = {};
  /// The framework that must have trained the detector; empty: any.
  const char* framework = "";
};

/// A pair of a detector and a CLIP model that judges pictures by GenEval's rules.
struct GenevalScorerInfo {
  const char* name;  ///< of the evaluator, and of the folder under --scorers
  const char* summary;
  const char* model;  ///< whose files the folder holds
  const char* images;
  const GenevalVocabulary& vocabulary;
  bool embedded = false;                      ///< its folder is part of the program's data
  std::vector<GenevalProfile> profiles = {};  ///< the first is the default

  /// Throws Error for an unknown profile.
  const GenevalProfile& profile(const std::string& wanted, const std::string& where) const;

  /// What its CLIP folder is read as.
  ClipScorerInfo clip() const;

  /// The folder of an embedded one: scorers/NAME among the data files; nothing where it is not shipped.
  std::optional<std::filesystem::path> embedded_folder() const;
};

const std::vector<GenevalScorerInfo>& geneval_scorers();

/// geneval_score, geneval_correct, geneval_strict.
std::vector<MetricInfo> geneval_metrics();

/// The parts of a scorer's folder: "detector", "clip".
const std::vector<std::string>& geneval_parts();

/// {"name", "version", "profile"}: what can change a value beside the files.
Json geneval_identity(const GenevalScorerInfo& scorer, const GenevalProfile& profile);

}  // namespace harness

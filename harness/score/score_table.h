#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "datasets/prompt_set.h"
#include "harness/plan/scorers.h"
#include "harness/score/score_request.h"
#include "harness/spec/registry.h"
#include "harness/spec/table_spec.h"

namespace harness {

/// Rows of images in the order of their names' first mention, each with the place of every run.
struct ImageRows {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> places;  ///< absolute

  std::size_t runs() const;  ///< of a row
  bool has_steps() const;    ///< one has several checkpoints
};

/// A place is one or, with commas, several (places_in). Throws Error for an invalid NAME=PLACE, and for rows
/// of different numbers of runs.
ImageRows read_image_rows(const std::vector<std::string>& given);

/// Metrics that are measured of such images, and those that could be with further scorers.
struct ScoredMetrics {
  std::vector<std::string> required, optional;
};

/// As asked for, else of every evaluator that is there: those of texts only where prompts quote one, those of
/// records only for records. Throws Error for a metric that is asked for and says nothing of these prompts,
/// or cannot be measured here.
ScoredMetrics choose_score_metrics(const ScoreRequest& request, const Registry& registry,
                                   const ScorerFolders& folders, const PromptSet& prompts,
                                   const BackboneInfo& like);

/// What the table's document is made of.
struct ScoreTable {
  ImageRows rows;
  ScoredMetrics metrics;
  std::string task;
  int prompts = 0, samples = 1;
  int validation = 0;  ///< of the prompts that have images; 0: nothing is selected
  std::vector<std::string> notes;
};

/// The document, as a file of tables/ would have it.
Json score_document(const ScoreRequest& request, const ScoreTable& table, const Registry& registry);

}  // namespace harness

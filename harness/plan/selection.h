#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/spec/table_spec.h"
#include "results/store/store.h"

namespace harness {

/// Above this share of images without a score, checkpoints of a run are not compared at all.
inline constexpr double kMostMissing = 0.05;

/// The rule of a selection that no data has influenced, as that of the base model.
inline constexpr const char* kFixedRule = "fixed";

/// A checkpoint of a run with its scores on the split that selects.
struct Candidate {
  std::int64_t step = 0;
  std::string evaluation = {};  ///< its id
  std::vector<MetricValue> scores = {};
};

/// What the rule "max-mean" makes of the checkpoints of a run.
struct Choice {
  std::int64_t step = 0;
  std::string evaluation = {};
  std::optional<double> mean = {};  ///< what decided; nothing where no checkpoint has a score to compare
  std::int64_t images = 0;          ///< one a prompt; without those whose prompt has nothing to be scored
  std::int64_t left_out = 0;        ///< of them, those that some checkpoint has no score for
  std::vector<std::pair<std::int64_t, std::int64_t>> missing = {};  ///< checkpoint and scores that it lacks

  bool lacks_too_many() const {
    return static_cast<double>(left_out) > kMostMissing * static_cast<double>(images);
  }
};

/// The checkpoint of the highest mean over the images that all of them have a score for; ties go to the
/// earlier. A score that failed on one checkpoint counts for none: the means are of the same prompts.
Choice choose_checkpoint(std::span<const Candidate> candidates);

/// What a selection of a kind has as its rule in a table that selects so.
std::string rule_of(SelectionKind kind, const SelectionSpec& wanted);

/// The selections of a kind among those of a run that compared exactly these evaluations as the table wants
/// it. A fixed one compared none.
std::vector<StoredSelection> find_selections(Store& store, const std::string& run, SelectionKind kind,
                                             const SelectionSpec& wanted,
                                             const std::vector<std::string>& candidates);
/// The first of them.
std::optional<StoredSelection> find_selection(Store& store, const std::string& run, SelectionKind kind,
                                              const SelectionSpec& wanted,
                                              const std::vector<std::string>& candidates);

/// What the checkpoints of a run that are compared on the split that selects had spent, by step.
using BudgetsOfRun = std::vector<Budget>;

/// Those of a row, by run.
using BudgetsOfRow = std::map<std::string, BudgetsOfRun>;

/// Where a row and the baseline are cut to be compared at equal evaluations.
struct EqualCut {
  double nfe_total = 0;  ///< the most that all runs of both reached at their last checkpoint
  std::map<std::string, std::vector<int>> steps =
      {};  ///< by run of both: its checkpoints that had spent no more

  /// Every run has such a checkpoint; without one the row is not compared.
  bool is_complete() const;
};

/// By row, of all but the baseline. None of a row where one of its runs, or of the baseline's, does not say
/// what it spent.
std::map<std::string, EqualCut> equal_cuts(const std::map<std::string, BudgetsOfRow>& rows,
                                           const std::string& baseline);

/// "6 of 24 prompts (25 %) have no ocr_reward at some checkpoint (checkpoint 4: 6)"
std::string missing_text(const Choice& choice, const std::string& metric);

}  // namespace harness

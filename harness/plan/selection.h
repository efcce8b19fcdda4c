#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "results/store/records.h"

namespace harness {

/// Above this share of images without a score, checkpoints of a run are not compared at all.
inline constexpr double kMostMissing = 0.05;

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

/// The checkpoint of the highest mean of whatever scores it has, as versions before this one selected.
Choice choose_by_scores_there(std::span<const Candidate> candidates);

/// The rule of a selection among the checkpoints within the evaluations that every run of a table reached:
/// its table's second view (LeaderboardSpec). A checkpoint that it alone chose is no selected one elsewhere.
std::string second_view_rule(const std::string& rule);

/// What the checkpoints of a run that are compared on the split that selects had spent, by step.
using BudgetsOfRun = std::vector<Budget>;

/// The most nfe_total that every run reached at its last checkpoint. Nothing without runs, and where one does
/// not say what it spent.
std::optional<double> equal_evaluations(const std::vector<BudgetsOfRun>& runs);

/// The checkpoints of a run that had spent no more.
std::vector<int> steps_within(const BudgetsOfRun& run, double nfe_total);

/// "6 of 24 prompts (25 %) have no ocr_reward at some checkpoint (checkpoint 4: 6)"
std::string missing_text(const Choice& choice, const std::string& metric);

}  // namespace harness

#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/compared_sides.h"
#include "results/statistics/comparison.h"
#include "results/statistics/power.h"
#include "results/verdict/families.h"

namespace harness {

/// One metric of one method against the baseline, with what depends on the other comparisons.
struct ComparedMetric : Comparison {
  std::optional<double> detectable = {};  ///< smallest true difference found, of the claim that is made
  /// The same with more training runs; from two runs on.
  std::vector<DetectableAtRuns> at_runs = {};
  std::optional<std::int64_t> needed_prompts = {};  ///< for --effect between these checkpoints
  std::optional<std::int64_t> needed_runs = {};     ///< for --effect between the methods; like at_runs
};

inline bool is_of_methods(const Comparison& comparison) {
  return comparison.judgement.of_methods();
}

/// What `harness compare` says.
struct ComparisonReport {
  std::string baseline, split;
  std::vector<ComparedSide> sides = {};  ///< the baseline's, then the methods'
  std::string table = {};                ///< whose comparisons are the family; empty: no table's
  std::int64_t experiment = 0;           ///< reproductions.id; 0: the sides are of several
  Families families = {};  ///< of the table on the split that it shows; a question of none is exploratory
  std::vector<std::string> metrics = {};   ///< those shown, in their order
  std::string unit = "prompts";            ///< what n counts: clusters of pairs
  std::vector<std::string> warnings = {};  ///< why a verdict may not be quoted, a sentence each
  BootstrapSettings bootstrap = {};
  bool has_images = false;   ///< rows that were drawn elsewhere, whose runs are not paired
  bool images_only = false;  ///< all rows were
  PowerSettings power = {};
  std::string more_runs = "--seeds 42..44";      ///< how a table gets the runs that it lacks
  std::optional<double> effect = {};             ///< --effect
  std::vector<SideDifference> differences = {};  ///< across experiments
  std::vector<SidePairing> pairings = {};        ///< likewise, one a method
  std::vector<ComparedMetric> compared = {};     ///< those of a method together

  bool is_across() const { return experiment == 0; }
  /// Of methods, where one comparison is.
  Claim claim() const {
    return std::ranges::any_of(compared, is_of_methods) ? Claim::kMethods : Claim::kCheckpoints;
  }
};

}  // namespace harness

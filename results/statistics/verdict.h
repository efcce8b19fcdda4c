#pragma once

#include <optional>
#include <string>

#include "results/statistics/statistics.h"

namespace harness {

/// What a comparison can be evidence of.
enum class Claim {
  kCheckpoints,  ///< these checkpoints differ: prompts were drawn, the training runs are those that were made
  kMethods       ///< a method is better: training runs and prompts were drawn
};
std::string_view claim_name(Claim claim);  ///< "checkpoints", "methods"

/// What the runs of a comparison allow: kMethods from kFewestRuns paired runs on (crossed.h).
Claim claim_of_runs(const PairedComparison& comparison);

/// What may be claimed: what the runs allow, at a scale that judges the methods; else kCheckpoints.
Claim claim_of(const PairedComparison& comparison);

/// The interval and the p-value that decide a claim. Of methods: over runs and prompts (crossed.h). Of
/// checkpoints: over prompts, the bootstrap and the test that the comparison states. No claim: of claim_of.
std::optional<Interval> interval_of(const PairedComparison& comparison, std::optional<Claim> claim = {});
std::optional<double> p_value_of(const PairedComparison& comparison, std::optional<Claim> claim = {});

/// What a reader may conclude from one comparison.
struct Verdict {
  Claim claim = Claim::kCheckpoints;
  /// The interval of the claim lies on the mean difference's side of 0, there is a p-value, and adjusted it
  /// is below 1 - confidence; of methods the interval over prompts lies there as well: what is claimed of
  /// methods must be true of these checkpoints.
  bool differs = false;
  /// "better", "not resolved (p 0.08 after Holm)", "these checkpoints differ"; of statistics of the training,
  /// which has no checkpoints, "not judged: 2 of 3 training runs" or "not judged at this scale".
  std::string text;

  /// The one that bold, colours, alarms and statements about methods need.
  bool resolved() const { return claim == Claim::kMethods && differs; }
};

struct VerdictSettings {
  double confidence = 0.95;
  std::optional<double> adjusted_p = {};  ///< after Holm; nothing where the test has no p-value
  std::string unit = "prompts";           ///< what a cluster is, in the plural
};

/// What a difference other than 0 is: "better", "worse"; where no direction is good "higher", "lower".
std::string direction_of(double delta, Better better);

Verdict verdict_of(const PairedComparison& comparison, Better better, const VerdictSettings& settings);

}  // namespace harness

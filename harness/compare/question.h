#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/compared.h"
#include "results/statistics/bootstrap.h"

namespace harness {

/// What may be asked of --claim.
inline const std::vector<std::string> kClaims = {"checkpoints", "methods"};

/// What `harness compare` was asked, as typed; empty: its own choice.
struct CompareQuestion {
  std::string baseline, split, claim;
  std::string interval = std::string(kIntervalNames[0]);
  std::vector<std::string> methods, metrics;
  std::optional<double> effect;

  std::vector<std::string> rows() const;  ///< the baseline, then the methods
  bool asks_all_metrics() const { return metrics == std::vector<std::string>{"all"}; }
};

/// One that is named twice is a slip: another one was meant.
void require_different(const CompareQuestion& question);

/// The report without what is compared. Throws Error for an unknown interval or claim.
ComparisonReport begin_report(const CompareQuestion& question);

/// Of the comparisons, at most kFewestRuns.
std::int64_t fewest_runs(const std::vector<Comparison>& records);

/// Takes what two or more runs allow back to these checkpoints.
void claim_checkpoints_only(std::vector<Comparison>& records);

bool holds(const std::vector<std::string>& names, const std::string& name);

}  // namespace harness

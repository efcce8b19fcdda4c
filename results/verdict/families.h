#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "results/verdict/multiplicity.h"
#include "results/verdict/run_variance.h"

namespace harness {

/// What a page says of the plan that its claims about methods rest on.
struct PlanStatement {
  std::string digest = {};               ///< empty: no plan asks its questions
  std::string recorded = {};             ///< UTC, ISO 8601
  std::int64_t runs = 0, planned = 0;    ///< per row
  std::vector<std::int64_t> looks = {};  ///< that the plan has
  std::optional<double> level = {};  ///< of the look at so many runs; nothing: there is none at this number
  std::vector<std::string> earlier = {};  ///< studies of the same rows before it, a text each
  std::string why_exploratory = {};       ///< a sentence; empty where the plan's questions are claimed

  bool claims() const { return !digest.empty() && why_exploratory.empty(); }
};
Json plan_json(const PlanStatement& plan);

/// What judges the differences of a page.
struct Families {
  Family methods = {};      ///< of the plan; empty: what would be claimed of methods is exploratory
  Family checkpoints = {};  ///< the page's own questions, of these checkpoints alone
  PlanStatement plan = {};
  std::map<std::string, double> equal_within = {};  ///< margins of the plan, by metric
  RunVariances run_variances = {};                  ///< of the page's differences
  double share_of_look = 1;  ///< of the level, what the last look has; of the methods' questions

  const Family& of(Claim claim) const { return claim == Claim::kMethods ? methods : checkpoints; }
  /// Nothing: the difference is exploratory.
  std::optional<AdjustedP> adjusted(const Comparison& comparison) const;
  /// The margin of the plan for its metric.
  std::optional<double> margin(const std::string& metric) const;
  /// Of the level that it is tested with first; 0: exploratory.
  double first_share(const Comparison& comparison) const;
  void prefix_rows(const std::string& prefix);
};

}  // namespace harness

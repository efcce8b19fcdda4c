#include "results/verdict/families.h"

namespace harness {

Json plan_json(const PlanStatement& plan) {
  if (plan.digest.empty()) return {{"digest", nullptr}, {"exploratory", plan.why_exploratory}};
  return {{"digest", plan.digest},
          {"recorded", plan.recorded},
          {"runs", plan.runs},
          {"planned_runs", plan.planned},
          {"looks", plan.looks},
          {"level", or_null(plan.level)},
          {"earlier_studies", plan.earlier},
          {"exploratory", plan.why_exploratory.empty() ? Json() : Json(plan.why_exploratory)}};
}

std::optional<AdjustedP> Families::adjusted(const Comparison& comparison) const {
  const auto claim = claim_of(comparison.values);
  auto adjusted = of(claim).find(question_of(comparison));
  if (adjusted && claim == Claim::kMethods) adjusted->share *= share_of_look;
  return adjusted;
}

double Families::first_share(const Comparison& comparison) const {
  const auto claim = claim_of(comparison.values);
  return of(claim).first_share(question_of(comparison)) * (claim == Claim::kMethods ? share_of_look : 1);
}

std::optional<double> Families::margin(const std::string& metric) const {
  const auto found = equal_within.find(metric);
  return found == equal_within.end() ? std::nullopt : std::optional(found->second);
}

void Families::prefix_rows(const std::string& prefix) {
  methods.prefix_rows(prefix);
  checkpoints.prefix_rows(prefix);
  run_variances.prefix_rows(prefix);
}

}  // namespace harness

#include "results/store/comparison_row.h"

#include "results/statistics/verdict.h"

namespace harness {

ComparisonRow row_of(const ComparisonRecord& comparison) {
  const auto& r = comparison.result;
  ComparisonRow row{.split = comparison.split,
                    .metric = comparison.metric,
                    .baseline = comparison.baseline,
                    .method = comparison.method,
                    .n = r.n,
                    .n_missing = r.n_missing,
                    .clusters = r.clusters,
                    .baseline_mean = r.baseline_mean,
                    .method_mean = r.method_mean,
                    .delta = r.delta,
                    .ci95 = r.ci,
                    .wins = r.wins,
                    .ties = r.ties,
                    .losses = r.losses,
                    .t = r.t,
                    .p_value = r.p_value,
                    .test = r.test,
                    .note = comparison.note};
  if (comparison.has_claim) row.claim = claim_name(claim_of(r));
  if (!r.crossed) return row;
  row.runs = r.crossed->runs;
  row.runs_se = r.crossed->standard_error;
  row.runs_df = r.crossed->freedom;
  row.runs_ci95 = r.crossed->ci;
  row.runs_p_value = r.crossed->p_value;
  return row;
}

ComparisonRecord comparison_of(const ComparisonRow& row) {
  ComparisonRecord comparison{.split = row.split,
                              .metric = row.metric,
                              .baseline = row.baseline,
                              .method = row.method,
                              .result = {},
                              .note = row.note,
                              .has_claim = row.claim.has_value()};
  auto& r = comparison.result;
  r.n = row.n;
  r.n_missing = row.n_missing;
  r.clusters = row.clusters;
  r.baseline_mean = row.baseline_mean;
  r.method_mean = row.method_mean;
  r.delta = row.delta;
  r.ci = row.ci95;
  r.wins = row.wins;
  r.ties = row.ties;
  r.losses = row.losses;
  r.t = row.t;
  r.p_value = row.p_value;
  r.test = row.test;
  if (!row.runs) return comparison;
  r.seeds = *row.runs;
  auto& runs = r.crossed.emplace();
  runs.runs = *row.runs;
  runs.delta = row.delta.value_or(0);
  runs.standard_error = row.runs_se;
  runs.freedom = row.runs_df;
  runs.p_value = row.runs_p_value;
  runs.ci = row.runs_ci95;
  if (!runs.ci) runs.state = row.delta == 0.0 ? CrossedState::kEqual : CrossedState::kNoSpread;
  return comparison;
}

}  // namespace harness

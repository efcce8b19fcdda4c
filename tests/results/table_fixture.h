#pragma once

#include <string>

#include "results/statistics/numeric.h"
#include "results/table/table.h"
#include "results/table/table_judgement.h"

namespace harness {

inline PaperTable fixture_paper() {
  PaperTable paper;
  paper.id = "tiny";
  paper.paper = "A Paper";
  paper.label = "tab:tiny";
  paper.backbone = "sd3.5-medium-lora";
  paper.split = "test";
  paper.n = 762;
  paper.columns = {{"ocr", "fraction"}, {"exact", "percent"}};
  PaperRow row;
  row.method = "lambda-controlled";
  row.checkpoint = 80;
  row.selected = true;
  row.values = {{"ocr", {0.5831, "0.5831"}}, {"exact", {14.4, "14.40"}}};
  paper.rows = {row};
  PaperComparison comparison;
  comparison.baseline = "ratio-norm";
  comparison.method = "lambda-controlled";
  comparison.metric = "exact";
  comparison.delta = 1.44;
  comparison.n = 762;
  comparison.printed = true;
  paper.comparisons = {comparison};
  return paper;
}

inline Summary fixture_summary(double mean, std::int64_t missing = 0) {
  return {.n = 40 - missing, .n_missing = missing, .mean = mean, .std = 0.25};
}

inline TableRow fixture_row(const std::string& method, int checkpoint, double ocr, double exact) {
  TableRow row;
  row.method = method;
  row.seed = 42;
  row.checkpoint = checkpoint;
  row.split = "test";
  row.n = 40;
  row.metrics = {{"ocr_reward", fixture_summary(ocr)}, {"exact_match", fixture_summary(exact)}};
  return row;
}

inline Comparison fixture_comparison(const std::string& metric, double delta, double low, double high) {
  Comparison comparison{.metric = metric, .baseline = "ratio-norm", .method = "lambda-controlled"};
  comparison.values.n = 40;
  comparison.values.delta = delta;
  comparison.values.ci = Interval{low, high};
  comparison.values.wins = 20;
  comparison.values.ties = 8;
  comparison.values.losses = 12;
  comparison.values.t = 2.5;
  comparison.values.p_value = 0.0167;
  return comparison;
}

/// Makes this its interval at level 0.05, in which prompts alone have spread, as far as the critical value
/// goes: at another level it is Student's with as many degrees of freedom as there are prompts but one.
inline void set_interval(CrossedComparison& crossed, Interval interval) {
  crossed.delta = (interval.low + interval.high) / 2;
  crossed.parts_freedom = {static_cast<double>(crossed.runs - 1), static_cast<double>(crossed.clusters - 1)};
  crossed.critical = t_critical(crossed.parts_freedom.prompts, 0.05);
  crossed.standard_error = (interval.high - interval.low) / 2 / *crossed.critical;
  crossed.parts = {.runs = 0, .prompts = *crossed.standard_error * *crossed.standard_error};
  crossed.ci = interval;
}

/// The same difference over three training runs, with this interval and p-value over them.
inline PairedComparison over_three_runs(PairedComparison values, Interval interval, double p_value) {
  const double delta = *values.delta;
  values.seeds = 3;
  values.crossed = CrossedComparison{.runs = 3,
                                     .clusters = values.n,
                                     .per_run = {{42, delta - 0.001}, {43, delta}, {44, delta + 0.001}},
                                     .components = {.run = 1e-6, .prompt = 4e-4, .residual = 9e-4},
                                     .freedom = 2.5,
                                     .p_value = p_value};
  set_interval(*values.crossed, interval);
  return values;
}

/// The same with the interval and the p-value over prompts.
inline PairedComparison over_three_runs(const PairedComparison& values) {
  return over_three_runs(values, *values.ci, *values.p_value);
}

/// Judges all that a table compares as the questions of one family and of one plan.
inline void judge_as_planned(TableModel& model, const FamilyRoles& roles = {}) {
  ask_all(roles, model);
  judge_comparisons(model);
}

/// Judges what no family asks.
inline void judge_as_exploratory(TableModel& model) {
  model.families = {};
  judge_comparisons(model);
}

/// Two methods of one training run each: the checkpoints' rewards differ, their exact matches are not shown
/// to.
inline TableModel fixture_table() {
  TableModel model;
  model.id = "tiny";
  model.title = "a small table";
  model.backbone = "glyph";
  model.backbone_note = "These are the embedded glyph backbone's numbers, not SD3.5's";
  model.scale = "smoke";
  model.split = "test";
  model.baseline = "ratio-norm";
  model.signature = "tiny v1; seed 42";
  model.columns = {{"ocr_reward", "OCR reward", Unit::kFraction, 4, Better::kUp, "ocr"},
                   {"exact_match", "Exact", Unit::kPercent, 2, Better::kUp, "exact"},
                   {"lambda_late", "Lambda_late", Unit::kNumber, 6, Better::kDown, ""},
                   {"pickscore", "PickScore", Unit::kNumber, 4, Better::kUp, ""}};
  model.reference = {fixture_row("base", 0, 0.735, 0.4)};
  model.rows = {fixture_row("ratio-norm", 40, 0.89, 0.55),
                fixture_row("lambda-controlled", 80, 0.9012, 0.575)};
  model.rows[0].lambda_late = 3.8e-7;
  model.rows[1].lambda_late = 0.000332;
  model.rows[1].damp_share = 0.125;
  model.comparisons = {fixture_comparison("ocr_reward", 0.0112, 0.0021, 0.0203),
                       fixture_comparison("exact_match", 0.025, -0.05, 0.1)};
  judge_as_planned(model);
  model.not_run = {{"pickscore", "its files are absent (--scorers DIR)"}};
  model.paper = fixture_paper();
  model.artifacts = {{"table.md", "runs/tiny/table.md"}};
  model.wall_seconds = 12.5;
  return model;
}

/// The same of three training runs a method: the reward's difference is resolved, the exact matches' is not.
inline TableModel fixture_of_runs() {
  auto model = fixture_table();
  for (auto& comparison : model.comparisons) comparison.values = over_three_runs(comparison.values);
  model.families.plan = {.digest = "1a2b3c4d5e6f",
                         .recorded = "2026-11-29T10:00:00.000Z",
                         .runs = 3,
                         .planned = 3,
                         .looks = {3},
                         .level = 0.05};
  judge_as_planned(model);
  return model;
}

}  // namespace harness

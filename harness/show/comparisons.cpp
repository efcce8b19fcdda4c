#include "harness/show/comparisons.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/text.h"
#include "harness/show/training_table.h"
#include "results/statistics/outcomes.h"
#include "results/store/rows.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// By method, the mean over its runs of a statistic: over off-policy updates, or (?4) over all.
constexpr auto kMeanOverRuns = R"sql(
    SELECT avg(mean) FROM (
      SELECT avg(value) AS mean FROM reproduction_runs AS member JOIN train_stats ON train_stats.run_id = member.run_id
      WHERE member.reproduction_id = ?1 AND member.arm = ?2 AND name = ?3 AND (?4 OR on_policy = 0)
      GROUP BY member.run_id))sql";

/// Where runs of a row of images are alike in the metric (runs_alike), nothing is said of methods: the result
/// is that of fewer than kFewestRuns runs.
void count_alike_runs_once(ScoreReader& scores, const RowOf& row,
                           const std::vector<EvaluatedCheckpoint>& checkpoints, const std::string& split,
                           const std::string& metric, PairedComparison& result) {
  if (row.experiment.traits_of(row.row).draws) return;
  const auto alike = runs_alike(scores, checkpoints, row.name, split, metric);
  if (alike.seeds.empty()) return;
  result.seeds = std::min({result.seeds, alike.different, kFewestRuns - 1});
  result.crossed.reset();
  result.ci_seeds.reset();
}

/// One metric's part of end_note; empty where the pairs do not tie there.
std::string end_ties_text(const std::string& metric, const std::string& baseline, const std::string& method,
                          std::span<const PairedValue> pairs) {
  const auto found = ties_at_an_end(pairs);
  if (!found) return {};
  return fmt::format("{} of {} \u2212 {}: {} of {} pairs tie at {:.4g}, the {} value", metric, method,
                     baseline, found->ties, found->pairs, found->value,
                     found->lowest && found->highest ? "only"
                     : found->lowest                 ? "lowest"
                                                     : "highest");
}

}  // namespace

Movement mean_movement(Store& store, const Experiment& experiment, const std::string& row) {
  if (experiment.is_training() || experiment.traits_of(row).is_start) return {};
  const auto mean = [&](const char* statistic, bool on_policy_too) {
    return rows_of<std::optional<double>>(store, kMeanOverRuns, experiment.id, row, std::string(statistic),
                                          on_policy_too)
        .front();
  };
  return {.lambda_center = mean("lambda_center", false), .velocity = mean("velocity_movement", true)};
}

std::optional<std::string> movement_note(Store& store, const RowOf& baseline, const RowOf& method) {
  const auto a = mean_movement(store, baseline.experiment, baseline.row);
  const auto b = mean_movement(store, method.experiment, method.row);
  const auto is_unequal = [](double x, double y) {
    constexpr double kUnequal = 3;
    return std::max(x, y) > kUnequal * std::min(x, y);
  };
  const bool differs = a.lambda_center && b.lambda_center ? is_unequal(*a.lambda_center, *b.lambda_center)
                       : a.velocity && b.velocity         ? is_unequal(*a.velocity, *b.velocity)
                                                          : false;
  return differs ? std::optional<std::string>(kUnequalMovement) : std::nullopt;
}

std::vector<TableColumn> columns_of(const TableSpec& spec) {
  std::vector<TableColumn> columns;
  for (const auto& column : spec.columns) {
    columns.push_back({.key = column.name,
                       .title = column.title,
                       .unit = unit_from_name(column.unit),
                       .decimals = column.decimals,
                       .better = better_from_name(column.better),
                       .paper_key = column.paper,
                       .note = column.note,
                       .std_of = column.std_of,
                       .stands_for = column.stands_for,
                       .paper_metric = column.paper_metric});
  }
  return columns;
}

std::vector<std::string> named_by_table(const TableSpec& spec, std::vector<std::string> metrics) {
  std::erase_if(metrics, [&](const auto& metric) { return !spec.names(metric); });
  return metrics;
}

void keep_named_metrics(const Experiment& experiment, std::vector<Comparison>& comparisons) {
  std::erase_if(comparisons, [&](const auto& c) { return !experiment.table.names(c.metric); });
}

std::vector<Comparison> table_comparisons(ScoreReader& scores, const Experiment& experiment,
                                          const std::string& split, bool draws_seeds) {
  auto rows = scores.store().comparisons(experiment.id);
  std::erase_if(rows, [&](const auto& row) { return row.split != split; });
  // The intervals over prompts are in the DB; only those with seeds drawn too are not.
  BootstrapSettings settings;
  // An early version took copies for training runs.
  const bool has_copies = std::ranges::any_of(
      scores.checkpoints(experiment), [&](const auto& c) { return c.split == split && !c.copy_of.empty(); });
  if (!has_copies && (!draws_seeds || experiment.seeds.size() < 2)) settings.resamples = 0;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> arms;
  for (std::size_t i = 0; i < rows.size(); ++i) arms[{rows[i].baseline, rows[i].method}].push_back(i);
  std::vector<Comparison> comparisons(rows.size());
  for (const auto& [arm, places] : arms) {
    std::vector<std::string> metrics;
    for (const auto place : places) metrics.push_back(rows[place].metric);
    // Of rows that are not paired an earlier version stored what the order of the runs gives.
    const bool paired = experiment.traits_of(arm.first).draws && experiment.traits_of(arm.second).draws;
    const bool lacks_images = !paired && experiment.seeds.size() > 1 &&
                              std::ranges::any_of(places, [&](auto at) { return rows[at].n_missing > 0; });
    auto of_arm = settings;
    if (lacks_images) of_arm.resamples = BootstrapSettings{}.resamples;
    auto compared = compare_methods(scores, experiment, arm.first, arm.second, split, metrics, of_arm);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& row = rows[places[i]];
      if (!has_copies && !lacks_images) compared[i].values.ci = row.ci95;
      compared[i].note = row.note;
      comparisons[places[i]] = std::move(compared[i]);
    }
  }
  return comparisons;
}

void add_validation_deltas(Store& store, const Experiment& experiment, std::span<Comparison> comparisons) {
  for (const auto& row : store.comparisons(experiment.id)) {
    if (row.split != "validation") continue;
    for (auto& comparison : comparisons) {
      if (is_same_question(comparison, row)) comparison.validation_delta = row.delta;
    }
  }
}

std::vector<std::string> runs_alike_notes(ScoreReader& scores, const Experiment& experiment,
                                          const std::vector<EvaluatedCheckpoint>& checkpoints,
                                          const std::string& split) {
  std::vector<std::string> notes;
  const auto metrics = metrics_of(scores.store(), checkpoints);
  for (const auto& row : experiment.methods) {
    if (experiment.seeds.size() < 2 || experiment.traits_of(row).draws) continue;
    std::map<std::vector<std::int64_t>, std::vector<std::string>> found;
    for (const auto& metric : metrics) {
      auto alike = runs_alike(scores, checkpoints, row, split, metric);
      if (!alike.seeds.empty()) found[std::move(alike.seeds)].push_back(metric);
    }
    for (const auto& [seeds, of] : found)
      notes.push_back(fmt::format(
          "Copies: runs {} of {} have the same value on every image in {}. No spread between runs can be told from "
          "that, and nothing is said of methods there. Give each run the images of a training of its own.",
          runs_in_words(seeds), row, join(of, ", ")));
  }
  return notes;
}

static std::vector<PairedMetric> paired_metrics(ScoreReader& scores, const RowOf& baseline,
                                                const RowOf& method,
                                                const std::vector<EvaluatedCheckpoint>& checkpoints,
                                                const std::string& split,
                                                const std::vector<std::string>& metrics,
                                                Outcomes outcomes = Outcomes::kByPrompt) {
  const auto& experiment = baseline.experiment;
  const bool over_training = experiment.is_training();
  const auto rows = over_training ? training_rows(scores.store(), experiment) : std::vector<TableRow>{};
  const auto is_given = [](const RowOf& row) { return !row.experiment.traits_of(row.row).draws; };
  std::vector<PairedMetric> paired;
  for (const auto& metric : metrics) {
    paired.push_back({.pairs = over_training ? seed_pairs(rows, baseline.name, method.name, metric)
                                             : paired_values(scores, checkpoints, baseline.name, method.name,
                                                             split, metric),
                      .better = experiment.better(metric),
                      .runs_are_paired = !is_given(baseline) && !is_given(method)});
    if (outcomes == Outcomes::kByPrompt && !paired.back().runs_are_paired)
      keep_samples_of_all_runs(paired.back().pairs);
  }
  return paired;
}

void add_intervals(ScoreReader& scores, const Experiment& experiment, Comparison& comparison) {
  const auto paired =
      paired_metrics(scores, {experiment, comparison.baseline}, {experiment, comparison.method},
                     scores.checkpoints(experiment), comparison.split, {comparison.metric});
  add_intervals(paired, {}, {&comparison.values, 1});
}

std::vector<Comparison> compare_rows(ScoreReader& scores, const RowOf& baseline, const RowOf& method,
                                     const std::vector<EvaluatedCheckpoint>& checkpoints,
                                     const std::string& split, const std::vector<std::string>& metrics,
                                     const BootstrapSettings& settings, Outcomes outcomes) {
  const auto& experiment = baseline.experiment;
  const auto pairs = paired_metrics(scores, baseline, method, checkpoints, split, metrics, outcomes);
  auto results = compare_paired(pairs, settings);
  std::vector<Comparison> records;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    results[i].judges_methods = experiment.judges_methods() && method.experiment.judges_methods();
    if (outcomes == Outcomes::kByPrompt && !pairs[i].runs_are_paired) {
      count_by_cluster(pairs[i], settings.confidence, results[i]);
      for (const auto* row : {&baseline, &method})
        count_alike_runs_once(scores, *row, checkpoints, split, metrics[i], results[i]);
    }
    records.push_back({.split = split,
                       .metric = metrics[i],
                       .baseline = baseline.name,
                       .method = method.name,
                       .values = std::move(results[i]),
                       .restates = restated_by(metrics[i])});
  }
  return records;
}

std::vector<Comparison> compare_methods(ScoreReader& scores, const Experiment& experiment,
                                        const std::string& baseline, const std::string& method,
                                        const std::string& split, const std::vector<std::string>& metrics,
                                        const BootstrapSettings& settings, Outcomes outcomes) {
  return compare_rows(scores, {experiment, baseline}, {experiment, method}, scores.checkpoints(experiment),
                      split, metrics, settings, outcomes);
}

std::string end_note(ScoreReader& scores, const Experiment& experiment,
                     const std::vector<EvaluatedCheckpoint>& checkpoints,
                     const std::vector<std::pair<std::string, std::string>>& arms, const std::string& split,
                     const std::vector<std::string>& metrics) {
  std::vector<std::string> ties;
  for (const auto& metric : metrics) {
    if (experiment.better(metric) == Better::kNone || !restated_by(metric).empty()) continue;
    for (const auto& [baseline, method] : arms)
      ties.push_back(end_ties_text(metric, baseline, method,
                                   paired_values(scores, checkpoints, baseline, method, split, metric)));
  }
  std::erase(ties, "");
  if (ties.empty()) return {};
  return fmt::format("At its floor or ceiling a metric cannot tell rows apart. {}.", join(ties, "; "));
}

static std::vector<std::pair<std::string, std::string>> arms_of(const std::string& baseline,
                                                                const std::vector<std::string>& methods,
                                                                bool with_base) {
  std::vector<std::pair<std::string, std::string>> arms;
  for (const auto& method : methods) {
    if (method != baseline) arms.emplace_back(baseline, method);
  }
  if (!with_base) return arms;
  for (const auto& method : methods) arms.emplace_back(kBaseMethod, method);
  return arms;
}

std::vector<std::pair<std::string, std::string>> compared_arms(const Experiment& experiment) {
  return arms_of(experiment.effective.baseline, experiment.methods,
                 !experiment.is_training() && experiment.table.has_base);
}

std::vector<std::pair<std::string, std::string>> compared_arms(const TableSpec& spec,
                                                               const std::string& baseline,
                                                               const std::vector<std::string>& methods) {
  return arms_of(baseline, methods, spec.has_base);
}

FamilyRoles roles_of(const TableSpec& spec, const std::string& baseline) {
  if (spec.is_training()) return {};
  if (!draws_images(spec.backbone)) return {};  // what scores images was no one's reward
  return {.primary = spec.selection.metric,
          .base = spec.has_base && baseline != kBaseMethod ? kBaseMethod : ""};
}

std::vector<Comparison> compare_all(Store& store, const Experiment& experiment, Outcomes outcomes) {
  if (experiment.is_training()) {
    const auto columns = columns_of(experiment.table);
    return training_comparisons(experiment, columns, training_rows(store, experiment));
  }
  ScoreReader scores(store);
  const auto& checkpoints = scores.checkpoints(experiment);
  const auto metrics = metrics_of(store, checkpoints);
  std::vector<Comparison> records;
  std::vector<std::string> splits = {"validation"};
  if (experiment.table.tests()) splits.insert(splits.begin(), "test");
  for (const auto& split : splits) {
    // Images that nothing was selected of are on the test split alone.
    const auto is_there = [&](const std::string& row) {
      return std::ranges::any_of(
          checkpoints, [&](const auto& c) { return c.method == row && c.split == split && c.selected; });
    };
    for (const auto& [first, second] : compared_arms(experiment)) {
      if (!is_there(first) || !is_there(second)) continue;
      auto compared = compare_methods(scores, experiment, first, second, split, metrics, {}, outcomes);
      const auto note = movement_note(store, {experiment, first}, {experiment, second});
      for (auto& comparison : compared) comparison.note = note;
      std::ranges::move(compared, std::back_inserter(records));
    }
  }
  return records;
}

}  // namespace harness

#include "harness/compare/make_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <ranges>
#include <span>

#include "core/error.h"
#include "core/text.h"
#include "harness/compare/choice.h"
#include "harness/compare/comparison_report.h"
#include "harness/compare/conditions.h"
#include "harness/compare/effect.h"
#include "harness/compare/missing_runs.h"
#include "harness/show/families.h"
#include "harness/show/leaderboard.h"
#include "harness/show/table_model.h"
#include "harness/show/test_split_notes.h"
#include "harness/show/training_table.h"
#include "harness/terminal/output.h"
#include "results/statistics/crossed.h"
#include "results/statistics/verdict_words.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// Where verdicts of an experiment's leaderboard are to be quoted from; empty where it has none on this
/// split.
std::string leaderboard_warning(const Experiment& experiment, const std::string& split) {
  if (!experiment.table.leaderboard || split != experiment.shown_split()) return {};
  return fmt::format(
      "Verdicts against {0} in {1} are those of the leaderboard, which also looks at the sign in every run and at equal "
      "evaluations; `harness table {2} --part leaderboard` names with each the metrics in which the winner is worse.",
      experiment.effective.baseline, experiment.table.selection.metric, experiment.table_id);
}

/// Why a verdict may not be quoted, a sentence each. in_table: the experiment's table judges it.
std::vector<std::string> warnings_of(ScoreReader& scores, const MeasuredExperiment& of,
                                     const std::string& split, bool in_table) {
  const auto& experiment = of.experiment;
  std::vector<std::string> warnings;
  if (split == "test") warnings.push_back(reopened_note(scores.store(), experiment).whole());
  if (experiment.chooses_on(split)) warnings.emplace_back(kChosenHere);
  warnings.push_back(scale_warning_of(experiment));
  if (in_table) warnings.push_back(leaderboard_warning(experiment, split));
  warnings.push_back(fuller_note(scores.store(), experiment));
  std::ranges::move(copies_notes(of.checkpoints, split), std::back_inserter(warnings));
  if (!experiment.is_training())
    std::ranges::move(runs_alike_notes(scores, experiment, of.checkpoints, split),
                      std::back_inserter(warnings));
  std::erase(warnings, "");
  return warnings;
}

/// --claim methods of too few training runs says what is missing.
void require_claim(Store& store, const std::vector<ComparedRow>& rows, const CompareQuestion& question,
                   const std::vector<Comparison>& asked) {
  if (question.claim != claim_name(Claim::kMethods)) return;
  const auto& home = rows.front().experiment();
  if (!home.judges_methods())
    throw Error(fmt::format("scale {} allows no statement about methods", home.scale), "--claim",
                "leave it out, or repeat the table at another scale");
  const auto runs = fewest_runs(asked);
  if (runs >= kFewestRuns) return;
  if (are_of_one_experiment(rows))
    throw Error(
        fmt::format("a statement about methods needs {} training runs of each, and experiment {} has {}",
                    kFewestRuns, home.id, runs),
        "--claim", missing_runs(store, home, runs));
  const auto& fewest = *std::ranges::min_element(asked, {}, [](const auto& c) { return c.values.seeds; });
  throw Error(
      fmt::format("a statement about methods needs {} training runs of each with seeds that both have, "
                  "and {} and {} have {}",
                  kFewestRuns, fewest.baseline, fewest.method, fewest.values.seeds),
      "--claim", "repeat both experiments with more seeds, the same ones");
}

ComparedSide side_of(const Store& store, const ComparedRow& row) {
  return {.name = row.name,
          .row = row.row,
          .experiment = row.experiment().id,
          .table = row.experiment().table_id,
          .signature = row.experiment().signature,
          .db = store.path().string()};
}

/// Where the experiment's leaderboard says less of a resolved difference than better or worse, the report
/// says so, too. prefix: of the rows' names there.
void apply_leaderboard_verdicts(ScoreReader& scores, const Experiment& experiment, const std::string& prefix,
                                ComparisonReport& report) {
  if (!experiment.table.leaderboard || report.split != experiment.shown_split()) return;
  for (auto& metric : report.compared) {
    const auto& judged = experiment.table.selection.metric;
    if (!metric.judgement.resolved() || (metric.metric != judged && metric.restates != judged)) continue;
    Comparison here = metric;
    here.baseline.erase(0, prefix.size());
    here.method.erase(0, prefix.size());
    if (here.baseline != experiment.effective.baseline && here.method != experiment.effective.baseline)
      continue;
    if (experiment.table.has_base && (here.baseline == kBaseMethod || here.method == kBaseMethod)) continue;
    const auto text = leaderboard_split(scores, experiment, here);
    if (!text.empty()) say_less(text, metric.judgement);
  }
}

/// The differences that an experiment's table shows, all metrics.
std::vector<Comparison> differences_of_table(ScoreReader& scores, const Experiment& experiment,
                                             const std::string& split) {
  if (!experiment.is_training()) return table_comparisons(scores, experiment, split, false);
  return training_comparisons(experiment, columns_of(experiment.table),
                              training_rows(scores.store(), experiment));
}

/// What judges differences of the table's rows. prefix: before their names in the report. of_checkpoints: by
/// p-values over prompts.
Families families_here(ScoreReader& scores, const Experiment& experiment, const std::string& prefix,
                       const std::string& split, bool of_checkpoints) {
  auto differences = differences_of_table(scores, experiment, split);
  if (of_checkpoints) claim_checkpoints_only(differences);
  auto families = families_of(scores, experiment, split, differences);
  families.prefix_rows(prefix);
  return families;
}

/// Throws Error for a row of a training table, which has no evaluations.
void require_evaluations(const ComparedRow& row) {
  if (!row.experiment().is_training()) return;
  throw Error(fmt::format("experiment {} (table {}) shows statistics of the training, which are compared "
                          "within one experiment",
                          row.experiment().id, row.experiment().table_id),
              row.name, fmt::format("name rows of experiment {} alone", row.experiment().id));
}

/// The rows' evaluations under the names that they have here; of rows of other experiments those of the
/// baseline's seeds.
std::vector<EvaluatedCheckpoint> compared_checkpoints(const std::vector<ComparedRow>& rows) {
  std::vector<EvaluatedCheckpoint> checkpoints;
  for (const auto& row : rows) {
    for (auto checkpoint : row.of->checkpoints) {
      const auto is_pair = [&](const auto& other) { return other.seed == checkpoint.seed; };
      if (checkpoint.method != row.row) continue;
      if (!row.is_beside(rows.front()) &&
          std::ranges::none_of(rows.front().selected(checkpoint.split), is_pair))
        continue;
      checkpoint.method = row.name;
      checkpoints.push_back(std::move(checkpoint));
    }
  }
  return checkpoints;
}

/// "3:" of a row that is "3:dual" here.
std::string prefix_of(const ComparedRow& row) {
  return row.name.substr(0, row.name.size() - row.row.size());
}

/// What the report says of its rows.
void describe(ScoreReader& scores, const std::vector<ComparedRow>& rows, ComparisonReport& report) {
  const auto& baseline = rows.front();
  const auto& home = baseline.experiment();
  const auto is_in_table = [&](const ComparedRow& row) { return row.is_beside(baseline); };
  if (std::ranges::count_if(rows, is_in_table) > 1) report.table = home.table_id;
  if (are_of_one_experiment(rows)) report.experiment = home.id;
  if (home.is_training()) report.unit = kSeedUnit;
  report.more_runs = home.more_runs();
  report.images_only = !draws_images(home.backbone);
  report.has_images = std::ranges::any_of(
      rows, [](const ComparedRow& row) { return !row.experiment().traits_of(row.row).draws; });
  for (const auto& row : rows) {
    report.sides.push_back(side_of(scores.store(), row));
    const auto is_it = [&](const ComparedRow& other) { return other.is_beside(row); };
    if (&*std::ranges::find_if(rows, is_it) != &row) continue;
    const bool judges = is_in_table(row) && !report.table.empty();
    std::ranges::move(warnings_of(scores, *row.of, report.split, judges),
                      std::back_inserter(report.warnings));
  }
  report.warnings = distinct_of(report.warnings, std::identity());
}

/// Each method with the baseline in each metric, as far as the claim that is asked for goes; what else the
/// report says of them, and the family that they are judged in.
std::vector<Comparison> compare_asked(ScoreReader& scores, const std::vector<ComparedRow>& rows,
                                      const CompareQuestion& question, ComparisonReport& report) {
  const auto& baseline = rows.front();
  const auto& home = baseline.experiment();
  const auto checkpoints = compared_checkpoints(rows);
  std::vector<Comparison> asked;
  std::vector<std::pair<std::string, std::string>> arms;
  const RowOf first{home, baseline.row, baseline.name};
  for (const auto& method : rows | std::views::drop(1)) {
    arms.emplace_back(baseline.name, method.name);
    const bool is_foreign = !method.is_beside(baseline);
    if (is_foreign) {
      auto terms = require_comparable(scores.store(), baseline, method, report.split, report.metrics);
      std::ranges::move(terms.differences, std::back_inserter(report.differences));
      report.pairings.push_back(std::move(terms.pairing));
    }
    const RowOf second{method.experiment(), method.row, method.name};
    const auto compare = [&](const std::string& split, const BootstrapSettings& settings) {
      return compare_rows(scores, first, second, checkpoints, split, report.metrics, settings);
    };
    auto compared = compare(report.split, report.bootstrap);
    const auto note = movement_note(scores.store(), first, second);
    for (auto& comparison : compared) comparison.note = note;
    if (is_foreign && report.split != "validation") {
      const auto validation = compare("validation", {.resamples = 0});
      for (std::size_t i = 0; i < compared.size(); ++i)
        compared[i].validation_delta = validation[i].values.delta;
    }
    std::ranges::move(compared, std::back_inserter(asked));
  }
  if (are_of_one_experiment(rows) && !home.is_training() && report.split != "validation")
    add_validation_deltas(scores.store(), home, asked);
  if (!home.is_training()) {
    auto note = end_note(scores, home, checkpoints, arms, report.split, report.metrics);
    if (!note.empty()) report.warnings.push_back(std::move(note));
  }
  require_claim(scores.store(), rows, question, asked);
  const bool of_checkpoints = question.claim == claim_name(Claim::kCheckpoints);
  if (!report.table.empty())
    report.families = families_here(scores, home, prefix_of(baseline), report.split, of_checkpoints);
  for (auto& comparison : asked) report.families.run_variances.raise(comparison);
  if (of_checkpoints) claim_checkpoints_only(asked);
  return asked;
}

}  // namespace

ComparisonReport make_report(Store& store, std::vector<ComparedRow> rows, const CompareQuestion& question) {
  const auto& baseline = rows.front();
  const auto& home = baseline.experiment();
  const bool is_across = !are_of_one_experiment(rows);
  for (auto& row : rows) {
    if (is_across) require_evaluations(row);
    if (!is_across) row.name = row.row;
  }
  auto report = begin_report(question);
  report.baseline = baseline.name;
  report.split = chosen_split(rows, question);
  report.metrics = chosen_metrics(store, rows, question);
  require_sensible_effect(question.effect, home.table, report.metrics);
  ScoreReader scores(store);
  for (const auto& row : rows) scores.put_checkpoints(row.experiment(), row.of->checkpoints);
  describe(scores, rows, report);
  const auto asked = compare_asked(scores, rows, question, report);
  std::vector<Better> better;
  for (const auto& record : asked) better.push_back(home.better(record.metric));
  add_comparisons(asked, better, report);
  apply_leaderboard_verdicts(scores, home, prefix_of(baseline), report);
  return report;
}

}  // namespace harness

#include "harness/compare/within.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "core/error.h"
#include "core/text.h"
#include "harness/compare/effect.h"
#include "harness/compare/missing_runs.h"
#include "harness/show/guardrails.h"
#include "harness/show/leaderboard.h"
#include "harness/show/table_model.h"
#include "harness/terminal/output.h"
#include "results/statistics/crossed.h"
#include "results/statistics/verdict_words.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// The columns of a training table that it compares: those with a good direction.
std::vector<std::string> directed_columns(const Experiment& experiment) {
  auto names = names_of(experiment.table.columns);
  std::erase_if(names, [&](const std::string& name) { return experiment.better(name) == Better::kNone; });
  return names;
}

/// The last other experiment that has every method asked for, or how else to go on.
std::string where_else(Store& store, const Experiment& experiment, const std::string& method,
                       const std::vector<std::string>& wanted) {
  for (const auto& other : store.reproductions()) {
    const auto has = [known = compared_methods(other)](const std::string& name) {
      return holds(known, name);
    };
    if (other.id != experiment.id && std::ranges::all_of(wanted, has))
      return fmt::format("experiment {} has {}: --experiment {}", other.id,
                         wanted.size() == 2 ? "both" : "all", other.id);
  }
  const auto known = compared_methods(experiment);
  return suggestion(method, known) + (meant_by(method, known).empty() ? "; " : " ") +
         "`harness list experiments` shows the other experiments";
}

/// Every method asked for is one of the experiment's.
void require_methods(Store& store, const CompareQuestion& question, const Experiment& experiment) {
  const auto wanted = question.rows();
  const auto known = compared_methods(experiment);
  for (const auto& method : wanted) {
    if (holds(known, method)) continue;
    throw Error(fmt::format("experiment {} has no method {}", experiment.id, in_quotes(method)),
                "harness compare", where_else(store, experiment, method, wanted));
  }
}

/// A metric that another one stands in for.
void require_measured(const Experiment& experiment, const std::string& metric) {
  for (const auto& column : experiment.table.columns) {
    if (column.stands_for != metric) continue;
    throw Error(fmt::format("{} replaces {} in experiment {} (backbone {})", column.name, metric,
                            experiment.id, experiment.backbone),
                "--metric", fmt::format("give --metric {}", column.name));
  }
}

/// A metric that the table asks for and that was not run has a reason, and says it.
void require_metric(Store& store, const Experiment& experiment,
                    const std::vector<EvaluatedCheckpoint>& checkpoints, const std::string& metric,
                    const std::vector<std::string>& known) {
  if (!holds(known, metric)) require_measured(experiment, metric);
  for (const auto& checkpoint : checkpoints) {
    const Json not_run = store.evaluation(checkpoint.evaluation_id)->not_run;
    if (not_run.contains(metric)) {
      throw Error(fmt::format("{} was not run: {}", metric, not_run.at(metric).get<std::string>()),
                  "--metric", "there are " + join(known, ", "));
    }
  }
  require_choice(metric, known, "metric", "--metric");
}

std::vector<std::string> chosen_metrics(Store& store, const Experiment& experiment,
                                        const CompareQuestion& question,
                                        const std::vector<EvaluatedCheckpoint>& checkpoints,
                                        const std::vector<std::string>& named,
                                        const std::vector<std::string>& known) {
  if (question.metrics.empty()) return {known.at(0)};
  if (question.asks_all_metrics()) return named;
  for (const auto& metric : question.metrics) require_metric(store, experiment, checkpoints, metric, known);
  return distinct_of(question.metrics, std::identity());
}

/// --split, or unset the one that the table shows.
std::string chosen_split(const CompareQuestion& question, const Experiment& experiment,
                         const std::vector<EvaluatedCheckpoint>& checkpoints) {
  std::vector<std::string> known;
  for (const auto& checkpoint : checkpoints) known.push_back(checkpoint.split);
  if (experiment.is_training()) known = {kTrainingSplit};
  const auto split = !question.split.empty() ? question.split : experiment.shown_split();
  require_choice(split, distinct_of(known, std::identity()), "split", "--split");
  return split;
}

std::vector<std::string> warnings_of(const Experiment& experiment, const std::string& split) {
  std::vector<std::string> warnings;
  if (chooses_on(experiment, split)) warnings.emplace_back(kChosenHere);
  if (auto scale = scale_warning_of(experiment); !scale.empty()) warnings.push_back(std::move(scale));
  if (auto leaderboard = leaderboard_warning(experiment, split); !leaderboard.empty())
    warnings.push_back(std::move(leaderboard));
  return warnings;
}

/// What a leaderboard's letters compare; nothing where it has none.
std::vector<TableQuestion> letter_questions(ScoreReader& scores, const Experiment& experiment,
                                            const std::vector<EvaluatedCheckpoint>& checkpoints,
                                            const std::string& split) {
  const auto& spec = experiment.table;
  if (!spec.leaderboard || !spec.leaderboard->groups || !experiment.judges_methods()) return {};
  const auto& rows = experiment.methods;
  std::vector<ComparisonRecord> records;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j)
      std::ranges::move(compare_methods(scores, experiment, checkpoints, rows[i], rows[j], split,
                                        {spec.selection.metric}, {.resamples = 0}),
                        std::back_inserter(records));
  }
  const auto is_of_methods = [](const auto& record) { return claim_of(record.result) == Claim::kMethods; };
  return std::ranges::all_of(records, is_of_methods) ? questions_of(records) : std::vector<TableQuestion>();
}

/// --claim methods of too few training runs says what is missing.
void require_claim(Store& store, const Experiment& experiment, const CompareQuestion& question,
                   const std::vector<ComparisonRecord>& asked) {
  if (question.claim.empty()) return;
  if (question.claim != claim_name(Claim::kMethods)) return;
  if (!experiment.judges_methods())
    throw Error(fmt::format("scale {} allows no statement about methods", experiment.scale), "--claim",
                "leave it out, or repeat the table at another scale");
  const auto runs = fewest_runs(asked);
  if (runs >= kFewestRuns) return;
  throw Error(
      fmt::format("a statement about methods needs {} training runs of each, and experiment {} has {}",
                  kFewestRuns, experiment.id, runs),
      "--claim", missing_runs(store, experiment, runs));
}

std::vector<ComparedSide> sides_of(const Store& store, const Experiment& experiment,
                                   const std::vector<std::string>& rows) {
  std::vector<ComparedSide> sides;
  for (const auto& row : rows) {
    sides.push_back({.name = row,
                     .row = row,
                     .experiment = experiment.id,
                     .table = experiment.table_id,
                     .signature = experiment.signature,
                     .db = store.path().string()});
  }
  return sides;
}

}  // namespace

std::string leaderboard_warning(const Experiment& experiment, const std::string& split) {
  if (!experiment.table.leaderboard || split != experiment.shown_split()) return {};
  return fmt::format(
      "Verdicts against {0} in {1} are those of the leaderboard, which also looks at the sign in every run and at equal "
      "evaluations; `harness table {2} --part leaderboard` names with each the metrics in which the winner is worse.",
      experiment.effective.baseline, experiment.table.selection.metric, experiment.table_id);
}

void heed_leaderboard(ScoreReader& scores, const Experiment& experiment, const std::string& prefix,
                      ComparisonReport& report) {
  const auto& questions = report.families.leaderboard;
  for (auto& metric : report.compared) {
    auto record = metric.record;
    if (!metric.verdict.resolved() || !holds(questions, {record.baseline, record.method, record.metric, {}}))
      continue;
    record.baseline.erase(0, prefix.size());
    record.method.erase(0, prefix.size());
    metric.board_verdict = leaderboard_split(scores, experiment, record, metric.adjusted_p);
  }
}

std::vector<std::string> compared_methods(const StoredReproduction& experiment) {
  auto known = experiment.methods;
  const bool has_base =
      experiment.spec.value("kind", "") != "training" && experiment.spec.value("starting_weights", true);
  if (has_base) known.insert(known.begin(), kBaseMethod);
  return known;
}

Families table_families(ScoreReader& scores, const Experiment& experiment,
                        const std::vector<EvaluatedCheckpoint>& checkpoints, const std::string& split,
                        bool of_checkpoints) {
  const auto metrics = experiment.is_training()
                           ? directed_columns(experiment)
                           : named_by_table(experiment.table, metrics_of(scores.store(), checkpoints));
  std::vector<ComparisonRecord> records;
  for (const auto& [baseline, method] : compared_arms(experiment)) {
    std::ranges::move(
        compare_methods(scores, experiment, checkpoints, baseline, method, split, metrics, {.resamples = 0}),
        std::back_inserter(records));
  }
  if (of_checkpoints) claim_checkpoints_only(records);
  Families families{.table = questions_of(records), .rows = compared_methods(experiment)};
  if (split == experiment.shown_split())
    families.leaderboard =
        leaderboard_questions(experiment.table, experiment.effective.baseline, families.table);
  return families;
}

void add_other_families(ScoreReader& scores, const Experiment& experiment,
                        const std::vector<EvaluatedCheckpoint>& checkpoints, const std::string& split,
                        std::span<const TableQuestion> asked, bool of_checkpoints, Families& families) {
  if (experiment.is_training() || split != experiment.shown_split()) return;
  const auto is_row = [&](const std::string& name) { return holds(experiment.methods, name); };
  for (const auto& question : asked) {
    if (holds(families.table, question)) continue;
    if (families.panel.empty() && !experiment.table.names(question.metric))
      families.panel = panel_questions(scores, experiment, split, of_checkpoints);
    if (!of_checkpoints && families.pairs.empty() && question.metric == experiment.table.selection.metric &&
        is_row(question.baseline) && is_row(question.method))
      families.pairs = letter_questions(scores, experiment, checkpoints, split);
  }
}

ComparisonReport compare_within(Store& store, const Experiment& experiment, const CompareQuestion& question) {
  auto report = begin_report(question);
  require_methods(store, question, experiment);
  const auto checkpoints = evaluated_checkpoints(store, experiment);
  const bool over_training = experiment.is_training();
  const auto known = over_training ? names_of(experiment.table.columns) : metrics_of(store, checkpoints);
  const auto named = over_training ? known : named_by_table(experiment.table, known);
  report.metrics = chosen_metrics(store, experiment, question, checkpoints, named, known);
  require_sensible_effect(question.effect, experiment.table, report.metrics);
  report.split = chosen_split(question, experiment, checkpoints);
  report.warnings = warnings_of(experiment, report.split);
  if (auto note = fuller_note(store, experiment); !note.empty()) report.warnings.push_back(std::move(note));
  if (over_training) report.unit = kSeedUnit;
  std::ranges::move(copies_notes(checkpoints, report.split), std::back_inserter(report.warnings));
  ScoreReader scores(store);
  if (!over_training)
    std::ranges::move(runs_alike_notes(scores, experiment, checkpoints, report.split),
                      std::back_inserter(report.warnings));
  report.has_images = std::ranges::any_of(
      question.rows(), [&](const std::string& row) { return is_of_images(experiment, row); });
  report.images_only = experiment.backbone == kImagesBackbone;
  report.table = experiment.table_id;
  report.experiment = experiment.id;
  report.more_runs = experiment.more_runs();
  report.sides = sides_of(store, experiment, question.rows());
  const bool of_checkpoints = question.claim == claim_name(Claim::kCheckpoints);
  report.families = table_families(scores, experiment, checkpoints, report.split, of_checkpoints);
  std::vector<ComparisonRecord> asked;
  std::vector<Better> better;
  std::vector<std::pair<std::string, std::string>> arms;
  for (const auto& method : question.methods) {
    arms.emplace_back(question.baseline, method);
    std::ranges::move(compare_methods(scores, experiment, checkpoints, question.baseline, method,
                                      report.split, report.metrics, report.bootstrap),
                      std::back_inserter(asked));
  }
  if (!over_training) {
    auto note = end_note(scores, experiment, checkpoints, arms, report.split, report.metrics);
    if (!note.empty()) report.warnings.push_back(std::move(note));
  }
  require_claim(store, experiment, question, asked);
  if (of_checkpoints) claim_checkpoints_only(asked);
  add_other_families(scores, experiment, checkpoints, report.split, questions_of(asked), of_checkpoints,
                     report.families);
  for (const auto& record : asked) better.push_back(experiment.better(record.metric));
  if (!over_training && report.split != "validation")
    report.validation = records_of(stored_comparisons(store, experiment, "validation"), "validation");
  add_comparisons(asked, better, report);
  heed_leaderboard(scores, experiment, "", report);
  return report;
}

}  // namespace harness

#include "harness/run/plan_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/event_log.h"
#include "datasets/kept_images.h"
#include "evaluators/external_scorer.h"
#include "harness/plan/selection.h"
#include "results/store/left_out.h"
#include "results/store/rows.h"

namespace harness {
namespace fs = std::filesystem;

bool is_done(Store& store, const std::string& job) {
  const auto status = store.job_state(job);
  return status && status->state == JobState::kDone;
}

namespace {

/// Nothing else is to be made than the scores.
bool can_be_scored(const Job& evaluation) {
  return fs::exists(evaluation.folder / kEventLog) && fs::is_directory(evaluation.folder / kImagesFolder) &&
         !is_left_out(evaluation.folder, kImagesFolder);
}

std::vector<std::string> evaluations_of(const Plan& plan, const RunPlan& run, const std::vector<int>& steps) {
  std::vector<std::string> ids;
  for (const auto step : steps) ids.push_back(plan.evaluation(run, step, plan.spec.selection.split).id);
  return ids;
}

void count_missing(const Plan& plan, const Job& evaluation, Store& store, MissingScores& missing) {
  constexpr auto kSql = R"sql(
    SELECT name, coalesce(reason, ''), count(*) FROM metrics
    WHERE evaluation_id = ?1 AND value IS NULL GROUP BY name, reason ORDER BY name, reason)sql";
  for (const auto& [metric, reason, count] :
       rows_of<std::string, std::string, std::int64_t>(store, kSql, evaluation.id)) {
    if (std::ranges::count(plan.metrics, metric) == 0 || !is_passing_reason(reason)) continue;
    const bool is_required = std::ranges::count(plan.spec.required_metrics, metric) > 0;
    if (missing.reason.empty() || (is_required && missing.required == 0)) missing.reason = reason;
    missing.metrics.insert(metric);
    missing.by_evaluation[evaluation.id] += count;
    missing.all += count;
    if (is_required) missing.required += count;
  }
}

}  // namespace

MissingScores missing_scores(const Plan& plan, Store& store) {
  MissingScores missing;
  if (plan.spec.is_training()) return missing;
  for (const auto& run : plan.runs) {
    std::set<int> steps(run.checkpoints.begin(), run.checkpoints.end());
    if (const auto only = run.only_checkpoint()) steps.insert(*only);
    for (const int step : steps) {
      for (const std::string split : {"validation", "test"}) {
        const auto evaluation = plan.evaluation(run, step, split);
        if (is_done(store, evaluation.id) && can_be_scored(evaluation))
          count_missing(plan, evaluation, store, missing);
      }
    }
  }
  return missing;
}

std::string reselection_text(const std::string& run, int step, int former) {
  return fmt::format(
      "{}: checkpoint {} is selected. While validation scores were missing, checkpoint {} was; its test, made "
      "then, stays in the database and counts in no table of the new selection",
      run, step, former);
}

std::optional<StoredSelection> recorded_selection(const Plan& plan, const RunPlan& run, Store& store) {
  const auto kind = run.only_checkpoint() ? SelectionKind::kFixed : SelectionKind::kTable;
  const auto candidates = evaluations_of(plan, run, run.checkpoints);
  return find_selection(store, run.job.id, kind, plan.spec.selection, candidates);
}

std::optional<StoredSelection> recorded_second_view(const Plan& plan, const RunPlan& run,
                                                    const std::vector<int>& steps, Store& store) {
  return find_selection(store, run.job.id, SelectionKind::kAtEqualEvaluations, plan.spec.selection,
                        evaluations_of(plan, run, steps));
}

std::optional<StepLists> second_view_steps(const Plan& plan, Store& store) {
  if (!plan.spec.has_second_view()) return std::nullopt;
  std::map<std::string, BudgetsOfRow> rows;
  for (const auto& run : plan.runs) {
    if (!run.traits().trains) continue;
    auto budgets = store.budgets(run.job.id);
    std::erase_if(budgets, [&](const Budget& budget) {
      return std::ranges::count(run.checkpoints, static_cast<int>(budget.checkpoint)) == 0;
    });
    if (budgets.size() < run.checkpoints.size()) return std::nullopt;
    rows[run.name][run.job.id] = std::move(budgets);
  }
  StepLists lists;
  for (const auto& [_, cut] : equal_cuts(rows, plan.baseline)) {
    if (!cut.is_complete()) continue;
    for (const auto& [run, steps] : cut.steps) lists[run].insert(steps);
  }
  return lists;
}

namespace {

/// The tests of the second view, among them those of checkpoints that were selected all the same; nothing
/// where a selection of it is missing.
std::optional<std::vector<std::string>> second_tests(const Plan& plan, Store& store) {
  std::vector<std::string> ids;
  for (const auto& [id, lists] : second_view_steps(plan, store).value_or(StepLists())) {
    const auto run = std::ranges::find(plan.runs, id, [](const RunPlan& r) { return r.job.id; });
    for (const auto& steps : lists) {
      const auto chosen = recorded_second_view(plan, *run, steps, store);
      if (!chosen) return std::nullopt;
      ids.push_back(plan.evaluation(*run, static_cast<int>(chosen->step), "test").id);
    }
  }
  return ids;
}

}  // namespace

std::optional<std::vector<std::string>> finished_evaluations(const Plan& plan, Store& store) {
  std::vector<std::string> ids;
  for (const auto& run : plan.runs) {
    if (!is_done(store, run.job.id)) return std::nullopt;
    if (plan.spec.is_training()) continue;
    const auto selection = recorded_selection(plan, run, store);
    if (!selection) return std::nullopt;
    for (const auto step : run.checkpoints) ids.push_back(plan.evaluation(run, step, "validation").id);
    if (plan.spec.tests()) ids.push_back(plan.evaluation(run, static_cast<int>(selection->step), "test").id);
  }
  const auto second = second_tests(plan, store);
  if (!second) return std::nullopt;
  for (const auto& id : *second) {
    if (std::ranges::count(ids, id) == 0) ids.push_back(id);
  }
  const bool all = std::ranges::all_of(ids, [&](const std::string& id) { return is_done(store, id); });
  return all ? std::optional(std::move(ids)) : std::nullopt;
}

}  // namespace harness

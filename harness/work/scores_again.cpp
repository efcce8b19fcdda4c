#include "harness/work/scores_again.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "harness/read/experiments.h"
#include "harness/run/record.h"
#include "harness/show/artifacts.h"
#include "harness/show/table_model.h"

namespace harness {
namespace {

/// Metrics without which the plan is worth nothing: the table's, and what training is rewarded by.
std::set<std::string> required_metrics(const Plan& plan) {
  std::set<std::string> required;
  if (!plan.spec.is_training())
    required.insert(plan.spec.required_metrics.begin(), plan.spec.required_metrics.end());
  for (const std::string_view sign : {kMaximizeTask, kMinimizeTask}) {
    if (!plan.reward_scorers.empty() && plan.spec.task.starts_with(sign))
      required.insert(plan.spec.task.substr(sign.size()));
  }
  return required;
}

Json used_scorers(const Plan& plan) {
  Json used = plan.reward_scorers;
  if (!plan.spec.is_training()) used.update(plan.scorers);
  return used;
}

bool has_begun(const Plan& plan, Store* known) {
  if (known == nullptr) return false;
  return std::ranges::any_of(plan.runs, [&](const RunPlan& run) {
    const auto only = run.only_checkpoint();
    return (only && known->evaluation(plan.evaluation(run, *only, "test").id)) ||
           std::ranges::any_of(run.checkpoints, [&](int step) {
             return known->evaluation(plan.evaluation(run, step, "validation").id).has_value();
           });
  });
}

void leave_out(Plan& plan, const std::string& metric, const std::string& reason) {
  if (std::erase(plan.metrics, metric) == 0) return;
  plan.metrics_not_run.emplace_back(metric, reason);
  for (const auto& scorer : plan.external_scorers) {
    const auto is_used = [&](const std::string& name) { return std::ranges::count(plan.metrics, name) > 0; };
    if (std::ranges::none_of(scorer.metric_names(), is_used)) plan.scorers.erase(scorer.name);
  }
}

/// What one of the missing scores, and how many, are called.
std::string text_of(const MissingScores& missing, std::int64_t count) {
  return fmt::format("{} of {}", counted(count, "score"),
                     join(std::vector(missing.metrics.begin(), missing.metrics.end()), ", "));
}

}  // namespace

void try_scorers(Plan& plan, Store* known, bool is_detached) {
  const auto without =
      try_external_scorers(plan.external_scorers, used_scorers(plan), required_metrics(plan));
  if (without.empty()) return;
  const auto& [metric, reason] = *without.begin();
  if (is_detached || has_begun(plan, known)) {
    throw Error(reason, metric,
                is_detached
                    ? "mend it, or take its folder away"
                    : "evaluations with this metric have begun: repeat the command once it answers, or take "
                      "its folder away");
  }
  for (const auto& [name, why] : without) leave_out(plan, name, why);
}

MissingScores scores_to_ask_again(const Plan& plan, Store& store, Progress& progress) {
  auto missing = missing_scores(plan, store);
  if (missing.all == 0) return missing;
  try {
    for (const auto& [metric, reason] : try_external_scorers(plan.external_scorers, used_scorers(plan), {})) {
      if (missing.metrics.contains(metric)) throw Error(reason);
    }
    progress.say(fmt::format("note: {} that {} missing: asked for again", text_of(missing, missing.all),
                             missing.all == 1 ? "is" : "are"));
    return missing;
  } catch (const Error& error) {
    progress.say(fmt::format("warning: {} stay missing: {}", text_of(missing, missing.all), error.what()));
    return {};
  }
}

void renew_experiments(Store& store, Progress& progress) {
  for (const auto& stored : store.reproductions()) {
    if (!is_outdated(store, stored.id)) continue;
    const Experiment experiment(stored);
    const auto sum_of_table = [&] { return recorded_files(store, experiment)["table.json"]; };
    const auto before = sum_of_table();
    record_comparisons(store, experiment);
    auto model = make_table_model(store, experiment, {}, true);
    write_artifacts(store, experiment, experiment_folder(store, experiment), model);
    if (sum_of_table() == before) continue;
    progress.say(fmt::format("note: experiment {} ({}) was recomputed: scores that were missing have arrived",
                             stored.id, stored.table_id));
  }
}

int missing_scores_status(const Plan& plan, Store& store, Progress& progress) {
  const auto missing = missing_scores(plan, store);
  if (missing.required == 0) return 0;
  progress.say(fmt::format(
      "warning: {} {} missing for a reason that may pass ({}). Repeat the command to ask for {} again",
      counted(missing.required, "required score"), missing.required == 1 ? "is" : "are", missing.reason,
      missing.required == 1 ? "it" : "them"));
  return static_cast<int>(Status::kFailed);
}

}  // namespace harness

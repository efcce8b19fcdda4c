#include "harness/show/recorded_runs.h"

#include <algorithm>
#include <set>

#include "results/store/journal_history.h"
#include "results/store/record_type.h"

namespace harness {
namespace {

void add_run(const Json& record, RecordedRuns& known) {
  auto run = from_journal<RunRecord>(record);
  if (run.arm.empty()) run.arm = run.method;
  auto [found, is_new] = known.runs.try_emplace(run.id);
  if (is_new) known.order.push_back(run.id);
  found->second.record = std::move(run);
}

void add_evaluation(const Json& record, RecordedRuns& known) {
  auto evaluation = from_journal<EvaluationRecord>(record);
  if (const auto run = known.runs.find(evaluation.run_id); run != known.runs.end())
    run->second.evaluations.push_back(std::move(evaluation));
}

}  // namespace

RecordedRuns recorded_runs(const std::vector<Json>& journal) {
  RecordedRuns known;
  std::vector<FinishedExperiment> experiments;
  std::set<std::string> evaluations;  // that experiments hold
  for (const auto& entry : history_of(journal).entries) {
    const auto type = record_type(entry.record);
    const auto at = entry.record.value("at", std::string());
    if (type == RecordType::kRun) add_run(entry.record, known);
    if (type == RecordType::kEvaluation) add_evaluation(entry.record, known);
    if (type == RecordType::kJobState) {
      const auto& data = entry.record.at("data");
      if (const auto& failure = data.at("failure"); failure.is_string())
        known.failures[data.at("id").get<std::string>()] = {at, failure.get<std::string>()};
    }
    if (type == RecordType::kExperiment) {
      const auto record = from_journal<ReproductionRecord>(entry.record);
      known.last = {.number = entry.number,
                    .table = record.table_id,
                    .backbone = record.backbone,
                    .scale = record.scale,
                    .digest = entry.experiment.value_or(""),
                    .finished = at,
                    .runs = {}};
      for (const auto& [id, row] : record.runs) known.last->runs.push_back(id);
      evaluations.insert(record.evaluations.begin(), record.evaluations.end());
      experiments.push_back(*known.last);
    }
    if (type == RecordType::kExperimentAgain) {
      const auto found =
          std::ranges::find(experiments, entry.experiment.value_or(""), &FinishedExperiment::digest);
      if (found == experiments.end()) continue;
      known.last = *found;
      known.last->finished = at;
    }
  }
  for (const auto& experiment : experiments) {
    for (const auto& id : experiment.runs) {
      const auto found = known.runs.find(id);
      if (found == known.runs.end()) continue;
      auto& run = found->second;
      run.experiments.push_back(experiment.number);
      const bool is_held = std::ranges::all_of(
          run.evaluations, [&](const EvaluationRecord& each) { return evaluations.contains(each.id); });
      if (run.record.table_id == experiment.table && run.record.scale == experiment.scale && is_held)
        run.is_finished = true;
    }
  }
  return known;
}

}  // namespace harness

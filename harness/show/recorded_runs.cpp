#include "harness/show/recorded_runs.h"

#include <algorithm>
#include <utility>

#include "results/store/journal_history.h"
#include "results/store/record_type.h"

namespace harness {
namespace {

class RunCollector {
 public:
  void add(const HistoryEntry& entry) {
    const auto& record = entry.record;
    const auto at = record.value("at", std::string());
    switch (record_type(record)) {
      case RecordType::kRun:
        return add_run(record, at);
      case RecordType::kEvaluation:
        return add_evaluation(record, at);
      case RecordType::kJobState:
        return add_failure(record, at);
      case RecordType::kExperiment:
        return add_experiment(entry, at);
      case RecordType::kExperimentAgain:
        return show_again(entry, at);
      case RecordType::kPromptSet:
      case RecordType::kCheckpoint:
      case RecordType::kSelection:
      case RecordType::kNotRun:
      case RecordType::kJob:
      case RecordType::kComparisons:
      case RecordType::kAlarms:
      case RecordType::kArtifact:
      case RecordType::kNumber:
      case RecordType::kLastNumber:
      case RecordType::kForget:
        return;
    }
  }

  RecordedRuns take() {
    for (const auto& experiment : known_.experiments) {
      for (const auto& id : experiment.runs) {
        if (const auto run = known_.runs.find(id); run != known_.runs.end()) finish(run->second, experiment);
      }
    }
    return std::move(known_);
  }

 private:
  void show_again(const HistoryEntry& entry, const std::string& at) {
    const auto found = by_digest_.find(entry.experiment.value_or(""));
    if (found == by_digest_.end()) return;
    known_.last = found->second;
    known_.experiments[found->second].finished = at;
  }

  void add_run(const Json& record, const std::string& at) {
    auto run = from_journal<RunRecord>(record);
    if (run.arm.empty()) run.arm = run.method;
    auto [found, is_new] = known_.runs.try_emplace(run.id);
    if (is_new) known_.order.push_back(run.id);
    found->second.recorded = at;
    found->second.record = std::move(run);
  }

  void add_evaluation(const Json& record, const std::string& at) {
    auto evaluation = from_journal<EvaluationRecord>(record);
    const auto run = known_.runs.find(evaluation.run_id);
    if (run == known_.runs.end()) return;
    run->second.recorded = at;
    run->second.evaluations.push_back(std::move(evaluation));
  }

  void add_failure(const Json& record, const std::string& at) {
    const auto& failure = record.at("data").at("failure");
    const auto job = record.at("data").at("id").get<std::string>();
    if (failure.is_string()) known_.failures[job] = {at, failure.get<std::string>()};
  }

  void add_experiment(const HistoryEntry& entry, const std::string& at) {
    const auto record = from_journal<ReproductionRecord>(entry.record);
    FinishedExperiment experiment{.number = entry.number,
                                  .table = record.table_id,
                                  .backbone = record.backbone,
                                  .scale = record.scale,
                                  .finished = at,
                                  .runs = {}};
    for (const auto& [id, row] : record.runs) experiment.runs.push_back(id);
    known_.evaluations_held.insert(record.evaluations.begin(), record.evaluations.end());
    known_.last = by_digest_[entry.experiment.value_or("")] = known_.experiments.size();
    known_.last_recorded = at;
    known_.experiments.push_back(std::move(experiment));
  }

  void finish(RecordedRun& run, const FinishedExperiment& experiment) const {
    run.experiments.push_back(experiment.number);
    const bool is_of_its_table =
        run.record.table_id == experiment.table && run.record.scale == experiment.scale;
    const auto is_held = [this](const EvaluationRecord& evaluation) {
      return known_.evaluations_held.contains(evaluation.id);
    };
    if (is_of_its_table && std::ranges::all_of(run.evaluations, is_held)) run.is_finished = true;
  }

  RecordedRuns known_;
  std::map<std::string, std::size_t> by_digest_;  ///< place of an experiment
};

}  // namespace

RecordedRuns recorded_runs(const std::vector<Json>& journal) {
  RunCollector collector;
  for (const auto& entry : history_of(journal).entries) collector.add(entry);
  return collector.take();
}

}  // namespace harness

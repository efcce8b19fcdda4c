#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ranges>

#include "results/store/columns.h"
#include "results/store/store_impl.h"

namespace harness {
namespace {

/// Takes records with their times.
using RecordSink = std::function<void(const Json& record, const std::string& at)>;

/// Reads a DB into records of a journal, in an order in which every record finds what it rests on.
class Export {
 public:
  /// `own`: the runs to read, with the experiments that rest on these alone; nullptr: all of them.
  Export(Store& store, Store::Impl& impl, RecordSink put, const std::set<std::string>* own)
      : store_(store), impl_(impl), sql_(impl.sql), put_(std::move(put)), own_(own) {}

  void prompt_sets() {
    for (const auto& set : store_.prompt_sets()) put_(journal_record(set), utc_now());
  }

  void runs() {
    auto runs = store_.runs();
    std::erase_if(runs, [&](const StoredRun& run) { return own_ != nullptr && !own_->contains(run.id); });
    for (const StoredRun& each : runs) run(each);
    for (const StoredRun& each : runs) measured_on(each);
  }

  void run(const StoredRun& run) {
    // The table that made it comes first: it is the one that the run's own columns name.
    RunRecord record = run;
    if (run.table_id.empty())
      put_(journal_record(record), run.created);  // imported, and asked for by none yet
    Query members(sql_["SELECT table_id, scale, arm FROM table_runs WHERE run_id = ?1 "
                       "ORDER BY table_id <> ?2, scale <> ?3"],
                  run.id, run.table_id, run.scale);
    while (members.step()) {
      record.table_id = members.text(0);
      record.scale = members.text(1);
      record.arm = members.text(2);
      put_(journal_record(record), run.created);
    }
  }

  void measured_on(const StoredRun& run) {
    base_checkpoints(run.id);
    job(run.id, run.finished.value_or(utc_now()));
    evaluations_of(run.id, false);
    for (const auto& selection : store_.selections(run.id))
      put_(journal_record(selection, selection.id), selection.created);
    // Once more, now that the selections which allowed them are there.
    evaluations_of(run.id, true);
  }

  void experiments() {
    const auto newest_first = store_.reproductions();
    for (const auto& experiment : newest_first | std::views::reverse) {
      const auto id = experiment.id;
      if (!is_own(id)) continue;
      put_(journal_record(experiment, id), experiment.finished);
      if (const auto alarms = store_.alarms(id); !alarms.empty()) put_(journal_record(id, alarms), utc_now());
      std::vector<ComparisonRecord> comparisons;
      for (const auto& row : store_.comparisons(id)) comparisons.push_back(comparison_of(row));
      if (!comparisons.empty()) put_(journal_record(id, comparisons), utc_now());
    }
  }

  /// Said again where the journal may hold another order.
  void order_of_experiments() {
    const auto newest_first = store_.reproductions();
    for (const auto& experiment : newest_first | std::views::reverse) {
      if (is_own(experiment.id)) put_(journal_shown_again(experiment.id), experiment.finished);
    }
  }

  /// Of an experiment that was removed, where it was the last one.
  void last_number() {
    Query last(
        sql_["SELECT value FROM counters WHERE name = 'reproductions' AND value > (SELECT "
             "ifnull(max(id), 0) FROM reproductions)"]);
    if (last.step()) put_(journal_last_number(last.integer(0)), utc_now());
  }

  void artifacts() {
    constexpr auto kSql = "SELECT * FROM artifacts ORDER BY id";
    for (const auto& artifact : read_records<StoredArtifact>(sql_, "artifacts", kSql)) {
      if (artifact.reproduction_id && !is_own(*artifact.reproduction_id)) continue;
      put_(journal_record(artifact), artifact.created);
    }
  }

 private:
  bool is_own(std::int64_t experiment) { return own_ == nullptr || impl_.is_of(experiment, *own_); }

  /// Of runs that no worker reports.
  void base_checkpoints(const std::string& run) {
    Query trained(sql_["SELECT 1 FROM jobs WHERE run_id = ?1 AND kind = 'train'"], run);
    if (trained.step()) return;
    for (const auto& checkpoint : store_.checkpoints(run)) put_(journal_record(checkpoint), utc_now());
  }

  void evaluations_of(const std::string& run, bool with_selection) {
    constexpr auto kMembers = "SELECT table_id, scale FROM table_evaluations WHERE evaluation_id = ?1";
    constexpr auto kCreated =
        "SELECT created FROM evaluations AS e JOIN jobs ON evaluation_id = e.id WHERE e.id = ?1";
    for (const StoredEvaluation& evaluation : store_.evaluations(run)) {
      EvaluationRecord record = evaluation;
      Query created(sql_[kCreated], evaluation.id);
      if (!created.step() || (with_selection && !record.selection_id)) continue;
      const auto at = created.text(0);
      if (!with_selection) record.selection_id.reset();
      if (record.table_id.empty()) put_(journal_record(record), at);
      Query members(sql_[kMembers], evaluation.id);
      while (members.step()) {
        record.table_id = members.text(0);
        record.scale = members.text(1);
        put_(journal_record(record), at);
      }
      for (const auto& [metric, reason] : evaluation.not_run.items())
        put_(journal_not_run(run, evaluation.id, metric, reason), at);
      job(evaluation.id, at);
    }
  }

  /// A job, with what its log does not say: the starting weights are done without one, and a worker may have
  /// died silently.
  void job(const std::string& id, const std::string& at) {
    constexpr auto kSql = "SELECT * FROM jobs WHERE id = ?1";
    for (const auto& job : read_records<JobRecord>(sql_, "jobs", kSql, id)) {
      put_(journal_record(job), at);
      const auto [state, log_offset, failure] = read_records<JobStatus>(sql_, "jobs", kSql, id).front();
      if (state == JobState::kFailed || (state == JobState::kDone && log_offset == 0))
        put_(journal_job_state(job.run_id, id, state, failure), at);
    }
  }

  Store& store_;
  Store::Impl& impl_;
  StatementCache& sql_;
  RecordSink put_;
  const std::set<std::string>* own_;
};

}  // namespace

bool Store::Impl::is_of(std::int64_t experiment, const std::set<std::string>& own) {
  Query run(sql["SELECT run_id FROM reproduction_runs WHERE reproduction_id = ?1"], experiment);
  while (run.step()) {
    if (!own.contains(run.text(0))) return false;
  }
  return true;
}

void Store::Impl::export_into(Store& store, Journal& file, const std::set<std::string>& own,
                              const std::set<std::string>& recorded) {
  for (const auto& run : recorded) {
    if (!store.run(run)) file.append(journal_forget(run), utc_now());
  }
  const auto put = [&](const Json& record, const std::string& at) { file.append(record, at); };
  Export all(store, *this, put, &own);
  all.prompt_sets();
  all.runs();
  all.experiments();
  if (!recorded.empty()) all.order_of_experiments();
  all.artifacts();
  all.last_number();
}

}  // namespace harness

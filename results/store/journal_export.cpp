#include "results/store/journal_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <ranges>

#include "results/store/columns.h"

namespace harness {
namespace {

/// Takes records with their times.
using RecordSink = std::function<void(const Json& record, const std::string& at)>;

/// Reads a DB into records of a journal, in an order in which every record finds what it rests on.
class Export {
 public:
  /// `own`: the runs to read, with the experiments that rest on these alone; nullptr: all of them.
  Export(Store& store, Store::Impl& impl, RecordSink put, const std::set<std::string>* own)
      : store_(store), sql_(impl.sql), put_(std::move(put)), own_(own) {}

  void prompt_sets();
  void runs();
  void run(const StoredRun& run);
  void measured_on(const std::string& run);
  void jobs_of(const std::string& run);
  void selections_of(const std::string& run);
  void evaluations_of(const std::string& run, bool with_selection);
  void experiments(const std::optional<std::int64_t>& only = {});
  void order_of_experiments();
  void last_number();
  void artifacts(const std::optional<std::int64_t>& only = {});

 private:
  bool is_own(std::int64_t experiment);
  void base_checkpoints(const std::string& run);

  Store& store_;
  StatementCache& sql_;
  RecordSink put_;
  const std::set<std::string>* own_;
};

bool Export::is_own(std::int64_t experiment) {
  return own_ == nullptr || is_of(sql_, experiment, *own_);
}

void Export::prompt_sets() {
  for (const auto& set : store_.prompt_sets()) put_(journal_record(set), utc_now());
}

void Export::runs() {
  auto runs = store_.runs();
  std::erase_if(runs, [&](const StoredRun& run) { return own_ != nullptr && !own_->contains(run.id); });
  for (const StoredRun& each : runs) run(each);
  for (const StoredRun& each : runs) measured_on(each.id);
}

void Export::run(const StoredRun& run) {
  // The table that made it comes first: it is the one that the run's own columns name.
  RunRecord record = run;
  if (run.table_id.empty()) put_(journal_record(record), run.created);  // adopted, and asked for by none yet
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

void Export::measured_on(const std::string& run) {
  base_checkpoints(run);
  jobs_of(run);
  evaluations_of(run, false);
  selections_of(run);
  // Once more, now that the selections which allowed them are there.
  evaluations_of(run, true);
}

/// Of runs that no worker reports.
void Export::base_checkpoints(const std::string& run) {
  Query trained(sql_["SELECT 1 FROM jobs WHERE run_id = ?1 AND kind = 'train'"], run);
  if (trained.step()) return;
  for (const auto& checkpoint : store_.checkpoints(run)) put_(journal_record(checkpoint), utc_now());
}

void Export::jobs_of(const std::string& run) {
  constexpr auto kSql = R"sql(
    SELECT jobs.id, kind, evaluation_id, jobs.folder, jobs.state, failure,
           (SELECT finished FROM runs WHERE runs.id = run_id), log_offset
    FROM jobs WHERE run_id = ?1 AND evaluation_id IS NULL ORDER BY jobs.rowid)sql";
  Query jobs(sql_[kSql], run);
  while (jobs.step()) {
    const JobRecord job{.id = jobs.text(0),
                        .kind = jobs.text(1),
                        .run_id = run,
                        .evaluation_id = jobs.optional_text(2),
                        .folder = jobs.text(3)};
    const auto at = jobs.optional_text(6).value_or(utc_now());
    put_(journal_record(job), at);
    const auto state = job_state_from_name(jobs.text(4));
    // What logs do not say: the starting weights are done without one, and a worker may have died silently.
    if (state == JobState::kFailed || (state == JobState::kDone && jobs.integer(7) == 0))
      put_(journal_job_state(run, job.id, state, jobs.optional_text(5)), at);
  }
}

void Export::evaluations_of(const std::string& run, bool with_selection) {
  constexpr auto kMembers = "SELECT table_id, scale FROM table_evaluations WHERE evaluation_id = ?1";
  constexpr auto kCreated =
      "SELECT created, jobs.folder, jobs.state, failure FROM evaluations JOIN jobs ON evaluation_id = "
      "evaluations.id WHERE evaluations.id = ?1";
  for (const StoredEvaluation& evaluation : store_.evaluations(run)) {
    EvaluationRecord record = evaluation;
    Query rest(sql_[kCreated], evaluation.id);
    if (!rest.step()) continue;
    const auto at = rest.text(0);
    if (with_selection && !record.selection_id) continue;
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
    put_(journal_record(JobRecord{.id = evaluation.id,
                                  .kind = "evaluate",
                                  .run_id = run,
                                  .evaluation_id = evaluation.id,
                                  .folder = rest.text(1)}),
         at);
    if (job_state_from_name(rest.text(2)) == JobState::kFailed)
      put_(journal_job_state(run, evaluation.id, JobState::kFailed, rest.optional_text(3)), at);
  }
}

void Export::selections_of(const std::string& run) {
  for (const auto& selection : store_.selections(run))
    put_(journal_record(selection, selection.id), selection.created);
}

void Export::experiments(const std::optional<std::int64_t>& only) {
  const auto newest_first = store_.reproductions();
  for (const auto& experiment : newest_first | std::views::reverse) {
    const auto id = experiment.id;
    if ((only && id != *only) || !is_own(id)) continue;
    put_(journal_record(experiment, id), experiment.finished);
    if (const auto alarms = store_.alarms(id); !alarms.empty()) put_(journal_record(id, alarms), utc_now());
    std::vector<ComparisonRecord> comparisons;
    for (const auto& row : store_.comparisons(id)) comparisons.push_back(comparison_of(row));
    if (!comparisons.empty()) put_(journal_record(id, comparisons), utc_now());
  }
}

/// Said again where the journal may hold another order.
void Export::order_of_experiments() {
  const auto newest_first = store_.reproductions();
  for (const auto& experiment : newest_first | std::views::reverse) {
    if (is_own(experiment.id)) put_(journal_shown_again(experiment.id), experiment.finished);
  }
}

/// Of an experiment that was removed, where it was the last one.
void Export::last_number() {
  Query last(
      sql_["SELECT value FROM counters WHERE name = 'reproductions' AND value > (SELECT "
           "ifnull(max(id), 0) FROM reproductions)"]);
  if (last.step()) put_(journal_last_number(last.integer(0)), utc_now());
}

void Export::artifacts(const std::optional<std::int64_t>& only) {
  constexpr auto kSql = "SELECT * FROM artifacts WHERE ?1 IS NULL OR reproduction_id = ?1 ORDER BY id";
  for (const auto& artifact : read_records<StoredArtifact>(sql_, "artifacts", kSql, only)) {
    if (artifact.reproduction_id && !is_own(*artifact.reproduction_id)) continue;
    put_(journal_record(artifact), artifact.created);
  }
}

}  // namespace

bool is_of(StatementCache& sql, std::int64_t experiment, const std::set<std::string>& own) {
  Query run(sql["SELECT run_id FROM reproduction_runs WHERE reproduction_id = ?1"], experiment);
  while (run.step()) {
    if (!own.contains(run.text(0))) return false;
  }
  return true;
}

namespace {

RecordSink into(Journal& journal) {
  return [&journal](const Json& record, const std::string& at) { journal.append(record, at); };
}

}  // namespace

void export_whole(Store& store, Store::Impl& impl, Journal& journal, const std::set<std::string>& own) {
  Export whole(store, impl, into(journal), &own);
  whole.prompt_sets();
  whole.runs();
  whole.experiments();
  whole.artifacts();
  whole.last_number();
}

void export_missing(Store& store, Store::Impl& impl, Journal& journal, const std::set<std::string>& own,
                    const std::set<std::string>& recorded) {
  for (const auto& run : recorded) {
    if (!store.run(run)) journal.append(journal_forget(run), utc_now());
  }
  Export missing(store, impl, into(journal), &own);
  missing.prompt_sets();
  missing.runs();
  missing.experiments();
  missing.order_of_experiments();
  missing.artifacts();
  missing.last_number();
}

namespace {

/// A sink that keeps records with their times, as a journal's file has them.
RecordSink into(std::vector<Json>& records) {
  return [&records, now = std::chrono::system_clock::now()](const Json& record, const std::string& at) {
    records.push_back(record);
    records.back()["at"] = at;
    // What is recorded here of a job counts over its log.
    records.back()["time"] = std::chrono::duration<double>(now.time_since_epoch()).count();
  };
}

}  // namespace

std::vector<Json> Store::records_of_run(const std::string& run_id) {
  std::vector<Json> records;
  const auto stored = run(run_id);
  if (!stored) return records;
  impl_->guarded([&] {
    Export of_run(*this, *impl_, into(records), nullptr);
    of_run.run(*stored);
    of_run.measured_on(run_id);
  });
  return records;
}

std::vector<Json> Store::records_of_experiment(std::int64_t reproduction_id) {
  std::vector<Json> records;
  impl_->guarded([&] {
    Export of_experiment(*this, *impl_, into(records), nullptr);
    of_experiment.experiments(reproduction_id);
    of_experiment.artifacts(reproduction_id);
  });
  return records;
}

}  // namespace harness

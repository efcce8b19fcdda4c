#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "datasets/prompt_set.h"
#include "results/schema/database_file.h"
#include "results/store/journal.h"
#include "results/store/records.h"

namespace harness {

/// The results DB of a workspace. Workers never touch it: what they did comes in through their event logs
/// (ingest).
///
/// Every record_* function and every batch of ingest is one transaction, so a process that is killed leaves
/// whole rows. Recording the same thing again changes nothing. Errors: what the DB refuses (a missing parent
/// row, a full disk, a lock held for more than 10 s, a damaged file) is an Error that names the file.
class Store {
 public:
  /// See open_database for what is refused.
  Store(const std::filesystem::path& path, OpenMode mode);
  Store(Store&&) noexcept;
  ~Store();

  const std::filesystem::path& path() const;

  /// What the user should be told about how the DB was opened; empty on a local disk.
  const std::string& notice() const;

  /// From now on what is recorded here also goes into `file`, so that the DB can be rebuilt (replay). First
  /// the DB gets what only the journal holds, and the journal what it has lost from its copy. Returns what
  /// the user should be told of it. Throws Error (status 2) if the DB is not of this journal, and as
  /// EventLogWriter does.
  std::vector<std::string> keep_journal(const std::filesystem::path& file);

  /// The connection, for the SELECTs of tables, figures and grids.
  SQLite::Database& database();

  /// A set of the same checksum is recorded once.
  void record_prompt_set(const PromptSet& set);

  /// Inserts the run as planned, or makes a known one a member of this table too, its state as it is.
  void record_run(const RunRecord& run);

  /// For the base model, which no worker reports; a trained run's checkpoints come with its event log.
  void record_checkpoint(const CheckpointRecord& checkpoint);

  /// Inserts the evaluation as planned, or makes a known one a member of this table too. A later call may add
  /// a selection; `peek` once set stays. Throws Error if the checkpoint or the prompt set is unknown.
  void record_evaluation(const EvaluationRecord& evaluation);

  /// Its id. Replaces one of the same candidates if these were scored again; else another choice is an Error.
  std::int64_t record_selection(const SelectionRecord& selection);

  void record_not_run(const std::string& evaluation_id, const std::string& metric, const std::string& reason);

  /// Its id. An equal one (all fields but wall_seconds) stays as it is, and is then the last.
  std::int64_t record_reproduction(const ReproductionRecord& reproduction);

  /// Replace those of that reproduction.
  void record_comparisons(std::int64_t reproduction_id, std::span<const ComparisonRow> comparisons);
  void record_alarms(std::int64_t reproduction_id, std::span<const AlarmRecord> alarms);
  void record_artifact(const ArtifactRecord& artifact);

  /// Nothing where there is one of this digest.
  void record_plan(const PlanRecord& plan);

  /// Inserts the job as planned if it is new.
  void record_job(const JobRecord& job);

  /// Sets the state of a job, and with it that of its run or evaluation. `failure`: what went wrong, for
  /// State::kFailed.
  void mark_job(const std::string& id, JobState state, const std::optional<std::string>& failure = {});

  /// Brings in what job.folder/events.log holds beyond the committed offset, in batches with the new offset.
  /// A torn last line waits; an update that is recorded again replaces the earlier one. Throws Error, and the
  /// batch leaves no trace, if the log is another job's, cut, damaged or not as EVENTS.md has it, or a
  /// finished evaluation lacks an image or a value.
  IngestReport ingest(const JobRecord& job, const LogRange& range = {});

  /// Deletes a run with everything that was measured on it, and every reproduction that uses it
  /// (`--fresh`). Prompt sets and plans stay, and that it had been tested. False if there is no such run.
  bool forget(const std::string& run_id);

  /// Runs `body`, whose records are one transaction: if it throws, neither the DB nor the journal holds any
  /// of them.
  void atomically(const std::function<void()>& body);

  /// Fills this DB, which lacks it, from a workspace's journal and the event logs of its run folders. A run
  /// whose logs are gone or damaged is left out with what depends on it, and named in the report.
  ReplayReport replay(const std::filesystem::path& workspace, const JournalText& journal,
                      const ReplayRange& range = {});

  /// How this DB and the journal of a workspace fit. Only reads.
  JournalStanding standing(const std::filesystem::path& workspace, const JournalText& journal);

  /// Runs and experiments that a journal does not hold: it is not the whole record then.
  std::vector<std::string> unknown_to(const JournalText& journal);

  /// Carries records of a journal out, reading the event logs in `workspace`; they go into the journal again.
  /// All or nothing: throws Error (Status::kFailed) naming what the logs do not complete. `then`: runs before
  /// all of it is committed, which it prevents by throwing.
  void take_back(const std::vector<Json>& records, const std::filesystem::path& workspace,
                 const std::function<void()>& then = {});

  /// The number under which the reproduction of such a record is there.
  std::optional<std::int64_t> number_of_experiment(const Json& record);

  std::optional<JobStatus> job_state(const std::string& id);
  std::vector<PromptSet> prompt_sets();  ///< in order of recording
  std::vector<StoredRun> runs();         ///< in order of creation
  std::optional<StoredRun> run(const std::string& id);
  std::vector<CheckpointRecord> checkpoints(const std::string& run_id);  ///< by step
  std::vector<Budget> budgets(const std::string& run_id);                ///< by checkpoint
  std::optional<StoredEvaluation> evaluation(const std::string& id);
  std::vector<StoredEvaluation> evaluations(const std::string& run_id);  ///< by step and split

  std::vector<StoredPlan> plans();  ///< in order of recording
  /// Runs whose scores on a split are known, or were before they were removed; of "train" those with
  /// statistics.
  std::set<std::string> tested_runs(const std::string& split);

  /// Whether scores of an evaluation were missing when it was complete, and were asked for again since.
  bool was_scored_again(const std::string& evaluation);

  std::optional<StoredSelection> selection(std::int64_t id);
  std::vector<StoredSelection> selections(const std::string& run_id);  ///< in order of recording

  /// By position and sample; empty if the metric was not run.
  std::vector<MetricValue> metric_values(const std::string& evaluation_id, const std::string& metric);

  /// By position, sample and rank.
  std::vector<StoredDetection> detections(const std::string& evaluation_id);

  /// In order of recording.
  std::vector<ComparisonRow> comparisons(std::int64_t reproduction_id);
  std::vector<AlarmRecord> alarms(std::int64_t reproduction_id);

  /// Of a table, or of any: the one recorded or asked for last, whatever the clock was.
  std::optional<StoredReproduction> last_reproduction(const std::optional<std::string>& table_id = {});
  std::optional<StoredReproduction> reproduction(std::int64_t id);
  std::vector<StoredReproduction> reproductions();  ///< the last one first

  /// Throws Error (Status::kFailed) unless the DB holds every image and every value of these finished
  /// evaluations.
  void require_complete(std::span<const std::string> evaluations);

  /// One line a problem: SQLite's integrity and foreign keys, finished evaluations that lack images.
  std::vector<std::string> check();

  struct Impl;  ///< store_impl.h

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace harness

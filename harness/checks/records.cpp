#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "core/event_log.h"
#include "core/files.h"
#include "core/text.h"
#include "harness/checks/check.h"
#include "harness/runs/scratch_database.h"
#include "results/schema/schema.h"
#include "results/store/database_diff.h"
#include "results/store/sql.h"

// The event logs are the record: what the DB holds must be what they say, no more and no less.

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRestore =
    "the DB is damaged, or another program changed it: `harness db rebuild` rebuilds it from the logs";

using SchemaObjects = std::map<std::string, std::string>;  // "table runs" -> its SQL

SchemaObjects schema_objects(SQLite::Database& db) {
  SQLite::Statement statement(db,
                              "SELECT type || ' ' || name, sql FROM sqlite_master WHERE sql IS NOT NULL AND "
                              "name NOT LIKE 'sqlite_%'");
  Query query(statement);
  SchemaObjects objects;
  while (query.step()) objects[query.text(0)] = query.text(1);
  return objects;
}

/// Tables, constraints and views as this version makes them. Somebody's further views and indexes change
/// nothing; a trigger may.
void compare_schema(SQLite::Database& db, Findings& findings) {
  SQLite::Database fresh(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  migrate(fresh, current_schema());
  const auto expected = schema_objects(fresh), found = schema_objects(db);
  for (const auto& [name, sql] : expected) {
    const auto ours = found.find(name);
    if (ours == found.end()) {
      findings.add("{} is gone from the schema", name);
    } else if (ours->second != sql) {
      findings.add("{} is not defined as harness defines it", name);
    }
  }
  for (const auto& [name, sql] : found) {
    if (name.starts_with("trigger ")) findings.add(name + " is not one of harness");
  }
}

void check_job_file(const auto& job, Findings& findings) {
  const auto file = job.place / kJobFile;
  if (!fs::exists(file)) return findings.add("{}: {} is missing", job.name, file.string());
  const Json written = read_json(file);
  if (const auto id = Fields(written, file.string()).optional<std::string>("id", "?"); id != job.id)
    findings.add("{}: {} belongs to job {}, not to {}", job.name, file.string(), id, job.id);
  if (written.value("identity", Json()) != job.config) {
    const auto changes = Json::diff(job.config, written.value("identity", Json::object()));
    findings.add("{}: {} and the DB disagree: {}", job.name, file.string(),
                 changes.empty() ? "?" : changes.front().value("path", "?"));
  }
}

/// `may_start_again`: an evaluation that lacked too many scores is started once more, and completed again.
void check_log(const CheckedExperiment& experiment, const auto& job, std::uint64_t offset,
               bool may_start_again, Findings& findings) {
  const auto& log = experiment.log(job.place);
  const auto where = fmt::format("{}: {}", job.name, (job.place / kEventLog).string());
  if (!log.problem.empty()) return findings.add("{}: {}", where, log.problem);
  if (log.size != offset) findings.add("{}: {} bytes, of which the DB has read {}", where, log.size, offset);
  std::size_t completed = 0;
  bool is_at_its_end = false, went_on = false;
  for (const auto& event : log.events) {
    const auto type = event.value("type", "");
    went_on = went_on || (is_at_its_end && !(may_start_again && type == "job_started"));
    is_at_its_end = type == "job_completed";
    if (is_at_its_end) ++completed;
    if (type == "job_started" && event.value("id", "") != job.id)
      findings.add("{}: is the log of job {}", where, event.value("id", "?"));
  }
  if (!is_at_its_end || went_on)
    findings.add("{}: was completed {} times, or went on after it", where, completed);
}

/// A run's job or an evaluation's.
void check_job(const CheckedExperiment& experiment, const auto& job, bool has_log, bool may_start_again,
               Findings& findings) {
  const auto state = experiment.store.job_state(job.id);
  if (!state) return findings.add("{}: there is no job {}", job.name, job.id);
  if (state->state != JobState::kDone)
    findings.add("{}: job {} is {}", job.name, job.id, job_state_name(state->state));
  check_job_file(job, findings);
  if (has_log) check_log(experiment, job, state->log_offset, may_start_again, findings);
}

// What event logs make of the DB, and what a row is called.
constexpr const char* kEventName =
    "'event ' || type || ' of ' || printf('%.6f', time) || iif(nth > 1, ', again (' || nth || ')', '')";
constexpr RowsOfJob kOfTraining[] = {
    {"checkpoints", "run_id", "'checkpoint ' || step"},
    {"train_stats", "run_id",
     "'update ' || update_index || ', ' || name || ifnull(' at step ' || timestep, '')"},
    {"events", "job_id", kEventName}};
constexpr RowsOfJob kOfEvaluation[] = {
    {"samples", "evaluation_id", "'prompt ' || position || ', sample ' || sample"},
    {"metrics", "evaluation_id", "'prompt ' || position || ', sample ' || sample || ', ' || name"},
    {"detections", "evaluation_id",
     "'prompt ' || position || ', sample ' || sample || ', detection ' || rank"},
    {"events", "job_id", kEventName}};

/// What the logs of an experiment say, as a DB of its own.
class LoggedDatabase {
 public:
  LoggedDatabase(const CheckedExperiment& experiment, Findings& findings);
  fs::path path() const { return folder_.path() / kDatabaseName; }
  /// False: the job's log could not be read, which is a finding.
  bool has(const std::string& job) const { return read_.contains(job); }
  std::optional<std::string> build_of(const std::string& run) const { return builds_.at(run); }

 private:
  void read(const JobRecord& job, const std::string& name, Findings& findings) {
    try {
      made_->ingest(job);
      read_.insert(job.id);
    } catch (const Error& error) {
      if (error.where() == path().string()) throw;  // a full disk is no fault of the log
      findings.add("{}: {}", name, error.what());
    }
  }

  ScratchFolder folder_{"harness-check-"};
  std::optional<Store> made_;  ///< while it is filled: on a network file system its lock keeps others out
  std::map<std::string, std::optional<std::string>> builds_;
  std::set<std::string> read_;
};

LoggedDatabase::LoggedDatabase(const CheckedExperiment& experiment, Findings& findings)
    : made_(std::in_place, path(), OpenMode::kReadWrite) {
  made_->atomically([&] {
    for (const auto& set : experiment.store.prompt_sets()) made_->record_prompt_set(set);
    for (const auto& run : experiment.runs) {
      made_->record_run(run);
      if (!run.takes_a_worker()) {
        for (const auto& checkpoint : experiment.store.checkpoints(run.id))
          made_->record_checkpoint(checkpoint);
      } else {
        read({.id = run.id, .kind = run.config.at("kind"), .run_id = run.id, .folder = run.place}, run.name,
             findings);
      }
    }
    for (const auto& e : experiment.evaluations) {
      EvaluationRecord evaluation = e;
      evaluation.selection_id.reset();
      try {
        made_->record_evaluation(evaluation);
      } catch (const Error& error) {
        findings.add("{}: {}", e.name, error.problem());
        continue;
      }
      read({.id = e.id,
            .kind = e.config.at("kind"),
            .run_id = e.run_id,
            .evaluation_id = e.id,
            .folder = e.place},
           e.name, findings);
    }
  });
  for (const auto& run : made_->runs()) builds_[run.id] = run.build;
  made_.reset();
}

/// The values in which the row differs, "value 0.5, reason NULL", on one side.
std::string differing_values(const RowValues& of, const RowValues& other) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (i >= other.size() || of[i] != other[i]) parts.push_back(of[i].first + " " + of[i].second);
  }
  return join(parts, ", ");
}

std::string text_of(const DifferentRow& row) {
  if (row.here.empty()) return fmt::format("{}: in the log, not in the DB", row.name);
  if (row.other.empty()) return fmt::format("{}: in the DB, not in the log", row.name);
  return fmt::format("{}: {} in the log, {} in the DB", row.name, differing_values(row.other, row.here),
                     differing_values(row.here, row.other));
}

}  // namespace

Findings check_database(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.problems = experiment.store.check(), .hint = kRestore};
  for (const auto& row : experiment.missing)
    findings.add("the experiment rests on {}, which the DB lacks", row);
  compare_schema(experiment.store.database(), findings);
  findings.summary = fmt::format("sound, schema version {}", schema_version(experiment.store.database()));
  return findings;
}

Findings check_jobs(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint = "restore the folder from a copy, or repeat the reproduce with --fresh"};
  for (const auto& run : experiment.runs) check_job(experiment, run, run.takes_a_worker(), false, findings);
  for (const auto& e : experiment.evaluations) check_job(experiment, e, true, true, findings);
  const auto jobs = std::ranges::count_if(experiment.runs, &CheckedRun::takes_a_worker) +
                    std::ssize(experiment.evaluations);
  findings.summary = fmt::format("{} jobs are done, their job files and event logs intact", jobs);
  return findings;
}

Findings check_event_logs(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint = kRestore};
  LoggedDatabase logged(experiment, findings);
  RowDiff diff(experiment.store, logged.path());
  std::int64_t rows = 0;
  const auto compare = [&](std::span<const RowsOfJob> of_job, const auto& job) {
    if (!logged.has(job.id)) return;
    for (const auto& of : of_job) {
      for (const auto& row : diff.rows(of, job.id)) findings.add("{}: {}", job.name, text_of(row));
      rows += diff.count(of, job.id);
    }
  };
  for (const auto& run : experiment.runs) {
    if (!run.takes_a_worker()) continue;
    compare(kOfTraining, run);
    const auto stored = run.build.value_or("NULL"), build = logged.build_of(run.id).value_or("NULL");
    if (stored != build) findings.add("{}: build: {} in the log, {} in the DB", run.name, build, stored);
    ++rows;
  }
  for (const auto& e : experiment.evaluations) compare(kOfEvaluation, e);
  findings.summary = fmt::format("{} rows match the event logs", rows);
  return findings;
}

}  // namespace harness

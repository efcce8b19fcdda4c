#include <fmt/format.h>

#include <algorithm>

#include "core/sha256.h"
#include "results/schema/schema_sql.h"
#include "results/store/columns.h"
#include "results/store/record_type.h"
#include "results/store/store_impl.h"

// What each record of the journal makes of the DB. Nothing else writes what a journal holds, so that a replay
// gives the rows that were there. All of this inside a transaction of the caller.

namespace harness {
namespace {

template <class T>
std::vector<T> sorted(std::vector<T> items) {
  std::ranges::sort(items);
  return items;
}

void put_prompt_set(Store::Impl& store, const Json& record, const std::string&) {
  static const auto kSet = insert_sql<PromptSet>("prompt_sets") + " ON CONFLICT (sha256) DO NOTHING";
  static const auto kPrompt = insert_sql<Prompt>("prompts", {{"prompt_set_id", ":prompt_set_id"}});
  const auto set = from_journal<PromptSet>(record);
  if (put_record(store.sql, kSet, set) == 0) return;
  const auto id = store.opened.db->getLastInsertRowid();
  for (const auto& prompt : set.prompts)
    put_record(store.sql, kPrompt, prompt, std::pair("prompt_set_id", id));
}

void put_run(Store::Impl& store, const Json& record, const std::string& at) {
  static const auto kRun =
      insert_sql<RunRecord>("runs", {{"arm", ""}, {"state", "'planned'"}, {"created", ":created"}}) + R"sql(
    ON CONFLICT (id) DO UPDATE SET
      folder = excluded.folder, requested_settings = excluded.requested_settings,
      table_id = CASE WHEN table_id = '' THEN excluded.table_id ELSE table_id END,
      scale = CASE WHEN table_id = '' THEN excluded.scale ELSE scale END)sql";
  constexpr auto kMember =
      "INSERT OR IGNORE INTO table_runs (table_id, run_id, scale, arm) VALUES (:table_id, :id, :scale, :arm)";
  const auto run = from_journal<RunRecord>(record);
  put_record(store.sql, kRun, run, std::pair("created", at));
  if (!run.table_id.empty()) put_record(store.sql, kMember, run);
}

void put_checkpoint(Store::Impl& store, const Json& record, const std::string&) {
  store.put_checkpoint(from_journal<CheckpointRecord>(record));
}

std::int64_t prompt_set_id(Store::Impl& store, const std::string& sha256) {
  constexpr auto kSql = "SELECT id FROM prompt_sets WHERE sha256 = ?1";
  if (const auto id = store.first<std::optional<std::int64_t>>(kSql, sha256)) return *id;
  throw Error(fmt::format("the prompt set with SHA-256 {} is not recorded", sha256), store.path.string(), {},
              Status::kFailed);
}

void put_evaluation(Store::Impl& store, const Json& record, const std::string& at) {
  static const auto kEvaluation =
      insert_sql<EvaluationRecord>("evaluations", {{"table_id", ""},
                                                   {"scale", ""},
                                                   {"run_id", ""},
                                                   {"step", ""},
                                                   {"prompt_set_sha256", ""},
                                                   {"checkpoint_id", ":checkpoint_id"},
                                                   {"prompt_set_id", ":prompt_set_id"},
                                                   {"state", "'planned'"},
                                                   {"created", ":created"}}) +
      R"sql(
    ON CONFLICT (id) DO UPDATE SET
      folder = excluded.folder, selection_id = ifnull(selection_id, excluded.selection_id),
      peek = max(peek, excluded.peek))sql";
  constexpr auto kMember =
      "INSERT OR IGNORE INTO table_evaluations (table_id, evaluation_id, scale) VALUES (:table_id, :id, "
      ":scale)";
  const auto evaluation = from_journal<EvaluationRecord>(record);
  const auto checkpoint = store.checkpoint_id(evaluation.run_id, evaluation.step);
  const auto prompts = prompt_set_id(store, evaluation.prompt_set_sha256);
  put_record(store.sql, kEvaluation, evaluation, std::pair("checkpoint_id", checkpoint),
             std::pair("prompt_set_id", prompts), std::pair("created", at));
  if (!evaluation.table_id.empty()) put_record(store.sql, kMember, evaluation);
}

void put_selection(Store::Impl& store, const Json& record, const std::string& at) {
  static const auto kSelection =
      insert_sql<SelectionRecord>(
          "selections",
          {{"step", ""}, {"id", ":id"}, {"checkpoint_id", ":checkpoint_id"}, {"created", ":created"}}) +
      R"sql(
    ON CONFLICT (id) DO UPDATE SET
      checkpoint_id = excluded.checkpoint_id, value = excluded.value, evaluation_id = excluded.evaluation_id,
      created = excluded.created)sql";
  const auto selection = from_journal<SelectionRecord>(record);
  const auto checkpoint = store.checkpoint_id(selection.run_id, selection.step);
  put_record(store.sql, kSelection, selection, std::pair("id", number_of(record)),
             std::pair("checkpoint_id", checkpoint), std::pair("created", at));
}

void put_not_run(Store::Impl& store, const Json& record, const std::string&) {
  const Json& data = record.at("data");
  store.put_not_run(data.at("evaluation"), data.at("metric"), data.at("reason"));
}

void put_job(Store::Impl& store, const Json& record, const std::string&) {
  static const auto kJob = insert_sql<JobRecord>("jobs", {{"state", "'planned'"}}) +
                           " ON CONFLICT (id) DO UPDATE SET folder = excluded.folder";
  put_record(store.sql, kJob, from_journal<JobRecord>(record));
}

void put_job_state(Store::Impl& store, const Json& record, const std::string& at) {
  const Json& data = record.at("data");
  const Json& failure = data.at("failure");
  store.put_job_state(data.at("id"), job_state_from_name(data.at("state").get<std::string>()),
                      failure.is_null() ? std::nullopt : std::optional(failure.get<std::string>()), at);
}

/// Makes an experiment the last one.
void show_again(StatementCache& sql, std::int64_t id, const std::string& at) {
  sql.run("UPDATE reproductions SET finished = ?2 WHERE id = ?1", id, at);
  sql.run(R"sql(
    UPDATE reproductions SET recency = (SELECT max(recency) + 1 FROM reproductions)
    WHERE id = ?1 AND recency < (SELECT max(recency) FROM reproductions))sql",
          id);
}

void put_experiment_again(Store::Impl& store, const Json& record, const std::string& at) {
  show_again(store.sql, number_of(record), at);
}

void put_experiment(Store::Impl& store, const Json& record, const std::string& at) {
  static const auto kExperiment = insert_sql<ReproductionRecord>(
      "reproductions", {{"evaluations", ""},
                        {"runs", ""},
                        {"id", ":id"},
                        {"digest", ":digest"},
                        {"finished", ":finished"},
                        {"recency", "(SELECT ifnull(max(recency), 0) + 1 FROM reproductions)"}});
  auto& sql = store.sql;
  const auto experiment = from_journal<ReproductionRecord>(record);
  const auto digest = reproduction_digest(experiment);
  if (const auto known = store.reproduction_id(digest)) {
    show_again(sql, *known, at);
    sql.run("UPDATE reproductions SET wall_seconds = ?2 WHERE id = ?1", *known, experiment.wall_seconds);
    return;
  }
  const auto id = number_of(record);
  put_record(sql, kExperiment, experiment, std::pair("id", id), std::pair("digest", digest),
             std::pair("finished", at));
  sql.run("UPDATE counters SET value = max(value, ?1) WHERE name = 'reproductions'", id);
  for (const auto& evaluation : sorted(experiment.evaluations)) {
    sql.run("INSERT OR IGNORE INTO reproduction_evaluations (reproduction_id, evaluation_id) VALUES (?1, ?2)",
            id, evaluation);
  }
  for (const auto& [run, arm] : sorted(experiment.runs)) {
    sql.run("INSERT OR IGNORE INTO reproduction_runs (reproduction_id, run_id, arm) VALUES (?1, ?2, ?3)", id,
            run, arm);
  }
  sql.run(kSelectEvaluations);
}

void put_comparisons(Store::Impl& store, const Json& record, const std::string&) {
  static const auto kComparison =
      insert_sql<ComparisonRow>("comparisons", {{"reproduction_id", ":reproduction_id"}});
  const auto id = number_of(record);
  store.sql.run("DELETE FROM comparisons WHERE reproduction_id = ?1", id);
  for (const auto& comparison : from_journal<std::vector<ComparisonRow>>(record))
    put_record(store.sql, kComparison, comparison, std::pair("reproduction_id", id));
}

void put_alarms(Store::Impl& store, const Json& record, const std::string&) {
  static const auto kAlarm = insert_sql<AlarmRecord>("alarms", {{"reproduction_id", ":reproduction_id"}});
  const auto id = number_of(record);
  store.sql.run("DELETE FROM alarms WHERE reproduction_id = ?1", id);
  for (const auto& alarm : from_journal<std::vector<AlarmRecord>>(record))
    put_record(store.sql, kAlarm, alarm, std::pair("reproduction_id", id));
}

void put_artifact(Store::Impl& store, const Json& record, const std::string& at) {
  static const auto kArtifact = insert_sql<ArtifactRecord>("artifacts", {{"created", ":created"}}) + R"sql(
    ON CONFLICT (table_id, name, ifnull(reproduction_id, 0)) DO UPDATE SET
      path = excluded.path, sha256 = excluded.sha256, created = excluded.created)sql";
  put_record(store.sql, kArtifact, from_journal<ArtifactRecord>(record), std::pair("created", at));
}

/// The first one of a digest says which of its runs had been tested.
void put_plan(Store::Impl& store, const Json& record, const std::string& at) {
  static const auto kPlan =
      insert_sql<PlanRecord>("plans", {{"created", ":created"}}) + " ON CONFLICT (digest) DO NOTHING";
  put_record(store.sql, kPlan, from_journal<PlanRecord>(record), std::pair("created", at));
}

void put_opened(Store::Impl& store, const Json& record, const std::string&) {
  static const auto kOpened = insert_sql<OpenedRecord>("opened_runs") + " ON CONFLICT (run_id) DO NOTHING";
  put_record(store.sql, kOpened, from_journal<OpenedRecord>(record));
}

void forget(Store::Impl& store, const Json& record, const std::string&) {
  // Children before parents; rows that point at each other (selections, evaluations) are settled by the end
  // of the transaction.
  constexpr const char* kEvaluations =
      "(SELECT evaluations.id FROM evaluations JOIN checkpoints ON checkpoints.id = checkpoint_id "
      "WHERE run_id = ?1)";
  const auto reproductions = fmt::format(
      "(SELECT reproduction_id FROM reproduction_runs WHERE run_id = ?1 UNION "
      "SELECT reproduction_id FROM reproduction_evaluations WHERE evaluation_id IN {})",
      kEvaluations);
  const auto run = [&](const std::string& sql) {
    SQLite::Statement statement(*store.opened.db, sql);
    if (statement.getBindParameterCount() > 0) statement.bind(1, record.at("run").get<std::string>());
    statement.exec();
  };
  run("PRAGMA defer_foreign_keys = ON");
  for (const auto* table : {"comparisons", "alarms", "artifacts"}) {
    run(fmt::format("DELETE FROM {} WHERE reproduction_id IN {}", table, reproductions));
  }
  run(fmt::format("DELETE FROM reproductions WHERE id IN {}", reproductions));
  for (const auto* table : {"reproduction_evaluations", "reproduction_runs"}) {
    run(fmt::format("DELETE FROM {} WHERE reproduction_id NOT IN (SELECT id FROM reproductions)", table));
  }
  run("DELETE FROM events WHERE job_id IN (SELECT id FROM jobs WHERE run_id = ?1)");
  run("DELETE FROM jobs WHERE run_id = ?1");
  for (const auto* table : {"table_evaluations", "metrics", "detections", "samples"}) {
    run(fmt::format("DELETE FROM {} WHERE evaluation_id IN {}", table, kEvaluations));
  }
  run(fmt::format("DELETE FROM evaluations WHERE id IN {}", kEvaluations));
  for (const auto* table : {"selections", "train_stats", "checkpoints", "table_runs"}) {
    run(fmt::format("DELETE FROM {} WHERE run_id = ?1", table));
  }
  run("DELETE FROM runs WHERE id = ?1");
}

/// Numbers of experiments are history_of's: the code that replays records has assigned them.
void put_nothing(Store::Impl&, const Json&, const std::string&) {}

using Apply = void (*)(Store::Impl& store, const Json& record, const std::string& at);

Apply applier_of(RecordType type) {
  switch (type) {
    case RecordType::kPromptSet:
      return put_prompt_set;
    case RecordType::kRun:
      return put_run;
    case RecordType::kCheckpoint:
      return put_checkpoint;
    case RecordType::kEvaluation:
      return put_evaluation;
    case RecordType::kSelection:
      return put_selection;
    case RecordType::kNotRun:
      return put_not_run;
    case RecordType::kJob:
      return put_job;
    case RecordType::kJobState:
      return put_job_state;
    case RecordType::kExperiment:
      return put_experiment;
    case RecordType::kExperimentAgain:
      return put_experiment_again;
    case RecordType::kComparisons:
      return put_comparisons;
    case RecordType::kAlarms:
      return put_alarms;
    case RecordType::kArtifact:
      return put_artifact;
    case RecordType::kPlan:
      return put_plan;
    case RecordType::kOpened:
      return put_opened;
    case RecordType::kForget:
      return forget;
    case RecordType::kNumber:
    case RecordType::kLastNumber:
      return put_nothing;
  }
  return put_nothing;
}

}  // namespace

std::string reproduction_digest(const ReproductionRecord& reproduction) {
  return sha256_hex(canonical_json(
      Json::array({reproduction.table_id, reproduction.backbone, reproduction.scale, reproduction.seeds,
                   reproduction.methods, reproduction.spec, reproduction.signature,
                   sorted(reproduction.evaluations), sorted(reproduction.runs)})));
}

void Store::Impl::apply(const Json& record, const std::string& at) {
  applier_of(record_type(record))(*this, record, at);
}

void Store::Impl::put_checkpoint(const CheckpointRecord& checkpoint) {
  static const auto kCheckpoint = insert_sql<CheckpointRecord>("checkpoints") +
                                  " ON CONFLICT (run_id, step) DO UPDATE SET " +
                                  update_list<CheckpointRecord>();
  put_record(sql, kCheckpoint, checkpoint);
}

void Store::Impl::put_not_run(const std::string& evaluation_id, const std::string& metric,
                              const std::string& reason) {
  constexpr auto kNotRun = "SELECT not_run FROM evaluations WHERE id = ?1";
  auto reasons = first<std::optional<Json>>(kNotRun, evaluation_id);
  if (!reasons)
    throw Error(fmt::format("there is no evaluation {}", evaluation_id), path.string(), {}, Status::kFailed);
  (*reasons)[metric] = reason;
  // Canonical, so that the order in which the reasons came in leaves no trace.
  sql.run("UPDATE evaluations SET not_run = ?2 WHERE id = ?1", evaluation_id, canonical_json(*reasons));
}

void Store::Impl::put_job_state(const std::string& id, JobState state,
                                const std::optional<std::string>& failure, const std::string& at) {
  const std::string name(job_state_name(state));
  if (sql.run("UPDATE jobs SET state = ?2, failure = ?3 WHERE id = ?1", id, name, failure) == 0) {
    throw Error(fmt::format("there is no job {}", id), path.string(), {}, Status::kFailed);
  }
  sql.run(R"sql(
    UPDATE evaluations SET state = ?2, finished = CASE WHEN ?2 = 'done' THEN ?3 END
    WHERE id = (SELECT evaluation_id FROM jobs WHERE id = ?1))sql",
          id, name, at);
  sql.run(R"sql(
    UPDATE runs SET state = ?2, finished = CASE WHEN ?2 = 'done' THEN ?3 END
    WHERE id = (SELECT run_id FROM jobs WHERE id = ?1 AND evaluation_id IS NULL))sql",
          id, name, at);
}

}  // namespace harness

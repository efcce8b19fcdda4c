#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "core/files.h"
#include "harness/checks/check_list.h"
#include "harness/checks/rows.h"
#include "results/schema.h"

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

/// Tables, constraints and views as the DB's version makes them; the views of an older version are its own,
/// and it is read through this one's. Somebody's further views and indexes change nothing; a trigger may.
void compare_schema(SQLite::Database& db, Findings& findings) {
  SQLite::Database fresh(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const auto version = schema_version(db);
  const bool is_older = version < current_schema().version();
  auto schema = schema_until(current_schema(), version);
  if (is_older) schema.views = "";
  migrate(fresh, schema);
  const auto expected = schema_objects(fresh), found = schema_objects(db);
  for (const auto& [name, sql] : expected) {
    const auto ours = found.find(name);
    if (ours == found.end()) {
      findings.add(fmt::format("{} is gone from the schema", name));
    } else if (ours->second != sql) {
      findings.add(fmt::format("{} is not defined as harness defines it", name));
    }
  }
  for (const auto& [name, sql] : found) {
    if (name.starts_with("trigger ")) findings.add(name + " is not one of harness");
  }
}

struct StoredJob {
  std::string id, kind, state;
  std::uint64_t offset = 0;
};

std::optional<StoredJob> stored_job(Store& store, const std::string& id) {
  const auto rows = checked_rows<StoredJob>(
      store, "SELECT id, kind, state, log_offset FROM jobs WHERE id = ?1",
      [](const Query& row) {
        return StoredJob{row.text(0), row.text(1), row.text(2), static_cast<std::uint64_t>(row.integer(3))};
      },
      id);
  return rows.empty() ? std::nullopt : std::optional(rows.front());
}

void check_job_file(const fs::path& folder, const std::string& id, const Json& config,
                    const std::string& name, Findings& findings) {
  const auto file = folder / "job.json";
  if (!fs::exists(file)) return findings.add(fmt::format("{}: {} is not there", name, file.string()));
  const Json job = read_json(file);
  if (job.value("id", "") != id)
    findings.add(
        fmt::format("{}: {} is of job {}, not of {}", name, file.string(), job.value("id", "?"), id));
  if (job.value("identity", Json()) != config) {
    const auto changes = Json::diff(config, job.value("identity", Json::object()));
    findings.add(fmt::format("{}: {} and the DB tell it differently: {}", name, file.string(),
                             changes.empty() ? "?" : changes.front().value("path", "?")));
  }
}

void check_log(const CheckedExperiment& experiment, const fs::path& folder, const StoredJob& job,
               const std::string& name, Findings& findings) {
  const auto& log = experiment.log(folder);
  const auto where = fmt::format("{}: {}", name, (folder / "events.log").string());
  if (!log.problem.empty()) return findings.add(fmt::format("{}: {}", where, log.problem));
  if (log.size != job.offset) {
    findings.add(fmt::format("{}: {} bytes, of which the DB has read {}", where, log.size, job.offset));
  }
  // An evaluation that lacked too many scores is started once more, and completed again.
  const bool may_start_again = job.kind == "evaluate";
  std::size_t completed = 0;
  bool is_at_its_end = false, went_on = false;
  for (const auto& event : log.events) {
    const auto type = event.value("type", "");
    went_on = went_on || (is_at_its_end && !(may_start_again && type == "job_started"));
    is_at_its_end = type == "job_completed";
    if (is_at_its_end) ++completed;
    if (type == "job_started" && event.value("id", "") != job.id)
      findings.add(fmt::format("{}: is the log of job {}", where, event.value("id", "?")));
  }
  if (!is_at_its_end || went_on)
    findings.add(fmt::format("{}: was completed {} times, or went on after it", where, completed));
}

void check_job(const CheckedExperiment& experiment, const std::string& id, const Json& config,
               const fs::path& folder, const std::string& name, Findings& findings) {
  const auto job = stored_job(experiment.store, id);
  if (!job) return findings.add(fmt::format("{}: there is no job {}", name, id));
  if (job->state != "done") findings.add(fmt::format("{}: job {} is {}", name, id, job->state));
  check_job_file(folder, id, config, name, findings);
  if (job->kind != "base") check_log(experiment, folder, *job, name, findings);
}

/// A row as text, so that two of them compare as a whole and a difference can be shown.
using Rows = std::map<std::string, std::string>;

std::string text_of(const std::optional<double>& value) {
  if (!value) return "NULL";
  return fmt::format("{}", *value == 0 ? 0.0 : *value);  // SQLite keeps no sign of a zero
}
std::string text_of(const Json& value) {
  return value.is_null()     ? "NULL"
         : value.is_number() ? text_of(std::optional(value.get<double>()))
                             : value.dump();
}

/// A second row of the same key is not lost: it has no counterpart.
void put(Rows& rows, std::pair<std::string, std::string> row) {
  while (rows.contains(row.first)) row.first += ", again";
  rows.insert(std::move(row));
}

void compare_rows(const Rows& logged, const Rows& stored, const std::string& name, Findings& findings) {
  for (const auto& [key, row] : logged) {
    const auto found = stored.find(key);
    if (found == stored.end()) {
      findings.add(fmt::format("{}: {}: the log has it, the DB has not", name, key));
    } else if (found->second != row) {
      findings.add(fmt::format("{}: {}: the log says {}, the DB {}", name, key, row, found->second));
    }
  }
  for (const auto& [key, row] : stored) {
    if (!logged.contains(key)) findings.add(fmt::format("{}: {}: the DB has it, the log has not", name, key));
  }
}

std::string stat_key(std::int64_t update, const std::string& name,
                     const std::optional<std::int64_t>& timestep) {
  return timestep ? fmt::format("update {}, {} at step {}", update, name, *timestep)
                  : fmt::format("update {}, {}", update, name);
}

std::string stat_row(const std::optional<double>& value, bool fresh, bool on_policy) {
  return fmt::format("{}{}{}", text_of(value), fresh ? "" : " reused", on_policy ? " on-policy" : "");
}

std::optional<double> number(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

void add_update(const Json& event, Rows& rows) {
  const auto update = event.at("update_index").get<std::int64_t>();
  const bool fresh = event.at("fresh"), on_policy = event.at("on_policy");
  for (const auto& [name, value] : event.at("stats").items())
    rows[stat_key(update, name, {})] = stat_row(number(value), fresh, on_policy);
  for (const auto& [name, values] : event.at("per_step").items()) {
    for (std::size_t k = 0; k < values.size(); ++k)
      rows[stat_key(update, name, static_cast<std::int64_t>(k))] =
          stat_row(number(values[k]), fresh, on_policy);
  }
}

std::string checkpoint_row(const std::string& path, const std::string& sha256, const std::string& numbers) {
  return fmt::format("{} {} {}", path, sha256, numbers);
}

Rows logged_training(const JobLog& log) {
  Rows rows;
  for (const auto& event : log.events) {
    const auto type = event.value("type", "");
    if (type == "update") add_update(event, rows);
    if (type == "checkpoint") {
      rows[fmt::format("checkpoint {}", event.at("step").get<int>())] = checkpoint_row(
          event.at("path"), event.at("sha256"),
          fmt::format("{} {} {}", text_of(event.at("lambda_late")), text_of(event.at("lambda_late_last")),
                      text_of(event.at("clip_fraction"))));
    }
    if (type == "job_started") rows["build"] = event.at("build").get<std::string>();
  }
  return rows;
}

Rows stored_training(Store& store, const StoredRun& run) {
  using Row = std::pair<std::string, std::string>;
  Rows rows;
  for (auto& row : checked_rows<Row>(
           store,
           "SELECT update_index, name, timestep, value, fresh, on_policy FROM train_stats WHERE run_id = ?1",
           [](const Query& q) {
             return Row(stat_key(q.integer(0), q.text(1), q.optional_integer(2)),
                        stat_row(q.real(3), q.integer(4) != 0, q.integer(5) != 0));
           },
           run.id)) {
    put(rows, std::move(row));
  }
  for (const auto& c : store.checkpoints(run.id)) {
    rows[fmt::format("checkpoint {}", c.step)] =
        checkpoint_row(c.path.value_or("NULL"), c.sha256.value_or("NULL"),
                       fmt::format("{} {} {}", text_of(c.lambda_late), text_of(c.lambda_late_last),
                                   text_of(c.clip_fraction)));
  }
  if (run.build) rows["build"] = *run.build;
  return rows;
}

std::string image_key(std::int64_t position, std::int64_t sample) {
  return fmt::format("prompt {}, sample {}", position, sample);
}

Rows logged_evaluation(const JobLog& log) {
  Rows rows;
  for (const auto& event : log.events) {
    if (event.value("type", "") != "sample") continue;
    const auto image = image_key(event.at("position"), event.at("sample"));
    rows[image] = fmt::format("seed {} {} {} transcript {} / {}", event.at("seed").dump(),
                              event.at("path").get<std::string>(), event.at("sha256").get<std::string>(),
                              text_of(event.at("transcript")), text_of(event.at("transcript_raw")));
    for (const auto& [name, value] : event.at("metrics").items()) {
      rows[fmt::format("{}, {}", image, name)] =
          value.is_null() ? "NULL: " + event.at("reasons").at(name).get<std::string>() : text_of(value);
    }
  }
  return rows;
}

Rows stored_evaluation(Store& store, const std::string& id) {
  using Row = std::pair<std::string, std::string>;
  const auto quoted = [](const std::optional<std::string>& text) {
    return text ? Json(*text).dump(-1, ' ', false, Json::error_handler_t::replace) : "NULL";
  };
  Rows rows;
  for (auto& row : checked_rows<Row>(
           store, R"sql(
             SELECT position, sample, seed, path, sha256, transcript, transcript_raw
             FROM samples LEFT JOIN prompts ON prompts.id = prompt_id WHERE evaluation_id = ?1)sql",
           [&](const Query& q) {
             return Row(image_key(q.integer(0), q.integer(1)),
                        fmt::format("seed {} {} {} transcript {} / {}", q.integer(2), q.text(3), q.text(4),
                                    quoted(q.optional_text(5)), quoted(q.optional_text(6))));
           },
           id)) {
    put(rows, std::move(row));
  }
  for (auto& row : checked_rows<Row>(
           store, R"sql(
             SELECT position, sample, name, value, reason
             FROM metrics LEFT JOIN prompts ON prompts.id = prompt_id WHERE evaluation_id = ?1)sql",
           [&](const Query& q) {
             const auto reason = q.optional_text(4);
             return Row(fmt::format("{}, {}", image_key(q.integer(0), q.integer(1)), q.text(2)),
                        reason ? "NULL: " + *reason : text_of(q.real(3)));
           },
           id)) {
    put(rows, std::move(row));
  }
  return rows;
}

/// What was said beside numbers: type and time of each event, and what completed jobs said at their end.
Rows logged_events(const JobLog& log) {
  Rows rows;
  for (const auto& event : log.events) {
    const auto type = event.value("type", "");
    const bool told = type == "job_started" || type == "note" || type == "job_completed" ||
                      type == "job_failed" || (type == "resumed" && event.value("resumed_from", 0) != 0);
    if (!told) continue;
    put(rows, {fmt::format("event {} of {}", type, event.at("time").get<double>()),
               type == "job_completed" ? canonical_json(event.at("summary"))
               : type == "note"        ? event.at("message").get<std::string>()
                                       : ""});
  }
  return rows;
}

Rows stored_events(Store& store, const std::string& job) {
  using Row = std::pair<std::string, std::string>;
  Rows rows;
  for (auto& row : checked_rows<Row>(
           store, "SELECT type, time, message, detail FROM events WHERE job_id = ?1 ORDER BY id",
           [](const Query& q) {
             const auto type = q.text(0);
             std::string told;
             if (type == "note") told = q.text(2);
             if (type == "job_completed")
               told = canonical_json(parse_json(q.text(3), "events.detail").at("summary"));
             return Row(fmt::format("event {} of {}", type, q.real(1).value_or(0)), told);
           },
           job)) {
    put(rows, std::move(row));
  }
  return rows;
}

}  // namespace

Findings check_database(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.problems = experiment.store.check(), .summary = {}, .hint = kRestore};
  for (const auto& row : experiment.missing)
    findings.add(fmt::format("the experiment rests on {}, which the DB has not", row));
  compare_schema(experiment.store.database(), findings);
  findings.summary = fmt::format("sound, schema version {}", schema_version(experiment.store.database()));
  return findings;
}

Findings check_jobs(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.problems = {},
                    .summary = {},
                    .hint = "restore the folder from a copy, or repeat the reproduce with --fresh"};
  for (const auto& run : experiment.runs)
    check_job(experiment, run.run.id, run.run.config, run.folder, experiment.name(run), findings);
  for (const auto& e : experiment.evaluations)
    check_job(experiment, e.evaluation.id, e.evaluation.config, e.folder, experiment.name(e), findings);
  findings.summary = fmt::format("{} jobs are done, their job files and event logs whole",
                                 experiment.runs.size() + experiment.evaluations.size());
  return findings;
}

Findings check_event_logs(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.problems = {}, .summary = {}, .hint = kRestore};
  std::size_t rows = 0;
  const auto compare = [&](const Rows& logged, const Rows& stored, const std::string& name) {
    compare_rows(logged, stored, name, findings);
    rows += stored.size();
  };
  for (const auto& run : experiment.runs) {
    if (run.is_base()) continue;
    const auto& log = experiment.log(run.folder);
    compare(logged_training(log), stored_training(experiment.store, run.run), experiment.name(run));
    compare(logged_events(log), stored_events(experiment.store, run.run.id), experiment.name(run));
  }
  for (const auto& e : experiment.evaluations) {
    const auto& log = experiment.log(e.folder);
    compare(logged_evaluation(log), stored_evaluation(experiment.store, e.evaluation.id), experiment.name(e));
    compare(logged_events(log), stored_events(experiment.store, e.evaluation.id), experiment.name(e));
  }
  findings.summary = fmt::format("{} rows are what the event logs say", rows);
  return findings;
}

}  // namespace harness

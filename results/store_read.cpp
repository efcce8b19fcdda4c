#include <fmt/format.h>

#include <array>

#include "results/store_impl.h"

namespace harness {
namespace {

constexpr std::array<std::string_view, 4> kStateNames = {"planned", "running", "done", "failed"};

constexpr std::string_view kRuns = R"sql(
  SELECT id, table_id, method, backbone, task, scale, seed, config, folder, weights_sha256,
         requested_settings, effective_settings, numerics_version, state, build, created, finished
  FROM runs
  WHERE ifnull(?1, id) = id
  ORDER BY created, rowid)sql";

StoredRun read_run(const Query& row) {
  StoredRun run;
  run.id = row.text(0);
  run.table_id = row.text(1);
  run.method = row.text(2);
  run.backbone = row.text(3);
  run.task = row.text(4);
  run.scale = row.text(5);
  run.seed = row.integer(6);
  run.config = parse_json(row.text(7), "runs.config");
  run.folder = row.text(8);
  run.weights_sha256 = row.text(9);
  run.requested_settings = parse_json(row.text(10), "runs.requested_settings");
  run.effective_settings = parse_json(row.text(11), "runs.effective_settings");
  run.numerics_version = row.integer(12);
  run.state = job_state_from_name(row.text(13));
  run.build = row.optional_text(14);
  run.created = row.text(15);
  run.finished = row.optional_text(16);
  return run;
}

// The membership that came first stands for table_id and scale.
constexpr std::string_view kEvaluations = R"sql(
  SELECT evaluations.id, checkpoints.run_id, checkpoints.step, split, n, folder, prompt_sets.sha256,
         split_sha256, seed, settings, evaluations.config, selection_id, peek, state, not_run, finished,
         (SELECT table_id FROM table_evaluations WHERE evaluation_id = evaluations.id LIMIT 1),
         (SELECT scale FROM table_evaluations WHERE evaluation_id = evaluations.id LIMIT 1)
  FROM evaluations
  JOIN checkpoints ON checkpoints.id = checkpoint_id
  JOIN prompt_sets ON prompt_sets.id = prompt_set_id
  WHERE (?1 IS NULL OR evaluations.id = ?1) AND (?2 IS NULL OR checkpoints.run_id = ?2)
  ORDER BY checkpoints.step, split, evaluations.id)sql";

StoredEvaluation read_evaluation(const Query& row) {
  StoredEvaluation evaluation;
  evaluation.id = row.text(0);
  evaluation.run_id = row.text(1);
  evaluation.step = row.integer(2);
  evaluation.split = row.text(3);
  evaluation.n = row.integer(4);
  evaluation.folder = row.text(5);
  evaluation.prompt_set_sha256 = row.text(6);
  evaluation.split_sha256 = row.text(7);
  evaluation.seed = row.integer(8);
  evaluation.settings = parse_json(row.text(9), "evaluations.settings");
  evaluation.config = parse_json(row.text(10), "evaluations.config");
  evaluation.selection_id = row.optional_integer(11);
  evaluation.peek = row.integer(12) != 0;
  evaluation.state = job_state_from_name(row.text(13));
  evaluation.not_run = parse_json(row.text(14), "evaluations.not_run");
  evaluation.finished = row.optional_text(15);
  evaluation.table_id = row.text(16);
  evaluation.scale = row.text(17);
  return evaluation;
}

constexpr std::string_view kSelections = R"sql(
  SELECT selections.id, selections.run_id, checkpoints.step, split, metric, rule, value, evaluation_id,
         candidates
  FROM selections
  JOIN checkpoints ON checkpoints.id = checkpoint_id
  WHERE (?1 IS NULL OR selections.id = ?1) AND (?2 IS NULL OR selections.run_id = ?2)
  ORDER BY selections.id)sql";

StoredSelection read_selection(const Query& row) {
  StoredSelection selection;
  selection.id = row.integer(0);
  selection.run_id = row.text(1);
  selection.step = row.integer(2);
  selection.split = row.text(3);
  selection.metric = row.text(4);
  selection.rule = row.text(5);
  selection.value = row.real(6);
  selection.evaluation_id = row.optional_text(7);
  selection.candidates = parse_json(row.text(8), "selections.candidates").get<std::vector<std::string>>();
  return selection;
}

constexpr std::nullopt_t kAny = std::nullopt;

template <class Row, class... Values>
std::vector<Row> read_all(SQLite::Statement& statement, Row (*read)(const Query&), const Values&... values) {
  std::vector<Row> rows;
  Query query(statement, values...);
  while (query.step()) rows.push_back(read(query));
  return rows;
}

template <class Row>
std::optional<Row> only(std::vector<Row> rows) {
  return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
}

}  // namespace

std::string_view job_state_name(JobState state) {
  return kStateNames.at(static_cast<std::size_t>(state));
}

JobState job_state_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kStateNames.size(); ++i) {
    if (kStateNames[i] == name) return static_cast<JobState>(i);
  }
  throw Error(fmt::format("unknown state \"{}\"", name), "results database", {}, Status::kFailed);
}

std::optional<JobStatus> Store::Impl::job_status(const std::string& id) {
  Query query(sql["SELECT state, log_offset, failure FROM jobs WHERE id = ?1"], id);
  if (!query.step()) return std::nullopt;
  return JobStatus{.state = job_state_from_name(query.text(0)),
                   .log_offset = static_cast<std::uint64_t>(query.integer(1)),
                   .failure = query.optional_text(2)};
}

std::optional<JobStatus> Store::job_state(const std::string& id) {
  return impl_->guarded([&] { return impl_->job_status(id); });
}

std::vector<StoredRun> Store::runs() {
  return impl_->guarded([&] { return read_all(impl_->sql[kRuns], read_run, kAny); });
}

std::optional<StoredRun> Store::run(const std::string& id) {
  return impl_->guarded([&] { return only(read_all(impl_->sql[kRuns], read_run, id)); });
}

std::vector<CheckpointRecord> Store::checkpoints(const std::string& run_id) {
  constexpr auto kSql = R"sql(
    SELECT run_id, step, path, sha256, lambda_late, lambda_late_last, clip_fraction
    FROM checkpoints WHERE run_id = ?1 ORDER BY step)sql";
  const auto read = [](const Query& row) {
    return CheckpointRecord{.run_id = row.text(0),
                            .step = row.integer(1),
                            .path = row.optional_text(2),
                            .sha256 = row.optional_text(3),
                            .lambda_late = row.real(4),
                            .lambda_late_last = row.real(5),
                            .clip_fraction = row.real(6)};
  };
  return impl_->guarded([&] { return read_all<CheckpointRecord>(impl_->sql[kSql], read, run_id); });
}

std::optional<StoredEvaluation> Store::evaluation(const std::string& id) {
  return impl_->guarded([&] { return only(read_all(impl_->sql[kEvaluations], read_evaluation, id, kAny)); });
}

std::vector<StoredEvaluation> Store::evaluations(const std::string& run_id) {
  return impl_->guarded([&] { return read_all(impl_->sql[kEvaluations], read_evaluation, kAny, run_id); });
}

std::optional<StoredSelection> Store::selection(std::int64_t id) {
  return impl_->guarded([&] { return only(read_all(impl_->sql[kSelections], read_selection, id, kAny)); });
}

std::vector<StoredSelection> Store::selections(const std::string& run_id) {
  return impl_->guarded([&] { return read_all(impl_->sql[kSelections], read_selection, kAny, run_id); });
}

std::vector<MetricValue> Store::metric_values(const std::string& evaluation_id, const std::string& metric) {
  constexpr auto kSql = R"sql(
    SELECT prompt_id, position, sample, value, reason
    FROM metrics JOIN prompts ON prompts.id = prompt_id
    WHERE evaluation_id = ?1 AND name = ?2
    ORDER BY position, sample)sql";
  const auto read = [](const Query& row) {
    return MetricValue{.prompt_id = row.integer(0),
                       .position = row.integer(1),
                       .sample = row.integer(2),
                       .value = row.real(3),
                       .reason = row.optional_text(4)};
  };
  return impl_->guarded([&] { return read_all<MetricValue>(impl_->sql[kSql], read, evaluation_id, metric); });
}

std::vector<AlarmRecord> Store::alarms(std::int64_t reproduction_id) {
  constexpr auto kSql = R"sql(
    SELECT split, baseline, method, reward, reward_delta, reward_ci95_low, reward_ci95_high, guardrail, harmful,
           minimal_effect, delta, ci95_low, ci95_high, p_holm, rule_version
    FROM alarms WHERE reproduction_id = ?1 ORDER BY id)sql";
  return impl_->guarded([&] {
    std::vector<AlarmRecord> alarms;
    Query row(impl_->sql[kSql], reproduction_id);
    while (row.step()) {
      alarms.push_back({.split = row.text(0),
                        .baseline = row.text(1),
                        .method = row.text(2),
                        .reward = row.text(3),
                        .reward_delta = *row.real(4),
                        .reward_ci = {.low = *row.real(5), .high = *row.real(6)},
                        .guardrail = row.text(7),
                        .harmful = row.text(8),
                        .minimal_effect = *row.real(9),
                        .delta = *row.real(10),
                        .ci = {.low = *row.real(11), .high = *row.real(12)},
                        .p_holm = row.real(13),
                        .rule_version = static_cast<int>(row.integer(14))});
    }
    return alarms;
  });
}

namespace {

std::optional<StoredReproduction> read_reproduction(StatementCache& sql, const Query& row, bool found) {
  constexpr auto kMembers = R"sql(
    SELECT evaluation_id FROM reproduction_evaluations WHERE reproduction_id = ?1 ORDER BY evaluation_id)sql";
  constexpr auto kMemberRuns =
      "SELECT run_id, arm FROM reproduction_runs WHERE reproduction_id = ?1 ORDER BY run_id";
  if (!found) return std::nullopt;
  StoredReproduction reproduction;
  reproduction.id = row.integer(0);
  reproduction.table_id = row.text(1);
  reproduction.backbone = row.text(2);
  reproduction.scale = row.text(3);
  reproduction.seeds = parse_json(row.text(4), "reproductions.seeds").get<std::vector<std::int64_t>>();
  reproduction.methods = parse_json(row.text(5), "reproductions.methods").get<std::vector<std::string>>();
  reproduction.spec = parse_json(row.text(6), "reproductions.spec");
  reproduction.signature = row.text(7);
  reproduction.wall_seconds = row.real(8).value_or(0);
  reproduction.finished = row.text(9);
  Query members(sql[kMembers], reproduction.id);
  while (members.step()) reproduction.evaluations.push_back(members.text(0));
  Query runs(sql[kMemberRuns], reproduction.id);
  while (runs.step()) reproduction.runs.emplace_back(runs.text(0), runs.text(1));
  return reproduction;
}

}  // namespace

std::optional<StoredReproduction> Store::last_reproduction(const std::optional<std::string>& table_id) {
  constexpr auto kLast = R"sql(
    SELECT id, table_id, backbone, scale, seeds, methods, spec, signature, wall_seconds, finished
    FROM reproductions
    WHERE ?1 IS NULL OR table_id = ?1
    ORDER BY recency DESC
    LIMIT 1)sql";
  return impl_->guarded([&] {
    Query row(impl_->sql[kLast], table_id);
    const bool found = row.step();
    return read_reproduction(impl_->sql, row, found);
  });
}

std::optional<StoredReproduction> Store::reproduction(std::int64_t id) {
  constexpr auto kOne = R"sql(
    SELECT id, table_id, backbone, scale, seeds, methods, spec, signature, wall_seconds, finished
    FROM reproductions WHERE id = ?1)sql";
  return impl_->guarded([&] {
    Query row(impl_->sql[kOne], id);
    const bool found = row.step();
    return read_reproduction(impl_->sql, row, found);
  });
}

void Store::require_complete(std::span<const std::string> evaluations) {
  // A metric of which no row is left would not be counted by its name: every one that was asked for is.
  constexpr auto kShort = R"sql(
    WITH asked (name) AS (
      SELECT value FROM evaluations, json_each(config, '$.metrics') WHERE evaluations.id = ?1
      UNION SELECT name FROM metrics WHERE evaluation_id = ?1
      EXCEPT SELECT key FROM evaluations, json_each(not_run) WHERE evaluations.id = ?1)
    SELECT what, found, n FROM (
      SELECT 'images' AS what, (SELECT count(*) FROM samples WHERE evaluation_id = ?1) AS found
      UNION ALL
      SELECT 'values of ' || asked.name,
             (SELECT count(*) FROM metrics WHERE evaluation_id = ?1 AND metrics.name = asked.name)
      FROM asked)
    JOIN evaluations ON id = ?1
    WHERE found <> n
    LIMIT 1)sql";
  impl_->guarded([&] {
    for (const auto& id : evaluations) {
      Query row(impl_->sql[kShort], id);
      if (!row.step()) continue;
      throw Error(fmt::format("evaluation {} holds {} {} of {}: rows were deleted", id, row.integer(1),
                              row.text(0), row.integer(2)),
                  impl_->path.string(), kRebuildHint, Status::kFailed);
    }
  });
}

std::vector<std::string> Store::check() {
  constexpr auto kIncomplete = R"sql(
    SELECT evaluations.id, n, (SELECT count(*) FROM samples WHERE evaluation_id = evaluations.id) AS found
    FROM evaluations
    WHERE state = 'done' AND found <> n)sql";
  return impl_->guarded([&] {
    std::vector<std::string> problems;
    Query integrity(impl_->sql["PRAGMA integrity_check"]);
    while (integrity.step()) {
      if (integrity.text(0) != "ok") problems.push_back(integrity.text(0));
    }
    Query keys(impl_->sql["PRAGMA foreign_key_check"]);
    while (keys.step()) {
      problems.push_back(fmt::format("table {}: row {} points at a missing row of {}", keys.text(0),
                                     keys.text(1), keys.text(2)));
    }
    Query incomplete(impl_->sql[kIncomplete]);
    while (incomplete.step()) {
      problems.push_back(fmt::format("evaluation {} is finished with {} of {} images", incomplete.text(0),
                                     incomplete.integer(2), incomplete.integer(1)));
    }
    return problems;
  });
}

}  // namespace harness

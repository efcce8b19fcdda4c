#include <fmt/format.h>

#include <array>

#include "results/store/columns.h"
#include "results/store/rows.h"
#include "results/store/store_impl.h"

namespace harness {
namespace {

constexpr std::array<std::string_view, 4> kStateNames = {"planned", "running", "done", "failed"};

// Each row with the fields of its record, whatever else it has.

constexpr std::string_view kRuns =
    "SELECT *, '' AS arm FROM runs WHERE ifnull(?1, id) = id ORDER BY created, rowid";

// The membership that came first stands for table_id and scale.
constexpr std::string_view kEvaluations = R"sql(
  SELECT evaluations.*, checkpoints.run_id, checkpoints.step, prompt_sets.sha256 AS prompt_set_sha256,
         (SELECT table_id FROM table_evaluations WHERE evaluation_id = evaluations.id LIMIT 1) AS table_id,
         (SELECT scale FROM table_evaluations WHERE evaluation_id = evaluations.id LIMIT 1) AS scale
  FROM evaluations
  JOIN checkpoints ON checkpoints.id = checkpoint_id
  JOIN prompt_sets ON prompt_sets.id = prompt_set_id
  WHERE (?1 IS NULL OR evaluations.id = ?1) AND (?2 IS NULL OR checkpoints.run_id = ?2)
  ORDER BY checkpoints.step, split, evaluations.id)sql";

constexpr std::string_view kSelections = R"sql(
  SELECT selections.*, checkpoints.step
  FROM selections
  JOIN checkpoints ON checkpoints.id = checkpoint_id
  WHERE (?1 IS NULL OR selections.id = ?1) AND (?2 IS NULL OR selections.run_id = ?2)
  ORDER BY selections.id)sql";

// ?1: id, ?2: table, ?3: how many at most (-1: all).
constexpr std::string_view kReproductions = R"sql(
  SELECT r.*,
         (SELECT json_group_array(evaluation_id) FROM (
            SELECT evaluation_id FROM reproduction_evaluations
            WHERE reproduction_id = r.id ORDER BY evaluation_id)) AS evaluations,
         (SELECT json_group_array(json_array(run_id, arm)) FROM (
            SELECT run_id, arm FROM reproduction_runs WHERE reproduction_id = r.id ORDER BY run_id)) AS runs
  FROM reproductions AS r
  WHERE (?1 IS NULL OR id = ?1) AND (?2 IS NULL OR table_id = ?2)
  ORDER BY recency DESC
  LIMIT ?3)sql";

constexpr std::nullopt_t kAny = std::nullopt;

template <class Record, class... Values>
std::vector<Record> read(Store::Impl& store, const char* table, std::string_view select,
                         const Values&... values) {
  return store.guarded([&] { return read_records<Record>(store.sql, table, select, values...); });
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

SelectionKind selection_kind_from_name(std::string_view name) {
  return name == "fixed"               ? SelectionKind::kFixed
         : name == "equal_evaluations" ? SelectionKind::kAtEqualEvaluations
                                       : SelectionKind::kTable;
}

std::optional<JobStatus> Store::job_state(const std::string& id) {
  return only(
      read<JobStatus>(*impl_, "jobs", "SELECT state, log_offset, failure FROM jobs WHERE id = ?1", id));
}

std::vector<PromptSet> Store::prompt_sets() {
  constexpr auto kPrompts = R"sql(
    SELECT position, text, target FROM prompts JOIN prompt_sets ON prompt_sets.id = prompt_set_id
    WHERE sha256 = ?1 ORDER BY position)sql";
  auto sets = read<PromptSet>(*impl_, "prompt_sets", "SELECT * FROM prompt_sets ORDER BY id");
  for (auto& set : sets) {
    for (auto& [position, text, target] : rows_of<int, std::string, std::string>(*this, kPrompts, set.sha256))
      set.prompts.push_back(stored_prompt(set.name, position, std::move(text), target));
  }
  return sets;
}

std::vector<StoredRun> Store::runs() {
  return read<StoredRun>(*impl_, "runs", kRuns, kAny);
}

std::optional<StoredRun> Store::run(const std::string& id) {
  return only(read<StoredRun>(*impl_, "runs", kRuns, id));
}

std::vector<CheckpointRecord> Store::checkpoints(const std::string& run_id) {
  constexpr auto kSql = "SELECT * FROM checkpoints WHERE run_id = ?1 ORDER BY step";
  return read<CheckpointRecord>(*impl_, "checkpoints", kSql, run_id);
}

std::vector<Budget> Store::budgets(const std::string& run_id) {
  constexpr auto kSql = "SELECT * FROM v_budgets WHERE run_id = ?1 ORDER BY checkpoint";
  return read<Budget>(*impl_, "v_budgets", kSql, run_id);
}

std::optional<StoredEvaluation> Store::evaluation(const std::string& id) {
  return only(read<StoredEvaluation>(*impl_, "evaluations", kEvaluations, id, kAny));
}

std::vector<StoredEvaluation> Store::evaluations(const std::string& run_id) {
  return read<StoredEvaluation>(*impl_, "evaluations", kEvaluations, kAny, run_id);
}

std::vector<StoredPlan> Store::plans() {
  return read<StoredPlan>(*impl_, "plans", "SELECT * FROM plans ORDER BY id");
}

std::set<std::string> Store::tested_runs(const std::string& split) {
  constexpr auto kSql = R"sql(
    SELECT run_id FROM opened_runs
    UNION SELECT run_id FROM evaluations JOIN checkpoints ON checkpoints.id = checkpoint_id
    WHERE split = ?1 AND state <> 'planned'
    UNION SELECT run_id FROM train_stats WHERE ?1 = 'train')sql";
  const auto ids = rows_of<std::string>(*this, kSql, split);
  return {ids.begin(), ids.end()};
}

bool Store::was_scored_again(const std::string& evaluation) {
  constexpr auto kSql = "SELECT count(*) FROM events WHERE job_id = ?1 AND type = 'job_completed'";
  return guarded(impl_->path, [&] { return impl_->first<std::int64_t>(kSql, evaluation) > 1; });
}

std::optional<StoredSelection> Store::selection(std::int64_t id) {
  return only(read<StoredSelection>(*impl_, "selections", kSelections, id, kAny));
}

std::vector<StoredSelection> Store::selections(const std::string& run_id) {
  return read<StoredSelection>(*impl_, "selections", kSelections, kAny, run_id);
}

std::vector<MetricValue> Store::metric_values(const std::string& evaluation_id, const std::string& metric) {
  constexpr auto kSql = R"sql(
    SELECT prompt_id, position, sample, value, reason
    FROM metrics JOIN prompts ON prompts.id = prompt_id
    WHERE evaluation_id = ?1 AND name = ?2
    ORDER BY position, sample)sql";
  return read<MetricValue>(*impl_, "metrics", kSql, evaluation_id, metric);
}

std::vector<StoredDetection> Store::detections(const std::string& evaluation_id) {
  constexpr auto kSql = R"sql(
    SELECT detections.*, position
    FROM detections JOIN prompts ON prompts.id = prompt_id
    WHERE evaluation_id = ?1
    ORDER BY position, sample, rank)sql";
  return read<StoredDetection>(*impl_, "detections", kSql, evaluation_id);
}

std::vector<ComparisonRow> Store::comparisons(std::int64_t reproduction_id) {
  constexpr auto kSql = "SELECT * FROM comparisons WHERE reproduction_id = ?1 ORDER BY id";
  return read<ComparisonRow>(*impl_, "comparisons", kSql, reproduction_id);
}

std::vector<AlarmRecord> Store::alarms(std::int64_t reproduction_id) {
  constexpr auto kSql = "SELECT * FROM alarms WHERE reproduction_id = ?1 ORDER BY id";
  return read<AlarmRecord>(*impl_, "alarms", kSql, reproduction_id);
}

std::vector<StoredReproduction> Store::reproductions() {
  return read<StoredReproduction>(*impl_, "reproductions", kReproductions, kAny, kAny, -1);
}

std::optional<StoredReproduction> Store::last_reproduction(const std::optional<std::string>& table_id) {
  return only(read<StoredReproduction>(*impl_, "reproductions", kReproductions, kAny, table_id, 1));
}

std::optional<StoredReproduction> Store::reproduction(std::int64_t id) {
  return only(read<StoredReproduction>(*impl_, "reproductions", kReproductions, id, kAny, 1));
}

std::optional<std::string> Store::Impl::held_instead(const std::string& evaluation_id, bool asked) {
  // A metric of which no row is left would not be counted by its name.
  constexpr auto kShort = R"sql(
    WITH metric (name) AS (
      SELECT value FROM evaluations, json_each(config, '$.metrics') WHERE ?2 AND evaluations.id = ?1
      UNION SELECT name FROM metrics WHERE evaluation_id = ?1
      EXCEPT SELECT key FROM evaluations, json_each(not_run) WHERE ?2 AND evaluations.id = ?1)
    SELECT format('%d %s of %d', found, what, n) FROM (
      SELECT 'images' AS what, (SELECT count(*) FROM samples WHERE evaluation_id = ?1) AS found
      UNION ALL
      SELECT 'values of ' || metric.name,
             (SELECT count(*) FROM metrics WHERE evaluation_id = ?1 AND metrics.name = metric.name)
      FROM metric)
    JOIN evaluations ON id = ?1
    WHERE found <> n
    LIMIT 1)sql";
  return first<std::optional<std::string>>(kShort, evaluation_id, asked);
}

void Store::require_complete(std::span<const std::string> evaluations) {
  impl_->guarded([&] {
    for (const auto& id : evaluations) {
      if (const auto held = impl_->held_instead(id, true)) {
        throw Error(fmt::format("evaluation {} holds {}: rows were deleted", id, *held), impl_->path.string(),
                    kRebuildHint, Status::kFailed);
      }
    }
  });
}

std::vector<std::string> Store::check() {
  constexpr std::string_view kProblems[] = {
      "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
      R"sql(
    SELECT format('table %s: row %s points at a missing row of %s', "table", rowid, parent)
    FROM pragma_foreign_key_check)sql",
      R"sql(
    SELECT format('evaluation %s is finished with %d of %d images', id, found, n)
    FROM (SELECT *, (SELECT count(*) FROM samples WHERE evaluation_id = evaluations.id) AS found FROM evaluations)
    WHERE state = 'done' AND found <> n)sql"};
  return impl_->guarded([&] {
    std::vector<std::string> problems;
    for (const auto select : kProblems) {
      Query row(impl_->sql[select]);
      while (row.step()) problems.push_back(row.text(0));
    }
    return problems;
  });
}

}  // namespace harness

#include "results/database_diff.h"

#include <fmt/format.h>

#include <array>

#include "core/json.h"
#include "core/text.h"
#include "results/sql.h"

namespace harness {
namespace {

struct Rows {
  const char* table;
  const char* sql;  ///< {0}: name of the DB
  const char* own;  ///< which of these rows belong to the runs ?1 (a JSON list)
};

constexpr auto kOwnRun = "run_id IN (SELECT value FROM json_each(?1))";
constexpr auto kOwnEvaluation = R"sql(evaluation_id IN (
  SELECT e.id FROM {0}.evaluations AS e JOIN {0}.checkpoints AS c ON c.id = e.checkpoint_id
  WHERE c.run_id IN (SELECT value FROM json_each(?1))))sql";
constexpr auto kOwnExperiment = R"sql(reproduction_id IN (
  SELECT r.id FROM {0}.reproductions AS r WHERE NOT EXISTS (
    SELECT 1 FROM {0}.reproduction_runs AS m
    WHERE m.reproduction_id = r.id AND m.run_id NOT IN (SELECT value FROM json_each(?1)))))sql";

// What the rows of each table say, without the ids of this DB.
constexpr std::array<Rows, 18> kRows = {{
    {"prompt_sets", "SELECT name, sha256, known, origin FROM {0}.prompt_sets",
     "sha256 IN (SELECT sha256 FROM other.prompt_sets)"},
    {"prompts", R"sql(SELECT s.sha256 AS prompt_set, position, text, target
      FROM {0}.prompts AS p JOIN {0}.prompt_sets AS s ON s.id = p.prompt_set_id)sql",
     "prompt_set IN (SELECT sha256 FROM other.prompt_sets)"},
    {"runs",
     R"sql(SELECT id, table_id, method, backbone, task, scale, seed, state, folder, weights_sha256, build,
      numerics_version, config, requested_settings, effective_settings FROM {0}.runs)sql",
     "id IN (SELECT value FROM json_each(?1))"},
    {"table_runs", "SELECT table_id, run_id, scale, arm FROM {0}.table_runs", kOwnRun},
    {"checkpoints", R"sql(SELECT run_id, step, path, sha256, lambda_late, lambda_late_last, clip_fraction
      FROM {0}.checkpoints)sql",
     kOwnRun},
    {"train_stats", R"sql(SELECT run_id, update_index, timestep, name, value, fresh, on_policy
      FROM {0}.train_stats)sql",
     kOwnRun},
    {"evaluations", R"sql(SELECT e.id, c.run_id, c.step, e.split, e.n, e.state, e.folder, e.peek,
        (SELECT json_group_object(key, value) FROM (
          SELECT key, value FROM json_each(e.not_run) ORDER BY key)) AS not_run,
        p.sha256 AS prompt_set, e.split_sha256, e.seed, e.settings, e.config,
        s.rule AS selection_rule, s.metric AS selection_metric, s.candidates AS selection_candidates
      FROM {0}.evaluations AS e JOIN {0}.checkpoints AS c ON c.id = e.checkpoint_id
      JOIN {0}.prompt_sets AS p ON p.id = e.prompt_set_id
      LEFT JOIN {0}.selections AS s ON s.id = e.selection_id)sql",
     kOwnRun},
    {"table_evaluations", "SELECT table_id, evaluation_id, scale FROM {0}.table_evaluations", kOwnEvaluation},
    {"samples", R"sql(SELECT evaluation_id, position, sample, seed, path, sha256, transcript, transcript_raw
      FROM {0}.samples AS s JOIN {0}.prompts AS p ON p.id = s.prompt_id)sql",
     kOwnEvaluation},
    {"metrics", R"sql(SELECT evaluation_id, name, position, sample, value, reason
      FROM {0}.metrics AS m JOIN {0}.prompts AS p ON p.id = m.prompt_id)sql",
     kOwnEvaluation},
    {"selections", R"sql(SELECT s.run_id, step, split, metric, rule, value, evaluation_id, candidates
      FROM {0}.selections AS s JOIN {0}.checkpoints AS c ON c.id = s.checkpoint_id)sql",
     kOwnRun},
    {"jobs", "SELECT id, kind, run_id, evaluation_id, state, log_offset, failure, folder FROM {0}.jobs",
     kOwnRun},
    {"events", "SELECT job_id, time, type, level, message, detail FROM {0}.events",
     "job_id IN (SELECT j.id FROM {0}.jobs AS j WHERE j.run_id IN (SELECT value FROM json_each(?1)))"},
    {"reproductions",
     R"sql(SELECT id, table_id, backbone, scale, seeds, methods, finished, wall_seconds, digest,
      signature, spec FROM {0}.reproductions)sql",
     R"sql(id IN (
  SELECT r.id FROM {0}.reproductions AS r WHERE NOT EXISTS (
    SELECT 1 FROM {0}.reproduction_runs AS m
    WHERE m.reproduction_id = r.id AND m.run_id NOT IN (SELECT value FROM json_each(?1)))))sql"},
    {"reproduction_runs", "SELECT reproduction_id, run_id, arm FROM {0}.reproduction_runs", kOwnExperiment},
    {"comparisons", R"sql(SELECT reproduction_id, split, metric, baseline, method, n, n_missing, clusters,
        baseline_mean, method_mean, delta, ci95_low, ci95_high, wins, ties, losses, t, p_value, test, note,
        claim, runs, runs_se, runs_df, runs_ci95_low, runs_ci95_high, runs_p_value
      FROM {0}.comparisons)sql",
     kOwnExperiment},
    {"alarms", R"sql(SELECT reproduction_id, split, baseline, method, guardrail, reward, reward_delta,
        reward_ci95_low, reward_ci95_high, harmful, minimal_effect, delta, ci95_low, ci95_high, p_holm, rule_version
      FROM {0}.alarms)sql",
     kOwnExperiment},
    {"artifacts", "SELECT reproduction_id, table_id, name, path, sha256, created FROM {0}.artifacts",
     kOwnExperiment},
}};

/// The first columns of a row, for people: "run_id 09db21c3, step 40, ...".
std::string row_text(SQLite::Statement& row) {
  constexpr int kShown = 5;
  std::vector<std::string> parts;
  for (int i = 0; i < std::min(kShown, row.getColumnCount()); ++i) {
    const auto value = row.getColumn(i);
    parts.push_back(fmt::format("{} {}", row.getColumnName(i),
                                value.isNull() ? "NULL" : value.getString().substr(0, 40)));
  }
  return join(parts, ", ");
}

/// The rows of one DB: all, or with `runs` those that belong to them.
std::string select_of(const Rows& rows, const char* db, bool only_own) {
  const auto all = fmt::format(fmt::runtime(rows.sql), db);
  if (!only_own) return all;
  return fmt::format("SELECT * FROM ({}) WHERE {}", all, fmt::format(fmt::runtime(rows.own), db));
}

void compare_side(SQLite::Database& db, const Rows& rows, const char* left, const char* right,
                  const std::optional<std::string>& runs, const std::string& name,
                  std::vector<std::string>& found) {
  SQLite::Statement statement(db, fmt::format("{} EXCEPT {}", select_of(rows, left, runs.has_value()),
                                              select_of(rows, right, runs.has_value())));
  if (statement.getBindParameterCount() > 0) statement.bind(1, *runs);
  std::int64_t count = 0;
  std::string first;
  while (statement.executeStep()) {
    if (count++ == 0) first = row_text(statement);
  }
  if (count > 0) {
    found.push_back(fmt::format("{}: {} {} only in {}, such as {}", rows.table, count,
                                count == 1 ? "row is" : "rows are", name, first));
  }
}

}  // namespace

std::map<std::string, std::uint64_t> log_ends(Store& store) {
  SQLite::Statement statement(store.database(), "SELECT id, log_offset FROM jobs");
  Query query(statement);
  std::map<std::string, std::uint64_t> ends;
  while (query.step()) ends[query.text(0)] = static_cast<std::uint64_t>(query.integer(1));
  return ends;
}

std::vector<std::string> differences(Store& store, const std::filesystem::path& other,
                                     const std::string& name_of_other,
                                     const std::optional<std::set<std::string>>& runs) {
  auto& db = store.database();
  try {
    SQLite::Statement attach(db, "ATTACH ?1 AS other");
    attach.bind(1, other.string());
    attach.exec();
    const auto list = runs ? std::optional(canonical_json(Json(*runs))) : std::nullopt;
    std::vector<std::string> found;
    for (const auto& rows : kRows) {
      compare_side(db, rows, "main", "other", list, "the DB", found);
      compare_side(db, rows, "other", "main", list, name_of_other, found);
    }
    db.exec("DETACH other");
    return found;
  } catch (const SQLite::Exception& failure) {
    throw database_error(failure, store.path());
  }
}

}  // namespace harness

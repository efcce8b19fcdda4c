#include "results/database_diff.h"

#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "results/sql.h"

namespace harness {
namespace {

struct Rows {
  const char* table;
  const char* sql;  ///< {0}: name of the DB
};

// What the rows of each table say, without the ids of this DB.
constexpr std::array<Rows, 18> kRows = {{
    {"prompt_sets", "SELECT name, sha256, known, origin FROM {0}.prompt_sets"},
    {"prompts", R"sql(SELECT s.sha256 AS prompt_set, position, text, target
      FROM {0}.prompts AS p JOIN {0}.prompt_sets AS s ON s.id = p.prompt_set_id)sql"},
    {"runs",
     R"sql(SELECT id, table_id, method, backbone, task, scale, seed, state, folder, weights_sha256, build,
      numerics_version, config, requested_settings, effective_settings FROM {0}.runs)sql"},
    {"table_runs", "SELECT table_id, run_id, scale, arm FROM {0}.table_runs"},
    {"checkpoints", R"sql(SELECT run_id, step, path, sha256, lambda_late, lambda_late_last, clip_fraction
      FROM {0}.checkpoints)sql"},
    {"train_stats", R"sql(SELECT run_id, update_index, timestep, name, value, fresh, on_policy
      FROM {0}.train_stats)sql"},
    {"evaluations", R"sql(SELECT e.id, c.run_id, c.step, e.split, e.n, e.state, e.folder, e.peek, e.not_run,
        p.sha256 AS prompt_set, e.split_sha256, e.seed, e.settings, e.config,
        s.rule AS selection_rule, s.metric AS selection_metric, s.candidates AS selection_candidates
      FROM {0}.evaluations AS e JOIN {0}.checkpoints AS c ON c.id = e.checkpoint_id
      JOIN {0}.prompt_sets AS p ON p.id = e.prompt_set_id
      LEFT JOIN {0}.selections AS s ON s.id = e.selection_id)sql"},
    {"table_evaluations", "SELECT table_id, evaluation_id, scale FROM {0}.table_evaluations"},
    {"samples", R"sql(SELECT evaluation_id, position, sample, seed, path, sha256, transcript, transcript_raw
      FROM {0}.samples AS s JOIN {0}.prompts AS p ON p.id = s.prompt_id)sql"},
    {"metrics", R"sql(SELECT evaluation_id, name, position, sample, value, reason
      FROM {0}.metrics AS m JOIN {0}.prompts AS p ON p.id = m.prompt_id)sql"},
    {"selections", R"sql(SELECT s.run_id, step, split, metric, rule, value, evaluation_id, candidates
      FROM {0}.selections AS s JOIN {0}.checkpoints AS c ON c.id = s.checkpoint_id)sql"},
    {"jobs", "SELECT id, kind, run_id, evaluation_id, state, log_offset, failure, folder FROM {0}.jobs"},
    {"events", "SELECT job_id, time, type, level, message, detail FROM {0}.events"},
    {"reproductions",
     R"sql(SELECT id, table_id, backbone, scale, seeds, methods, finished, wall_seconds, digest,
      signature, spec FROM {0}.reproductions)sql"},
    {"reproduction_runs", "SELECT reproduction_id, run_id, arm FROM {0}.reproduction_runs"},
    {"comparisons", R"sql(SELECT reproduction_id, split, metric, baseline, method, n, n_missing, clusters,
        baseline_mean, method_mean, delta, ci95_low, ci95_high, wins, ties, losses, t, p_value, test, note
      FROM {0}.comparisons)sql"},
    {"alarms", R"sql(SELECT reproduction_id, split, baseline, method, guardrail, reward, reward_delta,
        reward_ci95_low, reward_ci95_high, harmful, minimal_effect, delta, ci95_low, ci95_high, p_holm, rule_version
      FROM {0}.alarms)sql"},
    {"artifacts", "SELECT reproduction_id, table_id, name, path, sha256, created FROM {0}.artifacts"},
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

void compare_side(SQLite::Database& db, const Rows& rows, const char* left, const char* right,
                  const std::string& name, std::vector<std::string>& found) {
  const auto only = fmt::format("{} EXCEPT {}", fmt::format(fmt::runtime(rows.sql), left),
                                fmt::format(fmt::runtime(rows.sql), right));
  SQLite::Statement statement(db, only);
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
                                     const std::string& name_of_other) {
  auto& db = store.database();
  try {
    SQLite::Statement attach(db, "ATTACH ?1 AS other");
    attach.bind(1, other.string());
    attach.exec();
    std::vector<std::string> found;
    for (const auto& rows : kRows) {
      compare_side(db, rows, "main", "other", "the DB", found);
      compare_side(db, rows, "other", "main", name_of_other, found);
    }
    db.exec("DETACH other");
    return found;
  } catch (const SQLite::Exception& failure) {
    throw database_error(failure, store.path());
  }
}

}  // namespace harness

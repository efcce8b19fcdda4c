#include "results/store/database_diff.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/text.h"
#include "results/store/columns.h"

namespace harness {
namespace {

struct Rows {
  const char* table;
  std::string sql;  ///< {0}: name of the DB
  std::string own;  ///< which of these rows belong to the runs ?1 (a JSON list)
};

constexpr auto kOwnRun = "run_id IN (SELECT value FROM json_each(?1))";
constexpr auto kOwnEvaluation = R"sql(evaluation_id IN (
  SELECT e.id FROM {0}.evaluations AS e JOIN {0}.checkpoints AS c ON c.id = e.checkpoint_id
  WHERE c.run_id IN (SELECT value FROM json_each(?1))))sql";
constexpr auto kExperiments = R"sql( IN (
  SELECT r.id FROM {0}.reproductions AS r WHERE NOT EXISTS (
    SELECT 1 FROM {0}.reproduction_runs AS m
    WHERE m.reproduction_id = r.id AND m.run_id NOT IN (SELECT value FROM json_each(?1)))))sql";

/// What the rows of each table say, without the ids of this DB.
const std::vector<Rows>& all_rows() {
  const auto select = [](const std::string& columns, const std::string& from) {
    return "SELECT " + columns + " FROM " + from;
  };
  const std::string experiment = "reproduction_id, ";
  const auto own_experiment = std::string("reproduction_id") + kExperiments;
  const auto nth = fmt::format(", row_number() OVER (PARTITION BY {}) AS nth", select_list<EventRow>());
  static const std::vector<Rows> kRows = {
      {"prompt_sets", select(select_list<PromptSet>(), "{0}.prompt_sets"),
       "sha256 IN (SELECT sha256 FROM other.prompt_sets)"},
      {"prompts",
       select("s.sha256 AS prompt_set, " + select_list<Prompt>(),
              "{0}.prompts AS p JOIN {0}.prompt_sets AS s ON s.id = p.prompt_set_id"),
       "prompt_set IN (SELECT sha256 FROM other.prompt_sets)"},
      {"runs", select(select_list<StoredRun>({{"arm", ""}, {"created", ""}, {"finished", ""}}), "{0}.runs"),
       "id IN (SELECT value FROM json_each(?1))"},
      {"table_runs", select("table_id, run_id, scale, arm", "{0}.table_runs"), kOwnRun},
      {"checkpoints", select(select_list<CheckpointRecord>(), "{0}.checkpoints"), kOwnRun},
      {"train_stats", select(select_list<TrainStat>(), "{0}.train_stats"), kOwnRun},
      {"evaluations",
       select(select_list<StoredEvaluation>({{"id", "e.id"},
                                             {"table_id", ""},
                                             {"scale", ""},
                                             {"run_id", "c.run_id"},
                                             {"step", "c.step"},
                                             {"split", "e.split"},
                                             {"prompt_set_sha256", "p.sha256 AS prompt_set"},
                                             {"selection_id", ""},
                                             {"not_run", R"sql((SELECT json_group_object(key, value) FROM (
                                               SELECT key, value FROM json_each(e.not_run) ORDER BY key)) AS not_run)sql"},
                                             {"finished", ""}}) +
                  ", s.rule AS selection_rule, s.metric AS selection_metric, "
                  "s.candidates AS selection_candidates",
              R"sql({0}.evaluations AS e JOIN {0}.checkpoints AS c ON c.id = e.checkpoint_id
                    JOIN {0}.prompt_sets AS p ON p.id = e.prompt_set_id
                    LEFT JOIN {0}.selections AS s ON s.id = e.selection_id)sql"),
       kOwnRun},
      {"table_evaluations", select("table_id, evaluation_id, scale", "{0}.table_evaluations"),
       kOwnEvaluation},
      {"samples",
       select(select_list<SampleRow>({{"prompt_id", "position"}}),
              "{0}.samples AS s JOIN {0}.prompts AS p ON p.id = s.prompt_id"),
       kOwnEvaluation},
      {"metrics",
       select(select_list<MetricRow>({{"prompt_id", "position"}}),
              "{0}.metrics AS m JOIN {0}.prompts AS p ON p.id = m.prompt_id"),
       kOwnEvaluation},
      {"selections",
       select(select_list<SelectionRecord>({{"run_id", "s.run_id"}}),
              "{0}.selections AS s JOIN {0}.checkpoints AS c ON c.id = s.checkpoint_id"),
       kOwnRun},
      {"jobs",
       select(select_list<JobRecord>({{"folder", ""}}) + ", " + select_list<JobStatus>() + ", folder",
              "{0}.jobs"),
       kOwnRun},
      {"events", select(select_list<EventRow>() + nth, "{0}.events"),
       "job_id IN (SELECT j.id FROM {0}.jobs AS j WHERE j.run_id IN (SELECT value FROM json_each(?1)))"},
      {"reproductions",
       select("id, " + select_list<ReproductionRecord>({{"evaluations", ""}, {"runs", ""}}) +
                  ", finished, digest",
              "{0}.reproductions"),
       std::string("id") + kExperiments},
      {"reproduction_runs", select("reproduction_id, run_id, arm", "{0}.reproduction_runs"), own_experiment},
      {"comparisons", select(experiment + select_list<ComparisonRow>(), "{0}.comparisons"), own_experiment},
      {"alarms", select(experiment + select_list<AlarmRecord>(), "{0}.alarms"), own_experiment},
      {"artifacts", select(select_list<StoredArtifact>(), "{0}.artifacts"), own_experiment}};
  return kRows;
}

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

/// So that different numbers have different texts.
std::string value_text(const SQLite::Column& value) {
  if (value.isNull()) return "NULL";
  return value.isFloat() ? fmt::format("{}", value.getDouble()) : value.getString();
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

RowDiff::RowDiff(Store& store, const std::filesystem::path& other) : store_(store) {
  guarded(store_.path(), [&] {
    SQLite::Statement attach(store_.database(), "ATTACH ?1 AS other");
    attach.bind(1, other.string());
    attach.exec();
  });
}

RowDiff::~RowDiff() {
  store_.database().tryExec("DETACH other");
}

std::vector<std::string> RowDiff::summary(const std::string& name_of_other,
                                          const std::optional<std::set<std::string>>& runs) {
  const auto list = runs ? std::optional(canonical_json(Json(*runs))) : std::nullopt;
  return guarded(store_.path(), [&] {
    std::vector<std::string> found;
    for (const auto& rows : all_rows()) {
      compare_side(store_.database(), rows, "main", "other", list, "the DB", found);
      compare_side(store_.database(), rows, "other", "main", list, name_of_other, found);
    }
    return found;
  });
}

std::vector<DifferentRow> RowDiff::rows(const RowsOfJob& of, const std::string& id) {
  std::map<std::string, DifferentRow> different;
  const auto& sql = std::ranges::find(all_rows(), std::string_view(of.table), &Rows::table)->sql;
  const auto collect = [&](const char* left, const char* right, RowValues DifferentRow::*side) {
    const auto side_sql = [&](const char* db) {
      return fmt::format("SELECT {}, * FROM ({}) WHERE {} = ?1", of.name, fmt::format(fmt::runtime(sql), db),
                         of.column);
    };
    SQLite::Statement row(store_.database(), side_sql(left) + " EXCEPT " + side_sql(right));
    row.bind(1, id);
    while (row.executeStep()) {
      const auto name = row.getColumn(0).getString();
      auto& found = different[name];
      found.name = name;
      for (int i = 1; i < row.getColumnCount(); ++i)
        (found.*side).emplace_back(row.getColumnName(i), value_text(row.getColumn(i)));
    }
  };
  guarded(store_.path(), [&] {
    collect("main", "other", &DifferentRow::here);
    collect("other", "main", &DifferentRow::other);
  });
  std::vector<DifferentRow> list;
  for (auto& [name, row] : different) list.push_back(std::move(row));
  return list;
}

std::int64_t RowDiff::count(const RowsOfJob& of, const std::string& id) {
  const auto& sql = std::ranges::find(all_rows(), std::string_view(of.table), &Rows::table)->sql;
  return guarded(store_.path(), [&] {
    SQLite::Statement count(store_.database(),
                            fmt::format("SELECT count(*) FROM ({}) WHERE {} = ?1",
                                        fmt::format(fmt::runtime(sql), "main"), of.column));
    count.bind(1, id);
    count.executeStep();
    return count.getColumn(0).getInt64();
  });
}

}  // namespace harness

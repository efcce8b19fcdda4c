#include "results/store/database_diff.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/text.h"
#include "results/store/columns.h"
#include "results/store/rows.h"

namespace harness {
namespace {

// What names a table of either DB.
constexpr const char *kHere = "main.", *kOther = "other.";

struct Rows {
  const char* table;
  std::string columns;
  std::string from = {};  ///< {0}: kHere or kOther; empty: the table
};

/// The content of the rows of each table, without the ids of this DB.
const std::vector<Rows>& all_rows() {
  const std::string experiment = "reproduction_id, ";
  const auto nth = fmt::format(", row_number() OVER (PARTITION BY {}) AS nth", select_list<EventRow>());
  static const std::vector<Rows> kRows = {
      {"prompt_sets", select_list<PromptSet>()},
      {"prompts", "s.sha256 AS prompt_set, " + select_list<Prompt>(),
       "{0}prompts AS p JOIN {0}prompt_sets AS s ON s.id = p.prompt_set_id"},
      {"runs", select_list<StoredRun>({{"arm", ""}, {"created", ""}, {"finished", ""}})},
      {"table_runs", "table_id, run_id, scale, arm"},
      {"checkpoints", select_list<CheckpointRecord>()},
      {"train_stats", select_list<TrainStat>()},
      {"evaluations",
       select_list<StoredEvaluation>({{"id", "e.id"},
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
           ", s.rule AS selection_rule, s.metric AS selection_metric, s.candidates AS selection_candidates",
       R"sql({0}evaluations AS e JOIN {0}checkpoints AS c ON c.id = e.checkpoint_id
             JOIN {0}prompt_sets AS p ON p.id = e.prompt_set_id
             LEFT JOIN {0}selections AS s ON s.id = e.selection_id)sql"},
      {"table_evaluations", "table_id, evaluation_id, scale"},
      {"samples", select_list<SampleRow>({{"prompt_id", "position"}}),
       "{0}samples AS s JOIN {0}prompts AS p ON p.id = s.prompt_id"},
      {"metrics", select_list<MetricRow>({{"prompt_id", "position"}}),
       "{0}metrics AS m JOIN {0}prompts AS p ON p.id = m.prompt_id"},
      {"detections", select_list<DetectionRow>({{"prompt_id", "position"}}),
       "{0}detections AS d JOIN {0}prompts AS p ON p.id = d.prompt_id"},
      {"selections", select_list<SelectionRecord>({{"run_id", "s.run_id"}}),
       "{0}selections AS s JOIN {0}checkpoints AS c ON c.id = s.checkpoint_id"},
      {"jobs", select_list<JobRecord>({{"folder", ""}}) + ", " + select_list<JobStatus>() + ", folder"},
      {"events", select_list<EventRow>() + nth},
      {"reproductions",
       "id, " + select_list<ReproductionRecord>({{"evaluations", ""}, {"runs", ""}}) + ", finished, digest"},
      {"reproduction_runs", "reproduction_id, run_id, arm"},
      {"reproduction_evaluations", "reproduction_id, evaluation_id"},
      {"comparisons", experiment + select_list<ComparisonRow>()},
      {"alarms", experiment + select_list<AlarmRecord>()},
      {"artifacts", select_list<StoredArtifact>()},
      {"plans", select_list<StoredPlan>()},
      {"opened_runs", select_list<OpenedRecord>()}};
  return kRows;
}

/// The rows of one DB.
std::string select_of(const Rows& rows, const char* db) {
  const auto from =
      rows.from.empty() ? fmt::format("{}{}", db, rows.table) : fmt::format(fmt::runtime(rows.from), db);
  return fmt::format("SELECT {} FROM {}", rows.columns, from);
}

/// Of one job: its rows of one DB, each with its name before the rest.
std::string select_of(const RowsOfJob& of, const char* db) {
  const auto& rows = *std::ranges::find(all_rows(), std::string_view(of.table), &Rows::table);
  return fmt::format("SELECT {}, {} FROM ({}) WHERE {}", of.name, of.values, select_of(rows, db), of.rows);
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

void compare_side(SQLite::Database& db, const Rows& rows, const char* left, const char* right,
                  const std::string& name, std::vector<std::string>& found) {
  SQLite::Statement statement(db, fmt::format("{} EXCEPT {}", select_of(rows, left), select_of(rows, right)));
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
  const auto ends = rows_as<std::pair<const std::string, std::uint64_t>, std::string, std::uint64_t>(
      store, "SELECT id, log_offset FROM jobs");
  return {ends.begin(), ends.end()};
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

std::vector<std::string> RowDiff::summary(const std::string& name_of_other) {
  return guarded(store_.path(), [&] {
    std::vector<std::string> found;
    for (const auto& rows : all_rows()) {
      if (!store_.database().tableExists(rows.table)) {
        found.push_back(fmt::format("{}: the DB has no such table", rows.table));
        continue;
      }
      compare_side(store_.database(), rows, kHere, kOther, "the DB", found);
      compare_side(store_.database(), rows, kOther, kHere, name_of_other, found);
    }
    return found;
  });
}

std::vector<DifferentRow> RowDiff::rows(const RowsOfJob& of, const std::string& id) {
  std::map<std::string, DifferentRow> different;
  const auto collect = [&](const char* left, const char* right, RowValues DifferentRow::*side) {
    SQLite::Statement row(store_.database(), select_of(of, left) + " EXCEPT " + select_of(of, right));
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
    collect(kHere, kOther, &DifferentRow::here);
    collect(kOther, kHere, &DifferentRow::other);
  });
  std::vector<DifferentRow> list;
  for (auto& [name, row] : different) list.push_back(std::move(row));
  return list;
}

}  // namespace harness

#pragma once

#include <boost/describe/class.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>
#include <map>
#include <string_view>

#include "datasets/prompt_set.h"
#include "results/store/records.h"
#include "results/store/sql.h"

// Every record of the DB, described once: its fields are the columns of its table, in the order in which rows
// are shown. All else follows from that. A heavy header, for the .cpp files that derive something.

namespace harness {

BOOST_DESCRIBE_STRUCT(PromptSet, (), (name, sha256, known, origin))
BOOST_DESCRIBE_STRUCT(Prompt, (), (position, text, target))
BOOST_DESCRIBE_STRUCT(RunRecord, (),
                      (id, table_id, method, backbone, task, arm, scale, seed, config, folder, weights_sha256,
                       requested_settings, effective_settings, numerics_version))
BOOST_DESCRIBE_STRUCT(StoredRun, (RunRecord), (state, build, created, finished))
BOOST_DESCRIBE_STRUCT(CheckpointRecord, (),
                      (run_id, step, path, sha256, lambda_late, lambda_late_last, clip_fraction, costs))
BOOST_DESCRIBE_STRUCT(Budget, (),
                      (checkpoint, images, nfe_forward, nfe_backward, nfe_total, updates, costs, gpu_idle))
BOOST_DESCRIBE_STRUCT(TrainStat, (), (run_id, update_index, timestep, name, value, fresh, on_policy))
BOOST_DESCRIBE_STRUCT(EvaluationRecord, (),
                      (id, table_id, scale, run_id, step, split, n, folder, prompt_set_sha256, split_sha256,
                       seed, settings, config, selection_id, peek))
BOOST_DESCRIBE_STRUCT(StoredEvaluation, (EvaluationRecord), (state, not_run, finished))
BOOST_DESCRIBE_STRUCT(SampleRow, (),
                      (evaluation_id, prompt_id, sample, seed, path, sha256, transcript, transcript_raw,
                       judgement))
BOOST_DESCRIBE_STRUCT(DetectionRow, (),
                      (evaluation_id, prompt_id, sample, rank, name, score, x0, y0, x1, y1, colour, counted))
BOOST_DESCRIBE_STRUCT(StoredDetection, (DetectionRow), (position))
BOOST_DESCRIBE_STRUCT(MetricRow, (), (evaluation_id, name, prompt_id, sample, value, reason))
BOOST_DESCRIBE_STRUCT(MetricValue, (), (prompt_id, position, sample, value, reason))
BOOST_DESCRIBE_STRUCT(SelectionRecord, (),
                      (run_id, step, split, metric, rule, value, evaluation_id, candidates))
BOOST_DESCRIBE_STRUCT(StoredSelection, (SelectionRecord), (kind, id, created))
BOOST_DESCRIBE_STRUCT(JobRecord, (), (id, kind, run_id, evaluation_id, folder))
BOOST_DESCRIBE_STRUCT(JobStatus, (), (state, log_offset, failure))
BOOST_DESCRIBE_STRUCT(EventRow, (), (job_id, time, type, level, message, detail))
BOOST_DESCRIBE_STRUCT(ReproductionRecord, (),
                      (table_id, backbone, scale, seeds, methods, spec, signature, wall_seconds, evaluations,
                       runs))
BOOST_DESCRIBE_STRUCT(StoredReproduction, (ReproductionRecord), (id, finished))
BOOST_DESCRIBE_STRUCT(ComparisonNumbers, (),
                      (n, n_missing, clusters, baseline_mean, method_mean, delta, wins, ties, losses,
                       prompts_won, t, p_value, test))
/// Those that logs and databases of earlier versions lack.
inline constexpr std::string_view kLaterNumbers[] = {"prompts_won"};
BOOST_DESCRIBE_STRUCT(ComparisonKey, (), (split, metric, baseline, method))
BOOST_DESCRIBE_STRUCT(ComparisonRow, (ComparisonKey, ComparisonNumbers),
                      (ci95, note, claim, runs, runs_se, runs_df, runs_ci95, runs_p_value))
BOOST_DESCRIBE_STRUCT(AlarmRecord, (),
                      (split, baseline, method, guardrail, reward, reward_delta, reward_ci95, harmful,
                       minimal_effect, delta, ci95, p_holm, rule_version))
BOOST_DESCRIBE_STRUCT(PlanRecord, (), (digest, document))
BOOST_DESCRIBE_STRUCT(StoredPlan, (PlanRecord), (created))
BOOST_DESCRIBE_STRUCT(OpenedRecord, (), (run_id))
BOOST_DESCRIBE_STRUCT(ArtifactRecord, (), (reproduction_id, table_id, name, path, sha256))
BOOST_DESCRIBE_STRUCT(StoredArtifact, (ArtifactRecord), (created))

template <class T>
inline constexpr bool kIsInterval = std::is_same_v<T, Interval> || std::is_same_v<T, std::optional<Interval>>;

/// Calls visit(name, field) for each field of a record, in the order of its description; of a field that is a
/// described record for each of its fields.
template <class Record, class Visit>
void for_each_field(Record& record, Visit&& visit) {
  namespace describe = boost::describe;
  using Members =
      describe::describe_members<std::remove_const_t<Record>, describe::mod_public | describe::mod_inherited>;
  boost::mp11::mp_for_each<Members>([&](auto field) {
    auto& value = record.*field.pointer;
    if constexpr (describe::has_describe_members<std::remove_cvref_t<decltype(value)>>::value)
      for_each_field(value, visit);
    else
      visit(field.name, value);
  });
}

/// Calls visit(name, value) for each column: an interval has two, numbers or nothing.
template <class Record, class Visit>
void for_each_column(const Record& record, Visit&& visit) {
  for_each_field(record, [&]<class T>(const std::string& name, const T& value) {
    if constexpr (kIsInterval<T>) {
      const std::optional<Interval> interval = value;
      visit(name + "_low", interval ? std::optional(interval->low) : std::nullopt);
      visit(name + "_high", interval ? std::optional(interval->high) : std::nullopt);
    } else {
      visit(name, value);
    }
  });
}

template <class Record>
std::vector<std::string> column_names() {
  std::vector<std::string> names;
  for_each_column(Record(), [&](const std::string& name, const auto&) { names.push_back(name); });
  return names;
}

/// By column: SQL that takes its place; empty: leave it out.
using ColumnSql = std::map<std::string, std::string>;

/// "INSERT INTO jobs (id, ..., state) VALUES (:id, ..., 'planned')", for put_record. `more`: further columns
/// with their values, and fields that are none.
template <class Record>
std::string insert_sql(const std::string& table, ColumnSql more = {}) {
  std::string columns, values;
  const auto add = [&](const std::string& column, const std::string& value) {
    if (value.empty()) return;
    columns += (columns.empty() ? "" : ", ") + column;
    values += (values.empty() ? "" : ", ") + value;
  };
  for (const auto& column : column_names<Record>()) {
    const auto other = more.extract(column);
    add(column, other ? other.mapped() : ":" + column);
  }
  for (const auto& [column, value] : more) add(column, value);
  return "INSERT INTO " + table + " (" + columns + ") VALUES (" + values + ")";
}

/// "id = excluded.id, ...", for the new values of a row that is there.
template <class Record>
std::string update_list() {
  std::string list;
  for (const auto& column : column_names<Record>())
    list += (list.empty() ? "" : ", ") + column + " = excluded." + column;
  return list;
}

/// "id, c.run_id, ...", for a SELECT.
template <class Record>
std::string select_list(const ColumnSql& instead = {}) {
  std::string list;
  for (const auto& column : column_names<Record>()) {
    const auto other = instead.find(column);
    if (other != instead.end() && other->second.empty()) continue;
    list += (list.empty() ? "" : ", ") + (other == instead.end() ? column : other->second);
  }
  return list;
}

/// Binds a value to a parameter, where the statement has one of that name.
template <class T>
void bind_named(SQLite::Statement& statement, const std::string& name, const T& value) {
  const int index = statement.getIndex((":" + name).c_str());
  if (index == 0) return;
  if constexpr (std::is_same_v<T, Json> || kIsVector<T>) {
    statement.bind(index, canonical_json(value));
  } else if constexpr (std::is_same_v<T, JobState>) {
    statement.bind(index, std::string(job_state_name(value)));
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    statement.bind(index, value.string());
  } else if constexpr (std::is_same_v<T, Target>) {
    statement.bind(index, value.text());
  } else {
    bind_value(statement, index, value);
  }
}

/// Runs a statement with the parameters of a record (:run_id, :step, ...) and `more` (name, value) pairs; the
/// number of rows that it changed.
template <class Record, class... Values>
int put_record(StatementCache& sql, std::string_view text, const Record& record,
               const std::pair<const char*, Values>&... more) {
  auto& statement = sql[text];
  for_each_column(record,
                  [&](const std::string& name, const auto& value) { bind_named(statement, name, value); });
  (bind_named(statement, more.first, more.second), ...);
  return sql.run(text);
}

/// The rows of a SELECT as records, each field from the column of its name. `table`: for messages.
template <class Record, class... Values>
std::vector<Record> read_records(StatementCache& sql, const std::string& table, std::string_view text,
                                 const Values&... values) {
  auto& statement = sql[text];
  std::vector<int> columns;
  for (const auto& name : column_names<Record>()) columns.push_back(statement.getColumnIndex(name.c_str()));
  std::vector<Record> records;
  Query row(statement, values...);
  while (row.step()) {
    auto column = columns.begin();
    for_each_field(records.emplace_back(), [&]<class T>(const char* name, T& field) {
      if constexpr (kIsInterval<T>) {
        const auto low = row.real(*column++), high = row.real(*column++);
        if (low && high) field = Interval{*low, *high};
      } else {
        field = read_column<T>(row, *column++, table + "." + name);
      }
    });
  }
  return records;
}

}  // namespace harness

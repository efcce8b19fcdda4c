#include <fmt/format.h>

#include "core/text.h"
#include "results/statistics/verdict.h"
#include "results/table/markup.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

constexpr const char* kColumns =
    "record,baseline,method,seed,checkpoint,split,metric,n,n_missing,value,std,ci95_low,ci95_high,"
    "ci95_seeds_low,ci95_seeds_high,wins,ties,losses,p_value,test,p_adjusted,verdict,claim,runs,runs_ci95_low,"
    "runs_ci95_high,runs_p_value,validation_delta,task,level,prompts_ci95_low,prompts_ci95_high,prompts_p_value";

/// Shortest digits that give the same double again; empty for null.
std::string field(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return csv_field(value.get<std::string>());
  return value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump();
}

/// The values of kColumns; other members do not count.
std::string line(const Json& record) {
  std::string out;
  for (const auto& column : split(kColumns, ','))
    out.append(out.empty() ? "" : ",").append(field(record.value(column, Json())));
  return out + "\n";
}

std::string row_lines(const TableModel& model, const TableRow& row, const char* record) {
  const Json common = {{"record", record},          {"task", model.task},           {"method", row.method},
                       {"seed", or_null(row.seed)}, {"checkpoint", row.checkpoint}, {"split", row.split}};
  std::string out;
  const auto add = [&](Json values) {
    values.update(common);
    out += line(values);
  };
  const auto add_summary = [&](const std::string& metric, const Summary& summary) {
    add({{"metric", metric},
         {"n", summary.n},
         {"n_missing", summary.n_missing},
         {"value", or_null(summary.mean)},
         {"std", or_null(summary.std)}});
  };
  for (const auto& [metric, summary] : row.metrics) add_summary(metric, summary);
  for (const auto& [tag, summary] : row.by_tag) add_summary(fmt::format("{}:{}", model.by_tag, tag), summary);
  if (const auto overall = overall_of(row)) add({{"metric", model.by_tag + ":overall"}, {"value", *overall}});
  // Times are not the same twice: only where the table asks for them.
  for (const auto& column : model.columns) {
    if (const auto found = row.spent.find(column.key); found != row.spent.end())
      add({{"metric", column.key}, {"value", found->second}});
  }
  for (const auto& [name, value] : {std::pair{"lambda_late", row.lambda_late},
                                    {"clip_fraction", row.clip_fraction},
                                    {"tau", row.tau},
                                    {"damp_share", row.damp_share}}) {
    if (value) add({{"metric", name}, {"value", *value}});
  }
  return out;
}

std::string paper_lines(const TableModel& model) {
  std::string out;
  for (const auto& method : methods_of(model)) {
    for (const auto* paper : paper_rows_of(model, method)) {
      for (const auto& [metric, value] : paper_values(model, paper)) {
        out += line({{"record", "paper"},
                     {"task", model.task},
                     {"method", method},
                     {"checkpoint", or_null(paper->checkpoint)},
                     {"split", model.paper->split},
                     {"metric", metric},
                     {"n", or_null(model.paper->n)},
                     {"value", value}});
      }
    }
  }
  return out;
}

std::string comparison_line(const TableModel& model, const Comparison& comparison) {
  auto record = comparison_json(comparison);
  record["record"] = "comparison";
  record["split"] = model.split;
  record["task"] = model.task;
  record["n_missing"] = comparison.values.n_missing;
  record["value"] = record["delta"];
  record["prompts_ci95"] = record["prompts"]["ci95"];
  record["prompts_p_value"] = record["prompts"]["p_value"];
  if (const Json runs = record["runs"]; !runs.is_null()) {
    record["runs"] = runs["n"];
    record["runs_ci95"] = runs["ci95"];
    record["runs_p_value"] = runs["p_value"];
  }
  for (const std::string name : {"ci95", "ci95_seeds", "runs_ci95", "prompts_ci95"}) {
    const Json ends = record[name];
    if (ends.is_null()) continue;
    record[name + "_low"] = ends[0];
    record[name + "_high"] = ends[1];
  }
  return line(record);
}

/// A method's difference to the leaderboard's baseline; `what` is named behind the metric.
std::string board_difference(const TableModel& model, const LeaderboardRow& row, const std::string& what,
                             const std::optional<PairedComparison>& comparison) {
  if (!comparison) return {};
  const auto& board = *model.leaderboard;
  Json record = {{"record", "leaderboard-difference"},
                 {"task", model.task},
                 {"baseline", board.baseline},
                 {"method", row.method},
                 {"split", model.split},
                 {"metric", board.metric + what},
                 {"n", comparison->n},
                 {"value", or_null(comparison->delta)}};
  const auto level = row.judgement.level;
  if (const auto ci = interval_at(*comparison, claim_of(*comparison), level)) {
    record["ci95_low"] = ci->low;
    record["ci95_high"] = ci->high;
    record["level"] = level;
  }
  return line(record);
}

/// A method's mean with its group as `test` and the verdict, and its differences to the baseline at equal
/// images and at equal evaluations.
std::string leaderboard_lines(const TableModel& model) {
  const auto& board = *model.leaderboard;
  std::string out;
  for (const auto& row : board.rows) {
    Json record = {{"record", "leaderboard"},
                   {"task", model.task},
                   {"baseline", board.baseline},
                   {"method", row.method},
                   {"split", model.split},
                   {"metric", board.metric},
                   {"value", or_null(row.mean)},
                   {"p_adjusted", or_null(row.judgement.adjusted.p)},
                   {"test", row.groups.empty() ? Json() : Json("groups " + row.groups)},
                   {"verdict", row.verdict}};
    out += line(record);
    out += board_difference(model, row, "", row.at_images);
    out += board_difference(model, row, ":equal_evaluations", row.at_evaluations);
  }
  return out;
}

}  // namespace

std::string table_csv(const TableModel& model) {
  auto out = kColumns + std::string("\n");
  for (const auto& part : parts_of(model)) {
    for (const auto& row : part.reference) out += row_lines(part, row, "reference");
    for (const auto& row : part.rows) out += row_lines(part, row, "method");
    out += paper_lines(part);
    for (const auto& comparison : part.comparisons) out += comparison_line(part, comparison);
    if (part.leaderboard) out += leaderboard_lines(part);
  }
  for (const auto& note : table_view(model).all_notes()) out += line({{"record", "note"}, {"verdict", note}});
  return out;
}

namespace {
const bool kRegistered = register_table_format(
    {.name = "csv", .file = "table.csv", .place = 3, .is_complete = true, .render = table_csv});
}  // namespace

}  // namespace harness

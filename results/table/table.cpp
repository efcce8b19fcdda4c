#include "results/table/table.h"

#include <algorithm>
#include <iterator>

#include "core/error.h"
#include "core/text.h"
#include "results/statistics/verdict.h"

namespace harness {
namespace {

std::vector<TableFormat>& formats() {
  static std::vector<TableFormat> all;  // made on first use: registration runs before main
  return all;
}

void judge(TableComparison& comparison, std::optional<double> adjusted_p, double confidence) {
  // Which side is the better one does not matter here.
  const auto verdict =
      verdict_of(comparison.values, Better::kUp, {.confidence = confidence, .adjusted_p = adjusted_p});
  comparison.adjusted_p = adjusted_p;
  comparison.claim = verdict.claim;
  comparison.differs = verdict.differs;
}

}  // namespace

bool register_table_format(TableFormat format) {
  const auto behind = std::ranges::upper_bound(formats(), format.place, {}, &TableFormat::place);
  formats().insert(behind, std::move(format));
  return true;
}

const std::vector<TableFormat>& table_formats() {
  return formats();
}

const TableFormat& table_format(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& format : formats()) {
    if (format.name == name) return format;
    known.push_back(format.name);
  }
  throw Error("unknown format \"" + name + "\"", "--format", suggestion(name, known));
}

Unit unit_from_name(std::string_view name) {
  if (name == "fraction") return Unit::kFraction;
  if (name == "percent") return Unit::kPercent;
  if (name == "number" || name == "log-ratio") return Unit::kNumber;
  throw Error("unknown unit \"" + std::string(name) + "\"", "",
              "it is fraction, percent, number or log-ratio");
}

std::string_view unit_name(Unit unit) {
  switch (unit) {
    case Unit::kFraction:
      return "fraction";
    case Unit::kPercent:
      return "percent";
    case Unit::kNumber:
      break;
  }
  return "number";
}

Better better_from_name(std::string_view name) {
  if (name == "higher" || name == "up") return Better::kUp;
  if (name == "lower" || name == "down") return Better::kDown;
  if (name == "none") return Better::kNone;
  throw Error("unknown direction \"" + std::string(name) + "\"", "", "it is higher, lower or none");
}

std::vector<TableQuestion> questions_of(const std::vector<TableComparison>& comparisons,
                                        const std::string& table) {
  std::vector<TableQuestion> questions;
  for (const auto& c : comparisons)
    questions.push_back({c.baseline, c.method, c.metric, p_value_of(c.values), c.restates, table});
  return questions;
}

void adjust_comparisons(std::vector<TableComparison>& comparisons, double confidence) {
  const auto adjusted = holm_over_table(questions_of(comparisons));
  for (std::size_t i = 0; i < comparisons.size(); ++i) judge(comparisons[i], adjusted[i], confidence);
}

void heed_leaderboard(TableModel& model) {
  if (!model.leaderboard) return;
  const auto& board = *model.leaderboard;
  for (auto& c : model.comparisons) {
    if (c.baseline != board.baseline || (c.metric != board.metric && c.restates != board.metric)) continue;
    const auto row = std::ranges::find(board.rows, c.method, &LeaderboardRow::method);
    if (row == board.rows.end() || !row->at_images) continue;
    judge(c, row->adjusted_p, model.confidence);
    if (c.resolved() && row->standing != Standing::kBetter && row->standing != Standing::kWorse)
      c.board_verdict = row->verdict;
  }
}

void put_together(TableModel& whole, std::vector<TableModel> parts) {
  std::vector<TableQuestion> family;
  for (const auto& part : parts)
    std::ranges::move(questions_of(part.comparisons, part.id), std::back_inserter(family));
  auto adjusted = holm_over_table(family);
  auto next = adjusted.begin();
  for (auto& part : parts) {
    for (auto& comparison : part.comparisons) judge(comparison, *next++, part.confidence);
    part.family = family;
    std::ranges::copy(part.reference, std::back_inserter(whole.reference));
    std::ranges::copy(part.rows, std::back_inserter(whole.rows));
    std::ranges::copy(part.comparisons, std::back_inserter(whole.comparisons));
    whole.wall_seconds += part.wall_seconds;
  }
  whole.family = std::move(family);
  whole.parts = std::move(parts);
}

std::span<const TableModel> parts_of(const TableModel& model) {
  return model.parts.empty() ? std::span(&model, 1) : std::span(model.parts);
}

std::optional<double> cell_value(const TableRow& row, const TableColumn& column) {
  if (column.key == "lambda_late") return row.lambda_late;
  if (column.key == "clip_fraction") return row.clip_fraction;
  if (column.key == "tau_share") {
    if (!row.lambda_late || row.tau.value_or(0) <= 0) return std::nullopt;
    return *row.lambda_late / *row.tau;
  }
  const auto found = row.metrics.find(column.std_of.empty() ? column.key : column.std_of);
  if (found == row.metrics.end()) {
    const auto spent = row.spent.find(column.key);
    return spent == row.spent.end() ? std::nullopt : std::optional(spent->second);
  }
  return column.std_of.empty() ? found->second.mean : found->second.std;
}

std::string_view paper_name(const TableModel& model, std::string_view method) {
  const auto found = model.paper_rows.find(std::string(method));
  return found == model.paper_rows.end() ? method : std::string_view(found->second);
}

const PaperRow* paper_row_of(const TableModel& model, std::string_view method,
                             std::optional<int> checkpoint) {
  return model.paper ? model.paper->row(paper_name(model, method), model.paper_task, checkpoint) : nullptr;
}

std::vector<const PaperRow*> paper_rows_of(const TableModel& model, std::string_view method) {
  std::vector<const PaperRow*> rows;
  if (!model.every_checkpoint) {
    if (const auto* row = paper_row_of(model, method)) rows.push_back(row);
    return rows;
  }
  if (!model.paper) return rows;
  for (const auto& row : model.paper->rows) {
    if (row.method == paper_name(model, method) && row.task == model.paper_task) rows.push_back(&row);
  }
  return rows;
}

std::map<std::string, double> paper_values(const TableModel& model, const PaperRow* row) {
  std::map<std::string, double> values;
  if (!row) return values;
  for (const auto& column : model.columns) {
    const auto found = row->values.find(column.paper_key);
    if (found == row->values.end()) continue;
    values[column.stands_for.empty() ? column.key : column.stands_for] =
        paper_value_in_db_unit(*model.paper->column(column.paper_key), found->second);
  }
  return values;
}

}  // namespace harness

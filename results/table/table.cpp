#include "results/table/table.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

std::vector<TableFormat>& formats() {
  static std::vector<TableFormat> all;  // made on first use: registration runs before main
  return all;
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

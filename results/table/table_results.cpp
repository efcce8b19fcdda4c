#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

constexpr std::size_t kFixedColumns = 5;  // method, seed, split, n, checkpoint

std::string column_title(const TableColumn& column) {
  auto title = title_of(column);
  if (column.better == Better::kUp) title += " \u2191";
  if (column.better == Better::kDown) title += " \u2193";
  return title;
}

/// Adds a cell a metric; `mark_of`: what its mean is marked with; `marked`: the method whose mean this is, or
/// empty where the row is not marked.
template <class Value, class Mark>
ViewRow with_metrics(ViewRow row, const TableModel& model, const std::string& marked, Value value_of,
                     Mark mark_of) {
  for (const auto& plain : model.columns) {
    const auto column = with_notation(model, plain);
    ViewCell cell{.text = format_value(value_of(column), column), .marks = mark_of(column)};
    if (!marked.empty()) {
      const auto best = best_of_column(model, column);
      cell.strong = best && best->method == marked && best->resolved;
      if (differs_from_baseline(model, marked, column)) cell.marks += kDiffersMark;
    }
    row.cells.push_back(std::move(cell));
  }
  return row;
}

std::string mark_of_missing(const TableRow& row, const TableColumn& column) {
  return missing_values(row, column.std_of.empty() ? column.key : column.std_of) > 0 ? kIncompleteMark : "";
}

ViewRow run_row(const TableModel& model, const TableRow& run, RowKind kind, bool is_only_seed) {
  const bool is_ours = kind == RowKind::kOurs;
  const bool is_chosen = model.every_checkpoint && run.selected && is_ours;
  const ViewRow row{kind,
                    {{run.method},
                     {number_or_blank(run.seed)},
                     {run.split},
                     {fmt::format("{}", run.n)},
                     {.text = fmt::format("{}", run.checkpoint), .marks = is_chosen ? kSelectedMark : ""}}};
  return with_metrics(
      row, model, is_ours && is_only_seed && run.selected ? run.method : "",
      [&](const TableColumn& column) { return cell_value(run, column); },
      [&](const TableColumn& column) { return mark_of_missing(run, column); });
}

/// The mean of a method's seeds below them; only this row is marked then.
ViewRow mean_row(const TableModel& model, const std::string& method, RowKind kind) {
  return with_metrics(
      {kind, {{method}, {"mean"}, {model.split}, {""}, {""}}}, model, kind == RowKind::kOurs ? method : "",
      [&](const TableColumn& column) { return mean_over_seeds(model, method, column); },
      [&](const TableColumn& column) { return incomplete_mark(model, method, column); });
}

/// "80", "40, 80" and, of more than three, "20 to 80": the tested checkpoints of a method.
std::string checkpoints_text(const std::vector<const TableRow*>& runs) {
  std::set<int> tested;
  for (const auto* run : runs) tested.insert(run->checkpoint);
  if (tested.size() <= 3) return fmt::format("{}", fmt::join(tested, ", "));
  return fmt::format("{} to {}", *tested.begin(), *tested.rbegin());
}

/// Mean and standard deviation over the seeds of a method, in place of its runs.
ViewRow pooled_row(const TableModel& model, const std::vector<TableRow>& rows, const std::string& method,
                   RowKind kind) {
  std::vector<const TableRow*> runs;
  for (const auto& row : rows) {
    if (row.method == method) runs.push_back(&row);
  }
  const bool same_n =
      std::ranges::all_of(runs, [&](const TableRow* row) { return row->n == runs.front()->n; });
  auto row = with_metrics(
      {kind,
       {{method},
        {fmt::format("{}", runs.size())},
        {runs.front()->split},
        {same_n ? fmt::format("{}", runs.front()->n) : ""},
        {checkpoints_text(runs)}}},
      model, kind == RowKind::kOurs ? method : "",
      [&](const TableColumn& column) { return mean_over_seeds(model, method, column); },
      [&](const TableColumn& column) { return incomplete_mark(model, method, column); });
  for (std::size_t i = 0; i < model.columns.size(); ++i) {
    const auto column = with_notation(model, model.columns[i]);
    const bool is_counted = runs.front()->spent.contains(column.key);  // often the same in every run
    if (const auto sd = sd_over_seeds(model, method, column); sd && !(is_counted && *sd == 0))
      row.cells[kFixedColumns + i].text += fmt::format(" \u00b1 {}", format_value(sd, column));
  }
  return row;
}

ViewRow paper_row(const TableModel& model, const PaperRow& paper) {
  const bool is_chosen = model.every_checkpoint && paper.selected;
  ViewRow row{RowKind::kPaper,
              {{kPaperRowTitle},
               {""},
               {model.paper->split},
               {number_or_blank(model.paper->n)},
               {.text = number_or_blank(paper.checkpoint), .marks = is_chosen ? kSelectedMark : ""}}};
  for (const auto& column : model.columns)
    row.cells.push_back({paper_cell(model, paper, with_notation(model, column))});
  return row;
}

/// Ours over the paper's, where the two stand for the same thing.
ViewRow ratio_row(const TableModel& model, const std::string& method) {
  ViewRow row{RowKind::kPaper, {{"\u21b3 ours / paper"}, {""}, {""}, {""}, {""}}};
  const auto printed = paper_values(model, paper_row_of(model, method));
  for (const auto& column : model.columns) {
    const auto paper = printed.find(column.key);
    const auto ours = mean_over_seeds(model, method, column);
    if (!column.stands_for.empty()) {
      row.cells.push_back({column.paper_key.empty() ? "" : "not comparable"});
    } else if (paper != printed.end() && ours && paper->second != 0) {
      row.cells.push_back({fmt::format("\u00d7{:.3g}", *ours / paper->second)});
    } else {
      row.cells.push_back({""});
    }
  }
  return row;
}

void add_paper_rows(const TableModel& model, const std::string& method, ViewTable& table) {
  for (const auto* paper : paper_rows_of(model, method)) table.rows.push_back(paper_row(model, *paper));
  if (model.levels_compare && paper_row_of(model, method)) table.rows.push_back(ratio_row(model, method));
}

/// A row a method.
void add_pooled_rows(const TableModel& model, ViewTable& table) {
  if (!model.reference.empty())
    table.rows.push_back(
        pooled_row(model, model.reference, model.reference.front().method, RowKind::kReference));
  for (const auto& method : methods_of(model)) {
    table.rows.push_back(pooled_row(model, model.rows, method, RowKind::kOurs));
    add_paper_rows(model, method, table);
  }
}

/// A row a run, and the mean where there are several.
void add_run_rows(const TableModel& model, ViewTable& table) {
  const bool is_only_seed = seeds_of(model).size() <= 1;
  for (const auto& row : model.reference)
    table.rows.push_back(run_row(model, row, RowKind::kReference, is_only_seed));
  if (!is_only_seed && !model.reference.empty())
    table.rows.push_back(mean_row(model, model.reference.front().method, RowKind::kReference));
  for (const auto& method : methods_of(model)) {
    for (const auto& row : model.rows) {
      if (row.method == method) table.rows.push_back(run_row(model, row, RowKind::kOurs, is_only_seed));
    }
    if (!is_only_seed) table.rows.push_back(mean_row(model, method, RowKind::kOurs));
    add_paper_rows(model, method, table);
  }
}

ViewTable whole_results(const TableModel& model) {
  ViewTable table{.columns = {{"Method", false}, {"Seed"}, {"Split", false}, {"n"}, {"Ckpt"}}};
  for (const auto& column : model.columns) table.columns.push_back({column_title(column)});
  if (is_pooled(model)) table.columns[1].title = "Runs";
  is_pooled(model) ? add_pooled_rows(model, table) : add_run_rows(model, table);
  return table;
}

/// True where all rows but the paper's have the same text there.
bool is_uniform(const ViewTable& table, std::size_t column) {
  std::set<std::string> texts;
  for (const auto& row : table.rows) {
    if (row.kind != RowKind::kPaper) texts.insert(row.cells.at(column).text);
  }
  return texts.size() <= 1;
}

void drop_restated(const TableModel& model, std::size_t first, ViewTable& table) {
  for (std::size_t i = model.columns.size(); i-- > 0;) {
    if (is_restated(model, model.columns[i])) drop_column(table, first + i);
  }
}

}  // namespace

ViewTable results_view(const TableModel& model) {
  auto table = by_task(model, whole_results);
  const std::size_t task = first_column(model);
  for (std::size_t i = 0; i < model.columns.size(); ++i)
    table.columns.at(task + kFixedColumns + i).title = column_title(model.columns[i]);
  if (!model.show.with_restated && model.show.columns.empty())
    drop_restated(model, task + kFixedColumns, table);
  if (model.images_are_given && is_uniform(table, task + 4)) drop_column(table, task + 4);
  if (values_of(model, &TableRow::n).size() <= 1) drop_column(table, task + 3);
  if (values_of(model, &TableRow::split).size() <= 1) drop_column(table, task + 2);
  if (seeds_of(model).size() <= 1 || (is_pooled(model) && is_uniform(table, task + 1)))
    drop_column(table, task + 1);
  return table;
}

std::int64_t missing_values(const TableRow& row, const std::string& metric) {
  const auto found = row.metrics.find(metric);
  if (found == row.metrics.end()) return 0;
  const auto without_target = row.without_target.find(metric);
  return found->second.n_missing - (without_target == row.without_target.end() ? 0 : without_target->second);
}

std::string incomplete_mark(const TableModel& model, const std::string& method, const TableColumn& column) {
  for (const auto* rows : {&model.rows, &model.reference}) {
    for (const auto& row : *rows) {
      if (row.method != method || !row.selected) continue;
      if (auto mark = mark_of_missing(row, column); !mark.empty()) return mark;
    }
  }
  return {};
}

std::optional<double> sd_over_seeds(const TableModel& model, const std::string& method,
                                    const TableColumn& column) {
  std::vector<std::optional<double>> values;
  for (const auto* rows : {&model.rows, &model.reference}) {
    for (const auto& row : *rows) {
      if (row.method == method && row.selected) values.push_back(cell_value(row, column));
    }
  }
  const auto summary = summarize(values);
  return summary.n_missing == 0 ? summary.std : std::nullopt;
}

}  // namespace harness

#include <fmt/format.h>

#include <algorithm>

#include "core/geneval/record.h"
#include "results/table/table_format.h"
#include "results/table/table_notes.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

const Summary* find_tag(const TableRow& row, const std::string& tag) {
  const auto found = row.by_tag.find(tag);
  return found == row.by_tag.end() ? nullptr : &found->second;
}

std::optional<double> mean_of_tag(const TableRow& row, const std::string& tag) {
  const auto* summary = find_tag(row, tag);
  return summary == nullptr ? std::nullopt : summary->mean;
}

/// Of those that all have one.
std::optional<double> mean_of(const std::vector<std::optional<double>>& values) {
  double sum = 0;
  for (const auto& value : values) {
    if (!value) return std::nullopt;
    sum += *value;
  }
  return values.empty() ? std::nullopt : std::optional(sum / static_cast<double>(values.size()));
}

/// The rows that a table shows by tag: of a run the selected checkpoint.
std::vector<const TableRow*> rows_of(const TableModel& model, const std::string& method) {
  std::vector<const TableRow*> found;
  for (const auto* rows : {&model.reference, &model.rows}) {
    for (const auto& row : *rows) {
      if (row.method == method && row.selected) found.push_back(&row);
    }
  }
  return found;
}

template <class Value>
std::optional<double> mean_over(const std::vector<const TableRow*>& rows, Value value_of) {
  std::vector<std::optional<double>> values;
  for (const auto* row : rows) values.push_back(value_of(*row));
  return mean_of(values);
}

/// "counting (68)": with the number of images.
std::string tag_title(const TableModel& model, const std::string& tag) {
  for (const auto* rows : {&model.rows, &model.reference}) {
    for (const auto& row : *rows) {
      if (const auto* summary = find_tag(row, tag))
        return fmt::format("{} ({})", tag, summary->n + summary->n_missing);
    }
  }
  return tag;
}

ViewRow tag_row(const TableModel& model, const std::string& method, RowKind kind) {
  const auto rows = rows_of(model, method);
  const auto column = column_of(model, model.by_tag);
  ViewRow row{kind, {{method}}};
  for (const auto& tag : tags_of(model)) {
    const auto mean = mean_over(rows, [&](const TableRow& one) { return mean_of_tag(one, tag); });
    row.cells.push_back({format_value(mean, column)});
  }
  row.cells.push_back({format_value(mean_over(rows, overall_of), column)});
  return row;
}

}  // namespace

std::vector<std::string> tags_of(const TableModel& model) {
  std::vector<std::string> tags;
  for (const auto tag : kGenevalTags) {
    const auto has_tag = [&](const TableRow& row) { return find_tag(row, std::string(tag)) != nullptr; };
    if (std::ranges::any_of(model.rows, has_tag) || std::ranges::any_of(model.reference, has_tag))
      tags.emplace_back(tag);
  }
  return tags;
}

std::optional<double> overall_of(const TableRow& row) {
  std::vector<std::optional<double>> means;
  for (const auto& [tag, summary] : row.by_tag) means.push_back(summary.mean);
  return mean_of(means);
}

ViewTable by_tag_view(const TableModel& model) {
  const auto tags = tags_of(model);
  if (tags.empty()) return {};
  ViewTable table{.columns = {{title_of(column_of(model, model.by_tag)) + " by tag", false}}};
  for (const auto& tag : tags) table.columns.push_back({tag_title(model, tag)});
  table.columns.push_back({fmt::format("overall of {} tags", tags.size())});
  if (!model.reference.empty())
    table.rows.push_back(tag_row(model, model.reference.front().method, RowKind::kReference));
  for (const auto& method : methods_of(model)) table.rows.push_back(tag_row(model, method, RowKind::kOurs));
  return table;
}

std::string by_tag_note(const TableModel& model) {
  if (tags_of(model).empty()) return {};
  return fmt::format(
      "By tag: means over the images of each tag, with their number per run in brackets. Overall: the "
      "unweighted mean of the tags, as in GenEval. Tags are not compared.{}",
      model.paper ? " The paper prints no figures by tag." : "");
}

}  // namespace harness

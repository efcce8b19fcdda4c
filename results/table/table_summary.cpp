#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <iterator>
#include <span>

#include "core/text.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

constexpr const char *kBold = "1", *kGreen = "32", *kRed = "31", *kYellow = "33", *kDim = "2";

using Lines = std::vector<std::string>;

class SummaryWriter {
 public:
  SummaryWriter(const TableModel& model, const SummarySettings& settings)
      : model_(model), settings_(settings), view_(table_view(model)) {}

  std::string text() const {
    Lines lines = head();
    append(results(), lines);
    auto foot = alarms();
    append(closing(), foot);
    append(differences(settings_.lines - static_cast<int>(lines.size() + foot.size())), lines);
    append(foot, lines);
    return join(lines, "\n") + "\n";
  }

 private:
  static void append(const Lines& more, Lines& lines) { std::ranges::copy(more, std::back_inserter(lines)); }

  std::string coloured(const std::string& text, const char* colour) const {
    return settings_.colour && *colour != 0 ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : text;
  }

  /// What fits the width; a cut line ends in "\u2026".
  std::string fitted(const std::string& text) const {
    return cut_to_width(printable_line(text), settings_.width);
  }

  /// A paragraph in lines, at most `most` of them.
  Lines wrapped(const std::string& text, const char* colour, std::size_t most) const {
    auto lines = filled(printable_line(text), settings_.width);
    if (lines.size() > most) {
      lines.resize(most);
      lines.back() = fitted(lines.back() + " \u2026");
    }
    for (auto& line : lines) line = coloured(line, colour);
    return lines;
  }

  Lines head() const {
    Lines lines{coloured(fitted(view_.heading), kBold), coloured(fitted(view_.subtitle), kDim)};
    if (!view_.warning.empty()) append(wrapped(view_.warning, kYellow, 2), lines);
    lines.emplace_back();
    return lines;
  }

  Lines results() const;
  Lines differences(int room) const;

  Lines alarms() const {
    Lines lines;
    for (const auto& alarm : view_.guardrails.alarms) append(wrapped(alarm, kRed, 2), lines);
    for (const auto& note : view_.notes) {
      if (note.warns) append(wrapped(note.text, kYellow, 2), lines);
    }
    return lines;
  }

  /// As many whole commands as fit, and one in any case: each can be copied.
  std::string commands_line() const {
    auto line = "more: " + settings_.commands.front();
    for (std::size_t i = 1; i < settings_.commands.size(); ++i) {
      const auto longer = line + " \u00b7 " + settings_.commands[i];
      if (display_width(longer) > settings_.width) break;
      line = longer;
    }
    return printable_line(line);
  }

  Lines closing() const {
    Lines lines;
    const bool has_verdict = has_claim(model_, Claim::kMethods) || !model_.scale_warning.empty();
    if (!model_.comparisons.empty() && !has_verdict) {
      const auto runs = paired_runs(model_);
      lines.push_back(
          coloured(fitted(fmt::format("{} run{} per method: no verdict on the methods; add runs with {}",
                                      runs_text(runs), runs.most == 1 ? "" : "s", model_.more_runs)),
                   kYellow));
    }
    lines.emplace_back();
    const auto table = model_.artifacts.find("table.md");
    if (table != model_.artifacts.end()) lines.push_back(fitted("table: " + table->second));
    if (!settings_.commands.empty()) lines.push_back(commands_line());
    return lines;
  }

  const TableModel& model_;
  const SummarySettings& settings_;
  TableView view_;
};

/// Columns of text: widths of their widest cells.
std::vector<int> widths_of(const std::vector<std::vector<std::string>>& rows) {
  std::vector<int> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

/// Words first, then as many columns of numbers as fit; columns without values are left out.
Lines SummaryWriter::results() const {
  auto table = view_.results;
  std::erase_if(table.rows, [](const ViewRow& row) { return row.kind == RowKind::kPaper; });
  drop_blank_columns(table);
  std::vector<std::vector<std::string>> rows(1);
  for (const auto& column : table.columns) rows[0].push_back(printable_line(column.title));
  for (const auto& row : table.rows) {
    rows.emplace_back();
    for (const auto& cell : row.cells)
      rows.back().push_back(printable_line(cell.marks.empty() ? cell.text : cell.text + " " + cell.marks));
  }
  const auto widths = widths_of(rows);
  std::size_t shown = 0;
  for (int used = 0; shown < widths.size(); ++shown) {
    used += widths[shown] + (shown == 0 ? 0 : 2);
    if (used > settings_.width) break;
  }
  Lines lines;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string line;
    for (std::size_t j = 0; j < shown; ++j)
      line += (j == 0 ? "" : "  ") + padded(rows[i][j], widths[j], table.columns[j].numeric);
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(i == 0 ? coloured(line, kDim) : line);
  }
  if (shown < widths.size()) {
    const auto more = std::span(rows[0]).subspan(shown);
    lines.push_back(coloured(fitted(fmt::format("(in the table also: {})", join(more, ", "))), kDim));
  }
  return lines;
}

const char* colour_of(const Judgement& judgement) {
  return judgement.look() == "better" ? kGreen : judgement.look() == "worse" ? kRed : "";
}

/// Without what the note on the number of runs adds, so that the p-value is not cut.
std::string short_verdict(std::string text) {
  boost::replace_first(text, " between these checkpoints", "");
  return text;
}

/// The first metric's comparisons, below the name of their baseline.
Lines SummaryWriter::differences(int room) const {
  struct Row {
    std::string heading, name, numbers, verdict;
    const char* colour;
  };
  std::vector<Row> rows;
  for (const auto& part : parts_of(model_)) {
    if (part.comparisons.empty()) continue;
    const auto& metric = part.comparisons.front().metric;
    const auto column = column_of(part, metric);
    for (const auto& comparison : part.comparisons) {
      if (comparison.metric != metric) continue;
      const auto& judgement = comparison.judgement;
      const auto task = model_.parts.empty() ? "" : part.task + ": ";
      rows.push_back(
          {fmt::format("{}{}, difference to {}", task, difference_title(column), comparison.baseline),
           printable_line(comparison.method),
           format_delta(comparison.values.delta, column) + " " + format_interval(judgement.interval, column),
           short_verdict(judgement.text), colour_of(judgement)});
    }
  }
  int name = 0, numbers = 0;
  for (const auto& row : rows) {
    name = std::max(name, display_width(row.name));
    numbers = std::max(numbers, display_width(row.numbers));
  }
  Lines lines;
  std::string heading;
  std::size_t shown = 0;
  for (; shown < rows.size(); ++shown) {
    const auto& row = rows[shown];
    const bool begins = row.heading != heading;
    const int needed = begins ? 3 : 1;  // a blank line, the heading, the row
    const bool is_last = shown + 1 == rows.size();
    if (static_cast<int>(lines.size()) + needed + (is_last ? 0 : 1) > room) break;
    if (begins) {
      lines.emplace_back();
      lines.push_back(coloured(fitted(row.heading), kDim));
    }
    heading = row.heading;
    const auto line = fitted(fmt::format("{}  {}  {}", padded(row.name, name, false),
                                         padded(row.numbers, numbers, true), row.verdict));
    lines.push_back(coloured(line, row.colour));
  }
  if (shown < rows.size())
    lines.push_back(
        coloured(fmt::format("({} in the table)",
                             counted(static_cast<std::int64_t>(rows.size() - shown), "more comparison")),
                 kDim));
  return lines;
}

}  // namespace

std::string table_summary(const TableModel& model, const SummarySettings& settings) {
  auto shown = model;
  shown.show.with_restated = false;
  for (auto& part : shown.parts) part.show.with_restated = false;
  return SummaryWriter(shown, settings).text();
}

}  // namespace harness

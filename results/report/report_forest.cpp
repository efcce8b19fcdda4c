#include <fmt/format.h>

#include <algorithm>

#include "results/report/report.h"
#include "results/statistics/verdict.h"
#include "results/table/markup.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

constexpr double kWidth = 380, kLeft = 10, kRight = 370, kRowHeight = 40, kFoot = 22;

/// "better", "worse", "unresolved", or the side where neither is good: the class of a mark. Colours speak of
/// methods.
std::string verdict_class(const TableComparison& comparison, Better better) {
  return comparison.resolved() ? direction_of(*comparison.values.delta, better) : "unresolved";
}

struct ForestRow {
  const TableComparison* comparison;
  std::optional<double> paper;  ///< the printed difference, in the DB's unit; nothing if not comparable
};

std::optional<double> paper_delta(const TableModel& model, const TableComparison& comparison,
                                  const TableColumn& column) {
  const auto* paper = printed_comparison(model, comparison);
  if (paper == nullptr || !column.stands_for.empty()) return std::nullopt;
  return column.unit == Unit::kPercent ? *paper->delta / 100 : *paper->delta;
}

/// Pixels of a difference; 0 is always on the axis.
struct Scale {
  double low = 0, high = 0;

  void add(std::optional<double> value) {
    if (!value) return;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
  double pixel(double value) const {
    if (high == low) return (kLeft + kRight) / 2;
    return kLeft + 8 + (value - low) / (high - low) * (kRight - kLeft - 16);
  }
};

Scale scale_of(const std::vector<ForestRow>& rows) {
  Scale scale;
  for (const auto& [comparison, paper] : rows) {
    scale.add(comparison->values.delta);
    scale.add(paper);
    if (const auto ci = interval_of(comparison->values)) {
      scale.add(ci->low);
      scale.add(ci->high);
    }
  }
  return scale;
}

std::string row_svg(const ForestRow& row, const TableColumn& column, const Scale& scale, double top) {
  const auto& values = row.comparison->values;
  const auto interval = interval_of(values);
  const auto look = verdict_class(*row.comparison, column.better);
  const double middle = top + 29, zero = scale.pixel(0);
  auto out = fmt::format(
      "<text class=\"name\" x=\"{}\" y=\"{}\">{}{}</text><text class=\"numbers\" x=\"{}\" y=\"{}\" "
      "text-anchor=\"end\">{} {}</text>",
      kLeft, top + 15, html_text(row.comparison->method),
      row.comparison->unequal_movement ? kUnequalMovementMark : "", kRight, top + 15,
      format_delta(values.delta, column), format_interval(interval, column));
  out += fmt::format("<path class=\"zero\" d=\"M{:.1f} {}V{}\"/>", zero, top + 21, top + 38);
  if (interval) {
    out += fmt::format("<path class=\"interval {}\" d=\"M{:.1f} {}H{:.1f}\"/>", look,
                       scale.pixel(interval->low), middle, scale.pixel(interval->high));
  }
  if (row.paper) {
    out += fmt::format(
        "<path class=\"printed\" d=\"M{:.1f} {}l5 5l-5 5l-5 -5Z\"><title>paper: {}</title></path>",
        scale.pixel(*row.paper), middle - 5, format_delta(row.paper, column));
  }
  if (values.delta) {
    out += fmt::format(
        "<circle class=\"estimate {}\" cx=\"{:.1f}\" cy=\"{}\" r=\"4.5\"><title>{} wins, {} ties, {} losses, "
        "p {}</title></circle>",
        look, scale.pixel(*values.delta), middle, values.wins, values.ties, values.losses,
        html_text(format_p_value(p_value_of(values))));
  }
  return out;
}

/// Good and bad sides where a row speaks of a method; of checkpoints, what a side is.
std::string side_names(const std::vector<ForestRow>& rows, Better better, double zero, double foot) {
  const bool of_methods = std::ranges::any_of(
      rows, [](const ForestRow& row) { return row.comparison->claim == Claim::kMethods; });
  const auto side = [&](double delta) { return direction_of(delta, of_methods ? better : Better::kNone); };
  const auto name = [&](double x, const char* anchor, const std::string& text) {
    return fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{}</text>", x, foot,
                       anchor, text);
  };
  // Where 0 is at an edge, the side without room has no rows either.
  return (zero - kLeft > 60 ? name(zero - 6, "end", "\u2190 " + side(-1)) : "") +
         (kRight - zero > 60 ? name(zero + 6, "start", side(1) + " \u2192") : "");
}

std::string panel_svg(const std::vector<ForestRow>& rows, const TableColumn& column,
                      const std::string& baseline) {
  const auto scale = scale_of(rows);
  const double zero = scale.pixel(0), bottom = kRowHeight * static_cast<double>(rows.size());
  std::string body, spoken;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [comparison, paper] = rows[i];
    body += row_svg(rows[i], column, scale, kRowHeight * static_cast<double>(i));
    spoken += fmt::format(" {}: {} {}.", comparison->method, format_delta(comparison->values.delta, column),
                          format_interval(interval_of(comparison->values), column));
  }
  body += side_names(rows, column.better, zero, bottom + 17);
  return fmt::format("<svg class=\"forest\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}</svg>",
                     kWidth, bottom + kFoot,
                     html_text(fmt::format("{} minus {}.{}", difference_title(column), baseline, spoken)),
                     body);
}

std::vector<ForestRow> rows_of(const TableModel& model, const std::string& baseline,
                               const std::string& metric) {
  std::vector<ForestRow> rows;
  for (const auto& comparison : model.comparisons) {
    if (comparison.baseline != baseline || comparison.metric != metric || !comparison.values.delta) continue;
    rows.push_back({&comparison, paper_delta(model, comparison, column_of(model, metric))});
  }
  return rows;
}

std::string group_html(const TableModel& model, const std::string& baseline) {
  std::string out = fmt::format("<h3>Against {}</h3>\n<div class=\"panels\">\n", html_text(baseline));
  // In the order of the table's columns, then those that are no column.
  auto metrics = distinct_of(model.columns, &TableColumn::key);
  std::ranges::copy(texts_of(model.comparisons, &TableComparison::metric), std::back_inserter(metrics));
  for (const auto& metric : distinct_of(metrics, std::identity())) {
    const auto rows = rows_of(model, baseline, metric);
    if (rows.empty()) continue;
    const auto column = column_of(model, metric);
    out += fmt::format("<figure><figcaption>{}</figcaption>{}</figure>\n",
                       html_text(difference_title(column)), panel_svg(rows, column, baseline));
  }
  return out + "</div>\n";
}

std::string tile_verdict(const TableModel& model, const TableComparison& comparison, Better better) {
  if (comparison.resolved())
    return fmt::format("{} than {}", direction_of(*comparison.values.delta, better), comparison.baseline);
  if (comparison.differs) return fmt::format("these checkpoints differ from {}'s", comparison.baseline);
  return fmt::format("against {}: {}", comparison.baseline, verdict_text(model, comparison));
}

std::string tile_html(const TableModel& model, const TableComparison& comparison, const TableColumn& column) {
  const auto& values = comparison.values;
  const auto outcomes =
      fmt::format("{} wins, {} ties, {} losses of {}", values.wins, values.ties, values.losses, values.n);
  return fmt::format(
      "<li class=\"{}\"><b>{}</b><span class=\"verdict\">{}</span><span class=\"big\">{}</span>"
      "<span>{} {}</span><span>{}</span></li>\n",
      verdict_class(comparison, column.better), html_text(comparison.method),
      html_text(tile_verdict(model, comparison, column.better)), format_delta(values.delta, column),
      html_text(difference_title(column)), format_interval(interval_of(values), column), outcomes);
}

}  // namespace

std::string report_forest_html(const Report& report) {
  std::string out;
  for (const auto& baseline : baselines_of(report.table)) out += group_html(report.table, baseline);
  return out;
}

std::string report_verdicts_html(const Report& report) {
  std::string tiles;
  for (const auto& comparison : report.table.comparisons) {
    if (comparison.baseline == report.table.baseline && comparison.metric == report.metric) {
      tiles += tile_html(report.table, comparison, column_of(report.table, report.metric));
    }
  }
  return tiles.empty() ? tiles : "<ul class=\"tiles\">\n" + tiles + "</ul>\n";
}

}  // namespace harness

#include <fmt/format.h>

#include "results/report/report.h"
#include "results/table/table_format.h"
#include "results/table/table_html.h"

namespace harness {
namespace {

/// Every printed figure beside ours. Levels of another backbone do not compare: the difference is shown, and
/// notes qualify it.
ViewTable figures_view(const TableModel& model) {
  ViewTable view{
      {{"Method", false}, {"Figure", false}, {"Paper"}, {"Here"}, {"Here \u2212 paper"}, {"Here / paper"}},
      {}};
  for (const auto& method : methods_of(model)) {
    const auto printed = paper_values(model, paper_row_of(model, method));
    for (const auto& plain : model.columns) {
      const auto column = with_notation(model, plain);
      const auto paper = printed.find(column.stands_for.empty() ? column.key : column.stands_for);
      if (paper == printed.end()) continue;
      const auto ours = mean_over_seeds(model, method, column);
      const auto difference = ours ? std::optional(*ours - paper->second) : std::nullopt;
      const bool comparable = column.stands_for.empty();
      const bool has_ratio = ours && paper->second != 0;
      const auto ratio = has_ratio ? fmt::format("\u00d7{:.3g}", *ours / paper->second) : std::string(kDash);
      view.rows.push_back({RowKind::kOurs,
                           {{method},
                            {title_of(column)},
                            {paper_cell(model, *paper_row_of(model, method), column)},
                            {format_value(ours, column)},
                            {comparable ? format_delta(difference, column) : "not comparable"},
                            {comparable ? ratio : "not comparable"}}});
    }
  }
  // Of other models a difference between levels means nothing.
  if (!model.levels_compare) {
    for (const std::size_t column : {5, 4}) drop_column(view, column);
  }
  return view;
}

}  // namespace

std::string report_paper_html(const TableModel& model, const TableView& view) {
  std::string out;
  if (auto claims = view.claims; !claims.rows.empty()) {
    claims.columns[1].title = "Verdict here";
    claims.columns[2].title = "Figures here";
    out += "<h3>Verdicts</h3>\n" + warning_html(view) +
           fmt::format(
               "<p>A claim holds where the {} lies on its side, and does not hold where it lies on the "
               "other. Otherwise, or with fewer than {} training runs per method, it is undecided.</p>\n",
               model.over_training ? "interval over the training runs"
                                   : "difference between the methods is resolved and",
               kFewestRuns) +
           view_table_html(claims);
  }
  const auto figures = figures_view(model);
  if (figures.rows.empty()) return out;
  out += "<h3>Figures</h3>\n";
  if (!model.levels_compare) out += "<p>The models differ: levels are for orientation only.</p>\n";
  return out + view_table_html(figures);
}

}  // namespace harness

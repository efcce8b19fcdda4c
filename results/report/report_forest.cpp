#include <fmt/format.h>

#include "core/text.h"
#include "results/chart/forest.h"
#include "results/report/report.h"
#include "results/statistics/verdict.h"
#include "results/table/markup.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

constexpr std::size_t kMostTiles = 8;  ///< of more comparisons only those that show a difference get one

std::string group_html(const std::vector<Forest>& forests, const std::string& baseline) {
  std::string out = fmt::format("<h3>Against {}</h3>\n<div class=\"panels\">\n", html_text(baseline));
  for (const auto& forest : forests) {
    if (forest.baseline != baseline) continue;
    out += fmt::format("<figure><figcaption>{}</figcaption>{}</figure>\n", html_text(forest.title),
                       page_svg(forest_drawing(forest), "forest"));
  }
  return out + "</div>\n";
}

std::string tile_verdict(const Comparison& comparison) {
  const auto& judgement = comparison.judgement;
  if (judgement.resolved()) return fmt::format("{} than {}", judgement.word, comparison.baseline);
  if (judgement.differs && !judgement.is_split)
    return fmt::format("{} from {}'s", judgement.word, comparison.baseline);
  return fmt::format("against {}: {}", comparison.baseline, judgement.text);
}

std::string tile_html(const Comparison& comparison, const TableColumn& column) {
  const auto& values = comparison.values;
  const auto outcomes =
      fmt::format("{} wins, {} ties, {} losses of {}", values.wins, values.ties, values.losses, values.n);
  return fmt::format(
      "<li class=\"{}\"><b>{}</b><span class=\"verdict\">{}</span><span class=\"big\">{}</span>"
      "<span>{} {}</span><span>{}</span></li>\n",
      comparison.judgement.look(), html_text(comparison.method), html_text(tile_verdict(comparison)),
      format_delta(values.delta, column), html_text(difference_title(column)),
      format_interval(comparison.judgement.interval, column), outcomes);
}

}  // namespace

std::string report_forest_html(const Report& report) {
  const auto forests = forests_of(report.table);
  std::string out;
  for (const auto& baseline : baselines_of(report.table)) out += group_html(forests, baseline);
  return out;
}

std::string report_verdicts_html(const Report& report) {
  std::vector<const Comparison*> all, telling;
  const auto column = column_of(report.table, report.metric);
  for (const auto& comparison : report.table.comparisons) {
    if (comparison.baseline != report.table.baseline || comparison.metric != report.metric) continue;
    all.push_back(&comparison);
    if (comparison.judgement.differs) telling.push_back(&comparison);
  }
  const auto& shown = all.size() > kMostTiles ? telling : all;
  std::string tiles;
  for (const auto* comparison : shown) tiles += tile_html(*comparison, column);
  if (!tiles.empty()) tiles = "<ul class=\"tiles\">\n" + tiles + "</ul>\n";
  if (const auto others = all.size() - shown.size(); others > 0) {
    tiles += fmt::format("<p>{} with {} that show no difference: in the tables below.</p>\n",
                         counted(static_cast<std::int64_t>(others), "comparison"),
                         html_text(report.table.baseline));
  }
  return tiles;
}

}  // namespace harness

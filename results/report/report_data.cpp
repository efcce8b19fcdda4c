#include <boost/algorithm/string/replace.hpp>
#include <cmath>

#include "core/text.h"
#include "results/report/report.h"
#include "results/report/text_diff.h"

namespace harness {
namespace {

/// The best value that a metric can have: known for rates and scores from 0 to 1.
Json best_value(const TableColumn& metric) {
  if (metric.unit == Unit::kNumber || metric.better == Better::kNone) return nullptr;
  return metric.better == Better::kUp ? 1 : 0;
}

Json metrics_json(const Report& report) {
  constexpr const char* kBetterNames[] = {"up", "down", "none"};  // in the order of Better
  Json metrics = Json::array();
  for (const auto& metric : report.metrics) {
    metrics.push_back({{"key", metric.key},
                       {"title", metric.title},
                       {"percent", metric.unit == Unit::kPercent},
                       {"decimals", metric.decimals},
                       {"better", kBetterNames[static_cast<int>(metric.better)]},
                       {"best", best_value(metric)}});
  }
  return metrics;
}

Json columns_json(const Report& report) {
  Json columns = Json::array();
  for (const auto& column : report.columns) {
    columns.push_back({{"method", column.method},
                       {"seed", column.seed},
                       {"checkpoint", column.checkpoint},
                       {"base", column.is_base}});
  }
  return columns;
}

/// [[kind, text], ...] with kind as in DiffKind, 0: in the target too.
Json diff_json(const std::string& transcript, const std::string& target) {
  if (invalid_utf8_at(transcript) || invalid_utf8_at(target))
    return Json::array({Json::array({0, transcript})});
  Json runs = Json::array();
  for (const auto& run : text_diff(transcript, target)) {
    runs.push_back({static_cast<int>(run.kind), run.text});
  }
  return runs;
}

Json values_json(const ReportCell& cell, const std::vector<TableColumn>& metrics) {
  Json values = Json::array();
  for (const auto& metric : metrics) {
    const auto found = cell.values.find(metric.key);
    const bool known = found != cell.values.end() && found->second && std::isfinite(*found->second);
    values.push_back(known ? Json(*found->second) : Json());
  }
  return values;
}

/// [[class, score, x0, y0, x1, y1, colour or null, counted], ...]
Json objects_json(const ReportCell& cell) {
  Json objects = Json::array();
  for (const auto& object : cell.objects) {
    const auto& [x0, y0, x1, y1] = object.box;
    objects.push_back({object.name, object.score, x0, y0, x1, y1,
                       object.colour ? Json(*object.colour) : Json(), object.counted});
  }
  return objects;
}

/// {"v": values by metric, "d": diff of the transcript, "j": judgement, "o": objects, "z": [width, height] of
/// the image that their boxes are in, "r": {metric: why it has no value}, "n": why there is no image}; what
/// is empty or unset is left out.
Json cell_json(const ReportCell& cell, const ReportPrompt& prompt, const std::vector<TableColumn>& metrics) {
  Json out = {{"v", values_json(cell, metrics)}};
  if (cell.transcript) {
    const auto& target = prompt.prompt.target;
    out["d"] = target.record() ? Json::array({Json::array({0, *cell.transcript})})
                               : diff_json(*cell.transcript, target.words());
  }
  if (cell.judgement) out["j"] = *cell.judgement;
  if (!cell.objects.empty() && cell.width > 0) {
    out["o"] = objects_json(cell);
    out["z"] = {cell.width, cell.height};
  }
  if (!cell.reasons.empty()) out["r"] = cell.reasons;
  if (!cell.image_note.empty()) out["n"] = cell.image_note;
  return out;
}

Json prompt_json(const ReportPrompt& prompt, const std::vector<TableColumn>& metrics) {
  Json cells = Json::array();
  for (const auto& cell : prompt.cells) cells.push_back(cell_json(cell, prompt, metrics));
  const auto& [position, text, target] = prompt.prompt;
  Json out = {
      {"p", position}, {"s", prompt.sample}, {"t", target.shown()}, {"x", text}, {"c", std::move(cells)}};
  if (target.record()) out["g"] = target.tag();
  return out;
}

/// In the order in which the page shows them.
Json charts_json(const Report& report) {
  Json charts = Json::array();
  for (const auto* groups : {&report.training, &report.law}) {
    for (const auto& group : *groups) {
      for (const auto& chart : group.charts) {
        if (!is_empty(chart)) charts.push_back(chart_readout(chart));
      }
    }
  }
  return charts;
}

/// A JSON document as it may stand inside <script>.
std::string json_for_script(const Json& document) {
  return boost::replace_all_copy(document.dump(-1, ' ', false, Json::error_handler_t::replace), "<",
                                 "\\u003c");
}

}  // namespace

std::string report_data_json(const Report& report) {
  Json prompts = Json::array();
  for (const auto& prompt : report.prompts) prompts.push_back(prompt_json(prompt, report.metrics));
  return json_for_script({{"metrics", metrics_json(report)},
                          {"columns", columns_json(report)},
                          {"hero", report.highlighted},
                          {"baseline", report.table.baseline},
                          {"metric", report.metric},
                          {"prompts", std::move(prompts)},
                          {"charts", charts_json(report)}});
}

std::string report_images_json(const Report& report, std::size_t column) {
  Json images = Json::array();
  for (const auto& prompt : report.prompts) images.push_back(prompt.cells.at(column).image);
  return json_for_script(images);
}

}  // namespace harness

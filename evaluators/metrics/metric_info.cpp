#include "evaluators/metrics/metric_info.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

void require_one_of(const std::string& value, const std::vector<std::string>& known, const char* noun,
                    const std::string& where) {
  if (std::ranges::find(known, value) != known.end()) return;
  throw Error(fmt::format("unknown {} {}", noun, in_quotes(value)), where, suggestion(value, known));
}

}  // namespace

std::string direction_text(const std::string& better) {
  return better == "none" ? "no direction is better" : better + " is better";
}

Json metric_json(const MetricInfo& metric) {
  return {{"name", metric.name},     {"title", metric.title},       {"unit", metric.unit},
          {"better", metric.better}, {"decimals", metric.decimals}, {"help", metric.help}};
}

Json metrics_json(const std::vector<MetricInfo>& metrics) {
  Json list = Json::array();
  for (const auto& metric : metrics) list.push_back(metric_json(metric));
  return list;
}

MetricInfo read_metric_info(const std::string& name, Fields fields) {
  MetricInfo metric{.name = name,
                    .title = fields.optional<std::string>("title", name),
                    .unit = fields.optional<std::string>("unit", "number"),
                    .better = fields.required<std::string>("better"),
                    .help = fields.optional<std::string>("help", ""),
                    .decimals = fields.optional<int>("decimals", 4)};
  fields.finish();
  require_metric_unit(metric.unit, fields.where());
  require_metric_direction(metric.better, fields.where());
  require_decimals(metric.decimals, fields.where());
  return metric;
}

Json declared_metric_json(const MetricInfo& metric) {
  auto json = metric_json(metric);
  if (!metric.restates.empty()) json["restates"] = metric.restates;
  if (metric.perfect) json["perfect"] = *metric.perfect;
  return json;
}

MetricInfo read_declared_metric(Fields fields) {
  const auto name = fields.required<std::string>("name");
  const auto restates = fields.optional<std::string>("restates", "");
  fields.mark("perfect");
  auto metric = read_metric_info(name, fields);
  metric.restates = restates;
  if (fields.has("perfect")) metric.perfect = fields.required<double>("perfect");
  return metric;
}

void require_metric_unit(const std::string& unit, const std::string& where) {
  require_one_of(unit, {"number", "fraction", "percent"}, "unit", where + ": unit");
}

void require_metric_direction(const std::string& better, const std::string& where) {
  require_one_of(better, {"higher", "lower", "none"}, "direction", where + ": better");
}

void require_decimals(int decimals, const std::string& where) {
  if (decimals < 0 || decimals > 12) throw Error("must be 0 to 12", where + ": decimals");
}

}  // namespace harness

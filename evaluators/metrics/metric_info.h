#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// What a metric is, stated once, by the evaluator that gives it: the build's own in C++, an external scorer
/// in its scorer.json. Tables, verdicts and reports ask for it by the metric's name.
struct MetricInfo {
  std::string name, title;
  std::string unit = "number";  ///< "number", "fraction", or "percent": a fraction that is printed times 100
  std::string better = "none";  ///< the good direction: "higher", "lower" or "none"
  std::string help = {};
  int decimals = 4;
  std::string restates = {};  ///< the metric whose differences this one's are but for their sign; empty: none
  std::optional<double> perfect =
      {};  ///< the value of an image with which nothing is wrong, and no better one
};

/// "higher is better", "lower is better", "no direction is better".
std::string direction_text(const std::string& better);

/// {"name", "title", "unit", "better", "decimals", "help"}.
Json metric_json(const MetricInfo& metric);
Json metrics_json(const std::vector<MetricInfo>& metrics);

/// The fields of metric_json but for the name; only `better` must be there. Throws Error for an unknown key
/// and an impossible value.
MetricInfo read_metric_info(const std::string& name, Fields fields);

/// A metric's entry in registry.json: metric_json, with "restates" and "perfect" where they are set.
Json declared_metric_json(const MetricInfo& metric);
MetricInfo read_declared_metric(Fields fields);

/// Throws Error (where: "WHERE: unit") unless it is one of the names above; likewise the others.
void require_metric_unit(const std::string& unit, const std::string& where);
void require_metric_direction(const std::string& better, const std::string& where);
void require_decimals(int decimals, const std::string& where);

}  // namespace harness

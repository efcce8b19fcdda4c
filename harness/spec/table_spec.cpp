#include "harness/spec/table_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "core/error.h"
#include "core/text.h"

namespace harness {

std::string scale_note(const ScaleSpec& scale) {
  return fmt::format("Scale {}: {}.", scale.name, scale.note);
}

const ScaleSpec& TableSpec::scale(const std::string& name) const {
  const auto found = scales.find(name);
  if (found != scales.end()) return found->second;
  const auto known = std::views::keys(scales);
  throw Error(fmt::format("table {} has no scale \"{}\"", id, name), "--scale",
              suggestion(name, std::vector<std::string>(known.begin(), known.end())));
}

ArmSpec TableSpec::arm(const std::string& name) const {
  const auto found = arms.find(name);
  return found != arms.end() ? found->second : ArmSpec{.name = name, .method = name};
}

std::vector<std::string> TableSpec::metrics() const {
  auto all = required_metrics;
  all.insert(all.end(), optional_metrics.begin(), optional_metrics.end());
  return all;
}

bool TableSpec::names(const std::string& metric) const {
  return std::ranges::count(required_metrics, metric) + std::ranges::count(optional_metrics, metric) > 0;
}

std::string TableSpec::better(const std::string& metric) const {
  const auto column = std::ranges::find(columns, metric, &ColumnSpec::name);
  if (column != columns.end()) return column->better;
  const auto* info = metric_catalogue.find(metric);
  return info == nullptr ? "none" : info->better;
}

}  // namespace harness

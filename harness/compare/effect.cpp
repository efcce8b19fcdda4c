#include "harness/compare/effect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace harness {

void require_effect(const std::optional<double>& effect) {
  if (!effect || (std::isfinite(*effect) && *effect > 0)) return;
  throw Error(fmt::format("{:g} is not a size that a difference could have", *effect), "--effect",
              "give one above 0, for instance 0.02 (two points of a rate)");
}

void require_sensible_effect(const std::optional<double>& effect, const TableSpec& table,
                             const std::vector<std::string>& metrics) {
  if (!effect || *effect <= 1) return;
  for (const auto& column : table.columns) {
    if (std::ranges::count(metrics, column.name) == 0) continue;
    if (column.unit != "fraction" && column.unit != "percent") continue;
    throw Error(fmt::format("{} lies between 0 and 1 and cannot differ by {:g}", column.name, *effect),
                "--effect", "give a fraction: 0.02 for two points");
  }
}

}  // namespace harness

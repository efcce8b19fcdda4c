#include "results/verdict/discriminability.h"

#include <cmath>
#include <map>

#include "results/statistics/numeric.h"

namespace harness {

std::optional<double> intraclass_correlation(std::span<const RowMean> rows) {
  std::map<std::string, std::vector<double>> methods;
  std::vector<double> all;
  for (const auto& row : rows) {
    methods[row.method].push_back(row.mean);
    all.push_back(row.mean);
  }
  if (methods.size() < 2 || methods.size() == rows.size()) return std::nullopt;
  const auto n = static_cast<double>(rows.size()), k = static_cast<double>(methods.size());
  const double centre = mean(all);
  double within = 0, between = 0, size_squares = 0;
  for (const auto& [method, values] : methods) {
    const auto size = static_cast<double>(values.size()), middle = mean(values);
    within += squares_about(middle, values);
    between += size * (middle - centre) * (middle - centre);
    size_squares += size * size;
  }
  if (within + between <= kRounding * kRounding * squares_about(0, all)) return std::nullopt;
  const double between_square = between / (k - 1), within_square = within / (n - k);
  const double runs = (n - size_squares / n) / (k - 1);
  return (between_square - within_square) / (between_square + (runs - 1) * within_square);
}

std::optional<double> discrimination(std::span<const double> run_deltas) {
  if (run_deltas.size() < 2) return std::nullopt;
  const auto runs = static_cast<double>(run_deltas.size());
  const double delta = mean(run_deltas), squares = squares_about(delta, run_deltas);
  if (squares <= kRounding * kRounding * squares_about(0, run_deltas)) return std::nullopt;
  return std::abs(delta) / std::sqrt(squares / (runs - 1) / runs);
}

std::optional<NullYardstick> null_yardstick(std::span<const std::vector<double>> comparisons) {
  NullYardstick result;
  double squares = 0;
  for (const auto& run_deltas : comparisons) {
    result.runs += static_cast<std::int64_t>(run_deltas.size());
    squares += squares_about(0, run_deltas);
  }
  if (result.runs == 0) return std::nullopt;
  result.run_sd = std::sqrt(squares / static_cast<double>(result.runs));
  return result;
}

}  // namespace harness

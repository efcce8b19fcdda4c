#include <algorithm>

#include "results/table/table_view.h"

namespace harness {
namespace {

const TableComparison* find_comparison(const TableModel& model, const std::string& method,
                                       const std::string& metric) {
  for (const auto& comparison : model.comparisons) {
    if (comparison.baseline == model.baseline && comparison.method == method && comparison.metric == metric) {
      return &comparison;
    }
  }
  return nullptr;
}

/// True if method - baseline is resolved on one side: the good one (`gain`) or the bad one.
bool resolved(const TableModel& model, const std::string& method, const TableColumn& column, bool gain) {
  const auto* comparison = find_comparison(model, method, column.key);
  if (!comparison || !comparison->resolved()) return false;
  const bool above = gain == (column.better == Better::kUp);
  return above == (*comparison->values.delta > 0);
}

}  // namespace

std::vector<std::string> methods_of(const TableModel& model) {
  std::vector<std::string> methods;
  for (const auto& row : model.rows) {
    if (std::ranges::find(methods, row.method) == methods.end()) methods.push_back(row.method);
  }
  return methods;
}

std::optional<double> mean_over_seeds(const TableModel& model, const std::string& method,
                                      const TableColumn& column) {
  double sum = 0, count = 0;
  for (const auto* rows : {&model.rows, &model.reference}) {
    for (const auto& row : *rows) {
      if (row.method != method || !row.selected) continue;
      const auto value = cell_value(row, column);
      if (!value) return std::nullopt;
      sum += *value;
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

bool differs_from_baseline(const TableModel& model, const std::string& method, const TableColumn& column) {
  if (!column.std_of.empty()) return false;
  const auto* comparison = find_comparison(model, method, column.key);
  return comparison != nullptr && comparison->resolved();
}

std::optional<BestOfColumn> best_of_column(const TableModel& model, const TableColumn& column) {
  if (!column.std_of.empty()) return std::nullopt;
  const bool compared = std::ranges::any_of(
      model.comparisons, [&](const TableComparison& comparison) { return comparison.metric == column.key; });
  if (!compared || column.better == Better::kNone) return std::nullopt;
  const double sign = column.better == Better::kUp ? 1 : -1;
  std::vector<std::pair<double, std::string>> ranking;
  for (const auto& method : methods_of(model)) {
    if (const auto mean = mean_over_seeds(model, method, column)) ranking.emplace_back(-sign * *mean, method);
  }
  std::ranges::sort(ranking);
  if (ranking.size() < 2 || ranking[0].first == ranking[1].first) return std::nullopt;

  BestOfColumn best{ranking[0].second, false};
  if (best.method != model.baseline) {
    best.resolved = resolved(model, best.method, column, true);
  } else {
    best.resolved = std::all_of(ranking.begin() + 1, ranking.end(), [&](const auto& other) {
      return resolved(model, other.second, column, false);
    });
  }
  return best;
}

}  // namespace harness

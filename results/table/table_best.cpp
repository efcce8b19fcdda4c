#include <algorithm>

#include "results/table/table_view.h"

namespace harness {
namespace {

/// Whether a method gains on the table's baseline; nothing where their difference is not resolved.
std::optional<bool> gain_of(const TableModel& model, const std::string& method, const TableColumn& column) {
  for (const auto& c : model.comparisons) {
    if (c.baseline != model.baseline || c.method != method || c.metric != column.key) continue;
    if (!c.judgement.resolved()) return std::nullopt;
    return (*c.values.delta > 0) == (column.better == Better::kUp);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> methods_of(const TableModel& model) {
  return distinct_of(model.rows, &TableRow::method);
}

std::vector<std::string> baselines_of(const TableModel& model) {
  return distinct_of(model.comparisons, &Comparison::baseline);
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
  return column.std_of.empty() && gain_of(model, method, column).has_value();
}

std::optional<BestOfColumn> best_of_column(const TableModel& model, const TableColumn& column) {
  if (!column.std_of.empty()) return std::nullopt;
  const bool compared = std::ranges::count(model.comparisons, column.key, &Comparison::metric) > 0;
  if (!compared || column.better == Better::kNone) return std::nullopt;
  const double sign = column.better == Better::kUp ? 1 : -1;
  std::vector<std::pair<double, std::string>> ranking;
  for (const auto& method : methods_of(model)) {
    if (const auto mean = mean_over_seeds(model, method, column)) ranking.emplace_back(-sign * *mean, method);
  }
  std::ranges::sort(ranking);
  if (ranking.size() < 2 || ranking[0].first == ranking[1].first) return std::nullopt;

  const auto& best = ranking[0].second;
  if (best != model.baseline) return BestOfColumn{best, gain_of(model, best, column) == true};
  return BestOfColumn{best, std::all_of(ranking.begin() + 1, ranking.end(), [&](const auto& other) {
                        return gain_of(model, other.second, column) == false;
                      })};
}

}  // namespace harness

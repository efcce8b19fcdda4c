#include "results/verdict/run_variance.h"

#include <algorithm>
#include <vector>

namespace harness {
namespace {

/// Whether it was too small for so large a variance of single runs.
bool raise_to(double variance, std::optional<CrossedComparison>& crossed) {
  return crossed && raise_run_variance(variance / static_cast<double>(crossed->runs), *crossed);
}

/// values: not empty.
double median(std::vector<double> values) {
  std::ranges::sort(values);
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

RunVariances::RunVariances(std::span<const Comparison> comparisons,
                           const std::function<bool(const Comparison&)>& counts) {
  std::map<std::pair<std::string, std::string>, std::vector<const Comparison*>> groups;
  for (const auto& c : comparisons) {
    const auto& crossed = c.values.crossed;
    if (crossed && crossed->state == CrossedState::kEstimated && counts(c))
      groups[{c.baseline, c.metric}].push_back(&c);
  }
  for (const auto& [group, of_group] : groups) {
    std::vector<double> variances;  // of single runs
    for (const auto* c : of_group)
      variances.push_back(c->values.crossed->parts.runs * static_cast<double>(c->values.crossed->runs));
    const double least = median(std::move(variances));
    for (const auto* c : of_group) least_[{{c->baseline, c->method}, c->metric}] = least;
  }
}

void RunVariances::raise(Comparison& comparison, const std::function<void(CrossedComparison&)>& renew) const {
  const auto found = least_.find({{comparison.baseline, comparison.method}, comparison.metric});
  if (found == least_.end()) return;
  auto& values = comparison.values;
  if (raise_to(found->second, values.crossed)) renew(*values.crossed);
  if (values.missing && raise_to(found->second, values.missing->crossed))
    renew_interval(*values.missing->crossed);
}

void RunVariances::prefix_rows(const std::string& prefix) {
  decltype(least_) prefixed;
  for (const auto& [key, variance] : least_) {
    std::set<std::string> rows;
    for (const auto& row : key.first) rows.insert(prefix + row);
    prefixed[{rows, key.second}] = variance;
  }
  least_ = std::move(prefixed);
}

}  // namespace harness

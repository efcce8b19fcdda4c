#include "results/verdict/run_variance.h"

#include <algorithm>

namespace harness {
namespace {

/// Of single runs.
double run_variance(const CrossedComparison& crossed) {
  return crossed.parts.runs * static_cast<double>(crossed.runs);
}

void raise_to(double variance, const RenewInterval& renew, std::optional<CrossedComparison>& crossed) {
  if (crossed && raise_run_variance(variance / static_cast<double>(crossed->runs), *crossed)) renew(*crossed);
}

/// values: not empty.
double median(std::vector<double> values) {
  std::ranges::sort(values);
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

bool has_estimate(const PairedComparison& values) {
  return values.crossed && values.crossed->state == CrossedState::kEstimated;
}

void raise_to(double variance, const RenewInterval& renew, PairedComparison& values) {
  raise_to(variance, renew, values.crossed);
  if (values.missing) raise_to(variance, renew, values.missing->crossed);
}

}  // namespace

std::optional<double> raise_run_variances(std::span<PairedComparison* const> values,
                                          const RenewInterval& renew) {
  std::vector<double> variances;
  for (const auto* of : values) {
    if (has_estimate(*of)) variances.push_back(run_variance(*of->crossed));
  }
  if (variances.empty()) return std::nullopt;
  const double least = median(std::move(variances));
  for (auto* of : values) raise_to(least, renew, *of);
  return least;
}

RunVariances::RunVariances(std::span<Comparison> comparisons, const RenewInterval& renew) {
  std::map<std::pair<std::string, std::string>, std::vector<Comparison*>> groups;
  for (auto& c : comparisons) groups[{c.baseline, c.metric}].push_back(&c);
  for (const auto& [group, of_group] : groups) {
    std::vector<PairedComparison*> values;
    for (auto* c : of_group) values.push_back(&c->values);
    const auto least = raise_run_variances(values, renew);
    for (const auto* c : of_group) {
      if (least && has_estimate(c->values)) least_[{{c->baseline, c->method}, c->metric}] = *least;
    }
  }
}

void RunVariances::raise(Comparison& comparison) const {
  const auto found = least_.find({{comparison.baseline, comparison.method}, comparison.metric});
  if (found != least_.end()) raise_to(found->second, renew_interval, comparison.values);
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

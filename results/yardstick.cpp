#include "results/yardstick.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "results/crossed.h"
#include "results/discriminability.h"
#include "results/table.h"

namespace harness {
namespace {

using Seeds = std::set<std::int64_t>;

std::vector<double> run_deltas(const EqualPair& pair) {
  struct Sum {
    double delta = 0;
    std::int64_t n = 0;
  };
  std::map<std::int64_t, Sum> runs;
  for (const auto& value : complete_pairs(pair.pairs)) {
    auto& run = runs[value.seed];
    run.delta += *value.method - *value.baseline;
    ++run.n;
  }
  std::vector<double> deltas;
  for (const auto& [seed, sum] : runs) deltas.push_back(sum.delta / static_cast<double>(sum.n));
  return deltas;
}

/// Disjoint groups of so many seeds, in increasing order; what is left over belongs to none.
std::vector<Seeds> groups_of(const Seeds& seeds, std::size_t size) {
  std::vector<Seeds> groups;
  Seeds group;
  for (const auto seed : seeds) {
    group.insert(seed);
    if (group.size() == size) groups.push_back(std::exchange(group, {}));
  }
  return groups;
}

/// The comparisons as a table of these seeds alone judges them.
std::vector<TableComparison> judged(std::span<const EqualPair> pairs, const Seeds& seeds,
                                    const BootstrapSettings& settings) {
  std::vector<PairedMetric> parts;
  std::vector<TableComparison> comparisons;
  for (const auto& pair : pairs) {
    parts.push_back({.pairs = {}, .better = pair.better});
    std::ranges::copy_if(pair.pairs, std::back_inserter(parts.back().pairs),
                         [&](const PairedValue& value) { return seeds.contains(value.seed); });
    comparisons.push_back({.baseline = pair.first, .method = pair.second, .metric = pair.metric});
  }
  auto results = compare_paired(parts, settings);
  for (std::size_t i = 0; i < comparisons.size(); ++i) comparisons[i].values = std::move(results[i]);
  adjust_comparisons(comparisons, settings.confidence);
  return comparisons;
}

YardstickMetric& metric_of(std::vector<YardstickMetric>& metrics, const std::string& name) {
  const auto found = std::ranges::find(metrics, name, &YardstickMetric::metric);
  if (found != metrics.end()) return *found;
  return metrics.emplace_back(YardstickMetric{.metric = name});
}

/// Counts the verdicts of `claim` over groups of so many seeds.
void count_verdicts(std::span<const EqualPair> pairs, const std::vector<Seeds>& groups, Claim claim,
                    const BootstrapSettings& settings, std::vector<YardstickMetric>& metrics) {
  for (const auto& seeds : groups) {
    for (const auto& comparison : judged(pairs, seeds, settings)) {
      if (!comparison.values.delta || comparison.claim != claim) continue;
      auto& metric = metric_of(metrics, comparison.metric);
      auto& verdicts = claim == Claim::kMethods ? metric.methods : metric.checkpoints;
      ++verdicts.comparisons;
      verdicts.called += comparison.differs ? 1 : 0;
    }
  }
}

Json verdicts_json(const NullVerdicts& verdicts) {
  const auto share = static_cast<double>(verdicts.called) / static_cast<double>(verdicts.comparisons);
  return {{"comparisons", verdicts.comparisons},
          {"called", verdicts.called},
          {"share", verdicts.comparisons > 0 ? Json(share) : Json()}};
}

}  // namespace

const YardstickMetric* Yardstick::find(const std::string& metric) const {
  const auto found = std::ranges::find(metrics, metric, &YardstickMetric::metric);
  return found == metrics.end() ? nullptr : &*found;
}

std::vector<YardstickMetric> yardstick_metrics(std::span<const EqualPair> pairs,
                                               const BootstrapSettings& settings) {
  std::vector<YardstickMetric> metrics;
  std::map<std::string, std::vector<NullComparison>> differences;
  Seeds seeds;
  for (const auto& pair : pairs) {
    metric_of(metrics, pair.metric);
    differences[pair.metric].push_back({.run_deltas = run_deltas(pair)});
    for (const auto& value : complete_pairs(pair.pairs)) seeds.insert(value.seed);
  }
  for (auto& metric : metrics) {
    const auto pooled = null_yardstick(differences[metric.metric]);
    if (!pooled) continue;
    metric.run_sd = pooled->run_sd;
    metric.differences = pooled->runs;
  }
  count_verdicts(pairs, groups_of(seeds, 1), Claim::kCheckpoints, settings, metrics);
  count_verdicts(pairs, groups_of(seeds, kFewestRuns), Claim::kMethods, settings, metrics);
  std::erase_if(metrics, [](const YardstickMetric& metric) { return metric.differences == 0; });
  return metrics;
}

Json yardstick_json(const Yardstick& yardstick) {
  Json metrics = Json::object();
  for (const auto& metric : yardstick.metrics) {
    metrics[metric.metric] = {{"run_sd", metric.run_sd},
                              {"differences", metric.differences},
                              {"methods", verdicts_json(metric.methods)},
                              {"checkpoints", verdicts_json(metric.checkpoints)}};
  }
  return {{"experiment", yardstick.experiment},
          {"table", yardstick.table},
          {"method", yardstick.method},
          {"rows", yardstick.rows},
          {"seeds", yardstick.seeds},
          {"split", yardstick.split},
          {"own", yardstick.is_own},
          {"metrics", std::move(metrics)}};
}

Json calibration_json(const Calibration& calibration) {
  Json rows = Json::object();
  for (const auto& row : calibration.rows)
    rows[row.row] = {{"equal", row.is_equal}, {"metrics", row.metrics}, {"called", row.called}};
  return {{"experiment", calibration.experiment},
          {"table", calibration.table},
          {"baseline", calibration.baseline},
          {"runs", calibration.runs},
          {"rows", std::move(rows)}};
}

}  // namespace harness

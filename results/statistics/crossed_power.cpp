#include "results/statistics/crossed_power.h"

#include <cmath>

namespace harness {
namespace {

/// The true variance of the mean difference, in the parts that the rule estimates.
VarianceParts true_parts(const VarianceComponents& components, std::int64_t runs, std::int64_t clusters) {
  const auto s = static_cast<double>(runs), g = static_cast<double>(clusters);
  return {.runs = (components.run + components.residual / g) / s, .prompts = components.prompt / g};
}

bool has_spread(const VarianceComponents& components) {
  return components.run > 0 || components.prompt > 0 || components.residual > 0;
}

/// The power that more and more runs come near to: what prompts have in common in all runs stays.
double power_of_all_runs(double effect, const VarianceComponents& components, std::int64_t clusters,
                         const PowerSettings& settings) {
  const VarianceParts left{.runs = 0, .prompts = components.prompt / static_cast<double>(clusters)};
  return rejection_rate(effect, left, {kFewestRuns - 1, clusters - 1}, 1 - settings.confidence);
}

}  // namespace

double crossed_power(double effect, const VarianceComponents& components, std::int64_t runs,
                     std::int64_t clusters, const PowerSettings& settings) {
  return rejection_rate(effect, true_parts(components, runs, clusters), {runs - 1, clusters - 1},
                        1 - settings.confidence);
}

std::optional<double> crossed_detectable_effect(const VarianceComponents& components, std::int64_t runs,
                                                std::int64_t clusters, const PowerSettings& settings) {
  if (runs < 2 || clusters < 2 || !has_spread(components)) return std::nullopt;
  const double error = std::sqrt(true_parts(components, runs, clusters).total());
  const auto lack = [&](double errors) {
    return crossed_power(errors * error, components, runs, clusters, settings) - settings.power;
  };
  return zero_of(lack, 40) * error;
}

std::optional<std::int64_t> runs_needed(double effect, const VarianceComponents& components,
                                        std::int64_t clusters, const PowerSettings& settings) {
  if (effect == 0 || clusters < 2 || !has_spread(components)) return std::nullopt;
  const auto enough = [&](std::int64_t runs) {
    return crossed_power(effect, components, runs, clusters, settings) >= settings.power;
  };
  if (components.prompt > 0 && power_of_all_runs(effect, components, clusters, settings) < settings.power)
    return std::nullopt;
  return least_enough(kFewestRuns, kMostRuns, enough);
}

std::vector<DetectableAtRuns> detectable_at_usual_runs(const VarianceComponents& components,
                                                       std::int64_t clusters, const PowerSettings& settings) {
  std::vector<DetectableAtRuns> usual;
  for (const std::int64_t runs : {3, 5, 8}) {
    if (const auto effect = crossed_detectable_effect(components, runs, clusters, settings))
      usual.push_back({runs, *effect});
  }
  return usual;
}

}  // namespace harness

#include "results/statistics/power.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "results/statistics/numeric.h"

namespace harness {
namespace {

// T stays below t_crit only if chi / sqrt(freedom) exceeds 40: that never happens, and Boost's series for the
// noncentral t ends at large noncentralities.
constexpr double kCertain = 40;

/// P(|T| > t_crit) for a noncentral t with `freedom` degrees of freedom.
double power_at(double noncentrality, double freedom, const PowerSettings& settings) {
  const double critical = t_critical(freedom, 1 - settings.confidence);
  if (noncentrality > kCertain * critical) return 1;
  const boost::math::non_central_t distribution(freedom, noncentrality);
  return cdf(complement(distribution, critical)) + cdf(distribution, -critical);
}

/// Where `lack`, negative at 0, reaches 0, to `bits` bits: of the power at so many standard errors less the
/// wanted one, the smallest effect that is found.
double zero_of(const std::function<double(double)>& lack, int bits) {
  double high = 4;
  while (lack(high) < 0) high *= 2;
  return zero_between(lack, 0, high, bits);
}

/// The least count from `fewest` on that is enough; nothing where `most` are not.
std::optional<std::int64_t> least_enough(std::int64_t fewest, std::int64_t most,
                                         const std::function<bool(std::int64_t)>& enough) {
  std::int64_t low = fewest - 1, high = fewest;
  while (!enough(high)) {
    if (high == most) return std::nullopt;
    low = high;
    high = std::min(2 * high, most);
  }
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

/// The true variance of the mean difference, in the parts that the rule estimates.
VarianceParts true_parts(const VarianceComponents& components, std::int64_t runs, std::int64_t clusters) {
  const auto s = static_cast<double>(runs), g = static_cast<double>(clusters);
  return {.runs = (components.run + components.residual / g) / s, .prompts = components.prompt / g};
}

PartsFreedom freedom_of(std::int64_t runs, std::int64_t clusters) {
  return {static_cast<double>(runs - 1), static_cast<double>(clusters - 1)};
}

bool has_spread(const VarianceComponents& components) {
  return components.run > 0 || components.prompt > 0 || components.residual > 0;
}

/// The power that more and more runs come near to: what prompts have in common in all runs stays.
double power_of_all_runs(double effect, const VarianceComponents& components, std::int64_t clusters,
                         const PowerSettings& settings) {
  const VarianceParts left{.runs = 0, .prompts = components.prompt / static_cast<double>(clusters)};
  return rejection_rate(effect, left, freedom_of(kFewestRuns, clusters), 1 - settings.confidence);
}

}  // namespace

double power_of(double effect, double standard_error, std::int64_t units, const PowerSettings& settings) {
  return power_at(std::abs(effect) / standard_error, static_cast<double>(units - 1), settings);
}

std::optional<double> detectable_effect(double standard_error, std::int64_t units,
                                        const PowerSettings& settings) {
  if (units < 2 || standard_error <= 0) return std::nullopt;
  const auto freedom = static_cast<double>(units - 1);
  const auto lack = [&](double noncentrality) {
    return power_at(noncentrality, freedom, settings) - settings.power;
  };
  return zero_of(lack, 50) * standard_error;
}

Interval spread_uncertainty(std::int64_t values, double confidence) {
  const auto freedom = static_cast<double>(values - 1);
  const boost::math::chi_squared distribution(freedom);
  const double tail = (1 - confidence) / 2;
  return {std::sqrt(freedom / quantile(complement(distribution, tail))),
          std::sqrt(freedom / quantile(distribution, tail))};
}

std::optional<std::int64_t> units_needed(double effect, double standard_error, std::int64_t units,
                                         const PowerSettings& settings) {
  if (units < 2 || standard_error <= 0 || effect == 0) return std::nullopt;
  const auto enough = [&](std::int64_t wanted) {
    const double scale = std::sqrt(static_cast<double>(units) / static_cast<double>(wanted));
    return power_of(effect, standard_error * scale, wanted, settings) >= settings.power;
  };
  return least_enough(2, kMostUnits, enough);
}

double crossed_power(double effect, const VarianceComponents& components, std::int64_t runs,
                     std::int64_t clusters, const PowerSettings& settings) {
  return rejection_rate(effect, true_parts(components, runs, clusters), freedom_of(runs, clusters),
                        1 - settings.confidence);
}

std::optional<double> crossed_detectable_effect(const VarianceComponents& components, std::int64_t runs,
                                                std::int64_t clusters, const PowerSettings& settings) {
  if (runs < 2 || clusters < kFewestPrompts || !has_spread(components)) return std::nullopt;
  const double error = crossed_standard_error(components, runs, clusters);
  const auto lack = [&](double errors) {
    return crossed_power(errors * error, components, runs, clusters, settings) - settings.power;
  };
  return zero_of(lack, 40) * error;
}

std::optional<std::int64_t> runs_needed(double effect, const VarianceComponents& components,
                                        std::int64_t clusters, const PowerSettings& settings) {
  if (effect == 0 || clusters < kFewestPrompts || !has_spread(components)) return std::nullopt;
  const auto enough = [&](std::int64_t runs) {
    return crossed_power(effect, components, runs, clusters, settings) >= settings.power;
  };
  if (components.prompt > 0 && power_of_all_runs(effect, components, clusters, settings) < settings.power)
    return std::nullopt;
  return least_enough(kFewestRuns, kMostRuns, enough);
}

std::optional<std::int64_t> prompts_needed(double effect, const VarianceComponents& components,
                                           std::int64_t runs, const PowerSettings& settings) {
  if (effect == 0 || runs < 2 || !has_spread(components)) return std::nullopt;
  return least_enough(kFewestPrompts, kMostUnits, [&](std::int64_t clusters) {
    return crossed_power(effect, components, runs, clusters, settings) >= settings.power;
  });
}

double crossed_standard_error(const VarianceComponents& components, std::int64_t runs,
                              std::int64_t clusters) {
  return std::sqrt(true_parts(components, runs, clusters).total());
}

double checkpoints_standard_error(const VarianceComponents& components, std::int64_t runs,
                                  std::int64_t clusters) {
  const double of_cluster = components.prompt + components.residual / static_cast<double>(runs);
  return std::sqrt(of_cluster / static_cast<double>(clusters));
}

ImageNoise image_noise(std::span<const PairedValue> pairs) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<double>> cells;
  for (const auto& pair : complete_pairs(pairs))
    cells[{pair.seed, pair.cluster}].push_back(*pair.method - *pair.baseline);
  double images = 0, squares = 0;
  for (const auto& [cell, differences] : cells) {
    images += static_cast<double>(differences.size());
    squares += squares_about(mean(differences), differences);
  }
  const auto count = static_cast<double>(cells.size());
  if (images == count) return {};
  return {.images = images / count, .variance = squares / (images - count)};
}

VarianceComponents with_images(const VarianceComponents& components, const ImageNoise& noise, double images) {
  auto changed = components;
  const double most = components.residual * noise.images;
  const double variance = std::min(noise.variance.value_or(most), most);
  changed.residual = components.residual - variance / noise.images + variance / images;
  return changed;
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

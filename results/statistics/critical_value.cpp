#include "results/statistics/critical_value.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "results/statistics/numeric.h"

namespace harness {
namespace {

double two_sided_tail(double z) {
  return std::erfc(z / std::sqrt(2.0));
}

/// The share of the runs' critical value, R^2 / (R^2 + (kappa P)^2); odds: (P / R)^2.
double runs_weight(double odds, double kappa) {
  return 1 / (1 + odds * kappa * kappa);
}

// Quadrature

/// Estimate over truth of the runs' variance, chi^2 / freedom, on a grid of its logarithm: the trapezoidal
/// rule of a density that vanishes at both ends.
struct RunsVariance {
  explicit RunsVariance(double nu) {
    constexpr int kNodes = 80;
    constexpr double kTail = 1e-9;
    const boost::math::chi_squared chi(nu);
    const double low = std::log(quantile(chi, kTail) / nu);
    const double step = (std::log(quantile(complement(chi, kTail)) / nu) - low) / (kNodes - 1);
    for (int i = 0; i < kNodes; ++i) {
      const double y = low + step * i;
      logs.push_back(y);
      weights.push_back(std::exp(nu / 2 * (y - std::exp(y) + 1)));
    }
    const double sum = total(weights);
    for (auto& weight : weights) weight /= sum;
  }
  std::vector<double> logs, weights;  ///< [nodes]
};

// kappa at one level

/// True shares of the runs, as logarithms of R / P: at both ends the critical value is exact.
constexpr double kLowestRatio = -7, kHighestRatio = 12, kRatioStep = 0.5;
constexpr double kLowestKappa = -9, kHighestKappa = 3;  // logarithms
constexpr double kTolerance = 0.01;                     // of the level

class Calibration {
 public:
  explicit Calibration(std::int64_t freedom) : freedom_(static_cast<double>(freedom)) {
    const RunsVariance variance(freedom_);
    for (double ratio = kLowestRatio; ratio <= kHighestRatio; ratio += kRatioStep)
      truths_.push_back(nodes(variance, ratio));
  }

  double log_kappa(double level) const {
    const double t = t_critical(freedom_, level), z = normal_critical(level);
    double low = kLowestKappa, high = kHighestKappa;
    for (int i = 0; i < 14; ++i) {
      const double middle = (low + high) / 2;
      (most_false(t, z, std::exp(middle)) <= level * (1 + kTolerance) ? low : high) = middle;
    }
    return low;
  }

 private:
  struct Node {
    double weight, odds, deviations;  ///< of the estimate; (P / R)^2; sqrt(R + P) over its true value
  };

  static std::vector<Node> nodes(const RunsVariance& variance, double log_ratio) {
    const double share = 1 / (1 + std::exp(-log_ratio));
    std::vector<Node> result;
    for (std::size_t i = 0; i < variance.logs.size(); ++i) {
      const double y = variance.logs[i];
      result.push_back(
          {variance.weights[i], std::exp(-2 * (log_ratio + y)), std::sqrt(share * std::exp(y) + 1 - share)});
    }
    return result;
  }

  /// The highest rate of false differences over all true shares.
  double most_false(double t, double z, double kappa) const {
    double most = 0;
    for (const auto& truth : truths_) {
      double rate = 0;
      for (const auto& node : truth) {
        const double critical = z + (t - z) * runs_weight(node.odds, kappa);
        rate += node.weight * two_sided_tail(critical * node.deviations);
      }
      most = std::max(most, rate);
    }
    return most;
  }

  double freedom_;
  std::vector<std::vector<Node>> truths_;  ///< [true ratios][nodes]
};

// kappa at all levels

/// log kappa at the levels two_sided_tail(kStep), two_sided_tail(2 kStep), ..., and on lines between. It
/// never rises as the level falls, so that the critical value always does as the level rises.
class KappaCurve {
 public:
  explicit KappaCurve(std::int64_t freedom) {
    const Calibration calibration(freedom);
    double lowest = kHighestKappa;
    for (int i = 1; i <= kPlaces; ++i) {
      lowest = std::min(lowest, calibration.log_kappa(two_sided_tail(i * kStep)));
      values_.push_back(lowest);
    }
  }

  double at(double z) const {
    const double place = std::clamp(z / kStep - 1, 0.0, kPlaces - 1.0);
    const auto below = static_cast<std::size_t>(place), above = std::min(below + 1, values_.size() - 1);
    return std::lerp(values_[below], values_[above], place - static_cast<double>(below));
  }

 private:
  static constexpr int kPlaces = 25;
  static constexpr double kStep = 0.25;
  std::vector<double> values_;
};

const KappaCurve& kappa_curve(std::int64_t freedom) {
  static std::mutex mutex;
  static std::map<std::int64_t, KappaCurve> curves;
  const std::scoped_lock lock(mutex);
  return curves.try_emplace(freedom, freedom).first->second;
}

}  // namespace

double prompts_weight(double freedom, double level) {
  return std::exp(kappa_curve(static_cast<std::int64_t>(freedom)).at(normal_critical(level)));
}

CriticalValue::CriticalValue(const PartsFreedom& freedom, double level)
    : runs_(t_critical(freedom.runs, level)),
      prompts_(t_critical(freedom.prompts, level)),
      kappa_(prompts_weight(freedom.runs, level)) {}

double CriticalValue::operator()(const VarianceParts& parts) const {
  if (parts.runs == 0) return prompts_;
  const double ratio = parts.prompts / parts.runs;
  return std::lerp(prompts_, runs_, runs_weight(ratio * ratio, kappa_));
}

double crossed_p_value(double t, const VarianceParts& parts, const PartsFreedom& freedom) {
  constexpr double kNearest = 1e-12;
  constexpr double kFarthest = 37;  // two_sided_tail of it is the smallest that a double holds in full
  const auto excess = [&](double z) {
    return CriticalValue(freedom, two_sided_tail(z))(parts) - std::abs(t);
  };
  if (t == 0) return 1;
  if (excess(kFarthest) <= 0) return two_sided_tail(kFarthest);
  if (excess(kNearest) >= 0) return 1;
  return two_sided_tail(zero_between(excess, kNearest, kFarthest, 45));
}

double rejection_rate(double effect, const VarianceParts& parts, const PartsFreedom& freedom, double level) {
  const CriticalValue critical(freedom, level);
  const RunsVariance variance(freedom.runs);
  const boost::math::normal truth(effect, std::sqrt(parts.total()));
  double rate = 0;
  for (std::size_t i = 0; i < variance.logs.size(); ++i) {
    const VarianceParts estimate{parts.runs * std::exp(variance.logs[i]), parts.prompts};
    const double half = critical(estimate) * std::sqrt(estimate.total());
    rate += variance.weights[i] * (cdf(complement(truth, half)) + cdf(truth, -half));
  }
  return rate;
}

}  // namespace harness

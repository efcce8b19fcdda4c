#include "trainers/law/law_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/error.h"
#include "core/law_limits.h"
#include "core/require.h"
#include "trainers/law/path_variance.h"

namespace harness {
namespace {

constexpr double kInformative = 10;   // standard errors of a prediction that constrains a factor
constexpr double kSameFactor = 0.15;  // largest distance of equal factors, in natural logarithms

/// In the order in which a state holds them.
constexpr double LawErrors::*kErrors[] = {
    &LawErrors::predicted_variance, &LawErrors::drift, &LawErrors::drift_square, &LawErrors::variance,
    &LawErrors::variance_square,    &LawErrors::own,   &LawErrors::own_square};

/// Standard error of a mean from the means of a value and of its square.
double standard_error(double mean, double square, double n) {
  return std::sqrt(std::max(square - mean * mean, 0.0) / (n - 1));
}

bool deviates(double measured, double predicted, double z) {
  return std::abs(z) > kLawBreakZ && std::abs(measured - predicted) > kLawBreakShare * std::abs(predicted);
}

/// Logarithm of measured over predicted: mean over steps, and largest deviation from it.
struct Factor {
  double mean = 0, spread = 0;
  bool is(double log_factor) const { return std::abs(mean - log_factor) < kSameFactor; }
  bool is_one_for_all() const { return spread < 2 * kSameFactor; }
};

/// Over the steps with an informative prediction.
Factor factor_of(const std::vector<StepAudit>& steps, double StepAudit::*measured,
                 double StepAudit::*predicted, double StepAudit::*error) {
  std::vector<double> logs;
  for (const auto& step : steps) {
    if (std::abs(step.*predicted) < kInformative * step.*error) continue;
    logs.push_back(std::log(std::max(step.*measured / step.*predicted, 1e-12)));
  }
  if (logs.empty()) return {.mean = 0, .spread = std::numeric_limits<double>::infinity()};
  Factor factor{.mean = mean_of(logs)};
  for (const double value : logs) factor.spread = std::max(factor.spread, std::abs(value - factor.mean));
  return factor;
}

/// Slope of log(excess variance) over log(predicted variance), over steps with an excess: 1 for a factor, 0
/// for a constant floor. Empty with fewer than three such steps.
std::optional<double> excess_slope(const std::vector<StepAudit>& steps) {
  std::vector<std::pair<double, double>> points;
  for (const auto& step : steps) {
    const double excess = step.measured_variance - step.predicted_variance;
    if (excess > 0 && step.predicted_variance > 0)
      points.emplace_back(std::log(step.predicted_variance), std::log(excess));
  }
  if (points.size() < 3) return std::nullopt;
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto n = static_cast<double>(points.size());
  for (const auto& [a, b] : points) {
    x += a / n;
    y += b / n;
  }
  for (const auto& [a, b] : points) {
    xx += (a - x) * (a - x);
    xy += (a - x) * (b - y);
  }
  if (xx < 0.1) return std::nullopt;  // steps that all move alike cannot separate a floor from a factor
  return xy / xx;
}

}  // namespace

LawErrors law_errors(std::span<const double> log_ratios, std::span<const double> centers,
                     double latent_size) {
  require(!centers.empty() && log_ratios.size() == centers.size(), "one log-ratio a centre");
  const auto n = static_cast<double>(centers.size());
  const double unbiased = n > 1 ? n / (n - 1) : 0;
  const double mean_log_ratio = mean_of(log_ratios), mean_center = mean_of(centers);
  LawErrors errors;
  for (std::size_t i = 0; i < centers.size(); ++i) {
    const double drift = log_ratios[i] + centers[i] / 2, own = centers[i] / latent_size;
    const double y = log_ratios[i] - mean_log_ratio, center = centers[i] - mean_center;
    const double variance = unbiased * (y * y - center * center / 4) - own;
    errors.predicted_variance += (own + unbiased * center * center / 4) / n;
    errors.drift += drift / n;
    errors.drift_square += drift * drift / n;
    errors.variance += variance / n;
    errors.variance_square += variance * variance / n;
    errors.own += own / n;
    errors.own_square += own * own / n;
  }
  return errors;
}

double StepAudit::mean_z() const {
  return mean_se > 0 ? (measured_mean - predicted_mean) / mean_se : 0;
}

double StepAudit::variance_z() const {
  return variance_se > 0 ? (measured_variance - predicted_variance) / variance_se : 0;
}

LawAudit::LawAudit(int steps, double latent_size, double noise_level)
    : sums_(static_cast<std::size_t>(steps)), latent_size_(latent_size), noise_level_(noise_level) {}

LawErrors LawAudit::add(int step, std::span<const double> log_ratios, std::span<const double> centers) {
  const auto errors = law_errors(log_ratios, centers, latent_size_);
  if (std::ranges::all_of(centers, [](double center) { return center == 0; })) return errors;
  const auto n = static_cast<double>(centers.size());
  auto& sums = sums_[static_cast<std::size_t>(step)];
  sums.samples += n;
  sums.log_ratio += n * mean_of(log_ratios);
  sums.center += n * mean_of(centers);
  for (const auto error : kErrors) sums.*error += n * errors.*error;
  return errors;
}

std::vector<StepAudit> LawAudit::steps() const {
  std::vector<StepAudit> audits;
  for (std::size_t k = 0; k < sums_.size(); ++k) {
    const auto& sums = sums_[k];
    const double n = sums.samples;
    if (n < 2) continue;
    const double predicted = sums.predicted_variance / n, excess = sums.variance / n;
    audits.push_back({.step = static_cast<int>(k),
                      .samples = static_cast<std::int64_t>(n),
                      .predicted_mean = -sums.center / n / 2,
                      .measured_mean = sums.log_ratio / n,
                      .mean_se = std::max(standard_error(sums.drift / n, sums.drift_square / n, n),
                                          std::sqrt(sums.own) / n),
                      .predicted_variance = predicted,
                      .measured_variance = predicted + excess,
                      .variance_se = std::max(standard_error(excess, sums.variance_square / n, n),
                                              std::sqrt(2 * sums.own_square) / n)});
  }
  return audits;
}

LawVerdict LawAudit::verdict() const {
  auto audits = steps();
  std::erase_if(audits, [](const StepAudit& audit) { return audit.samples < kLawEnoughSamples; });
  const StepAudit* worst = nullptr;
  bool mean_breaks = false, variance_breaks = false;
  const auto size_of = [](const StepAudit& a) {
    return std::max(std::abs(a.mean_z()), std::abs(a.variance_z()));
  };
  for (const auto& audit : audits) {
    const bool mean = deviates(audit.measured_mean, audit.predicted_mean, audit.mean_z());
    const bool variance = deviates(audit.measured_variance, audit.predicted_variance, audit.variance_z());
    mean_breaks |= mean;
    variance_breaks |= variance;
    if ((mean || variance) && (worst == nullptr || size_of(audit) > size_of(*worst))) worst = &audit;
  }
  if (worst == nullptr) return {};
  const auto seen = fmt::format(
      "step {}: log-ratio mean {:.4g} where the law predicts {:.4g} ({:+.1f} standard errors), variance "
      "{:.4g} where it predicts {:.4g} ({:+.1f}), over {} fresh samples",
      worst->step, worst->measured_mean, worst->predicted_mean, worst->mean_z(), worst->measured_variance,
      worst->predicted_variance, worst->variance_z(), worst->samples);
  const auto broken = [&](LawBreak what, const std::string& meaning) {
    return LawVerdict{.what = what, .message = seen + ". " + meaning};
  };

  auto directed = audits;
  std::erase_if(directed, [](const StepAudit& audit) { return audit.step == 0; });  // at t = 1 both are one
  const auto mean =
      factor_of(directed, &StepAudit::measured_mean, &StepAudit::predicted_mean, &StepAudit::mean_se);
  const auto variance = factor_of(audits, &StepAudit::measured_variance, &StepAudit::predicted_variance,
                                  &StepAudit::variance_se);
  const double half = noise_level_ * noise_level_ / 2;
  const double direction = 2 * std::log((1 + half) / std::abs(1 - half));
  if (mean_breaks && mean.is_one_for_all() && (mean.is(direction) || mean.is(-direction))) {
    return broken(
        LawBreak::kTimeDirection,
        fmt::format(
            "Mean and variance are off by the same factor {:.2f} at every step, which is that of a drift "
            "formula in the other time direction ((1 + a^2/2) / (1 - a^2/2))^2 at noise level a = {}: "
            "use the plus sign of E28 with a sampler that runs from noise to data",
            std::exp(mean.mean), noise_level_));
  }
  const auto slope = variance_breaks ? excess_slope(audits) : std::nullopt;
  if (slope && *slope < 0.5) {
    return broken(
        LawBreak::kPrecision,
        "The excess of variance does not shrink where the policy hardly moves: a floor of rounding errors. "
        "Compute means and log-probabilities in float32 or better, and the log-ratio from the difference of "
        "the means and not as a difference of two stored log-probabilities");
  }
  if (variance_breaks && !mean_breaks && variance.is_one_for_all()) {
    return broken(
        LawBreak::kDiffusion,
        fmt::format(
            "The mean obeys the law, but the variance is {:.2f} times the predicted one at every step: the "
            "samples were drawn with a standard deviation {:.2f} times the one that the log-ratio divides "
            "by. Old and new policy must share the diffusion: same noise level, schedule and shift in "
            "sampling and training",
            std::exp(variance.mean), std::exp(variance.mean / 2)));
  }
  return broken(
      LawBreak::kUnknown,
      "None of the known causes fits (time direction, diffusion that is not shared, precision): compare the "
      "sampler's mean and noise with the ones that training computes, step by step");
}

Json LawAudit::state() const {
  Json rows = Json::array();
  for (const auto& s : sums_) {
    rows.push_back({s.samples, s.log_ratio, s.center});
    for (const auto error : kErrors) rows.back().push_back(s.*error);
  }
  return rows;
}

void LawAudit::restore(const Json& state, const std::string& where) {
  if (!state.is_array() || state.size() != sums_.size())
    throw Error(fmt::format("holds the law audit of another number of steps than {}", sums_.size()), where);
  std::vector<Sums> restored;
  for (const auto& row : state) {
    const auto v = row.get<std::vector<double>>();
    if (v.size() != 3 + std::size(kErrors)) throw Error("holds a law audit of another format", where);
    auto& sums = restored.emplace_back();
    std::tie(sums.samples, sums.log_ratio, sums.center) = std::tie(v[0], v[1], v[2]);
    for (std::size_t i = 0; i < std::size(kErrors); ++i) sums.*kErrors[i] = v[3 + i];
  }
  sums_ = std::move(restored);
}

}  // namespace harness

// law-false-alarms: how often the law audit would mark a run that obeys the law, by its threshold.
//
// Simulated steps draw log-ratios from the law itself: lambda_center log-normal over samples (with the spread
// that runs have) and over updates, y normal with mean -lc / 2 and variance lc / D. They pass through the
// real audit, which is asked after every epoch, as in training. A run of K steps is marked if any of them
// deviates.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "core/law_limits.h"
#include "trainers/law/law_audit.h"

namespace harness {
namespace {

constexpr std::array kThresholds = {3.6, 4.0, 4.5, 5.0};

/// What a run shows the audit of one step: `epochs` times `updates` fresh off-policy updates of `samples`.
struct RunShape {
  const char* name;
  double latent_size;
  int steps, epochs, updates, samples;
};

constexpr RunShape kShapes[] = {{"glyph, 80 updates, 4 an epoch, samples used twice", 1152, 10, 10, 3, 32},
                                {"glyph, 80 updates, samples used once", 1152, 10, 40, 1, 32},
                                {"glyph, 80 updates, samples used twice", 1152, 10, 20, 1, 32},
                                {"glyph, 8 updates", 1152, 10, 4, 1, 32},
                                {"tiny-sd3, 1000 updates", 16384, 8, 50, 3, 8},
                                {"sd35-medium, 80 updates", 65536, 9, 40, 1, 32}};

/// Standard errors by which the step is off, where it is also off by the share that counts; else 0.
double deviation_of(const StepAudit& step) {
  if (step.samples < kLawEnoughSamples) return 0;
  const auto counts = [](double measured, double predicted, double z) {
    return std::abs(measured - predicted) > kLawBreakShare * std::abs(predicted) ? std::abs(z) : 0.0;
  };
  return std::max(counts(step.measured_mean, step.predicted_mean, step.mean_z()),
                  counts(step.measured_variance, step.predicted_variance, step.variance_z()));
}

struct Deviations {
  double last = 0, largest = 0;  ///< at the end of the run; after any of its epochs
};

/// center, spread: of lambda_center, and of its logarithm over the samples of an update and over updates.
Deviations simulate(const RunShape& shape, double center, double spread, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  LawAudit audit(1, shape.latent_size, 0.7);
  Deviations deviations;
  const auto n = static_cast<std::size_t>(shape.samples);
  std::vector<double> centers(n), log_ratios(n);
  for (int epoch = 0; epoch < shape.epochs; ++epoch) {
    for (int update = 0; update < shape.updates; ++update) {
      const double size = center * std::exp(spread * normal(random));
      for (std::size_t i = 0; i < n; ++i) {
        centers[i] = size * std::exp(spread * normal(random));
        log_ratios[i] = -centers[i] / 2 + std::sqrt(centers[i] / shape.latent_size) * normal(random);
      }
      audit.add(0, log_ratios, centers);
    }
    deviations.last = deviation_of(audit.steps().front());
    deviations.largest = std::max(deviations.largest, deviations.last);
  }
  return deviations;
}

/// Of 1,000 runs of `steps` steps, those with a step that is off, if a step is with this probability.
double of_a_thousand_runs(double share, int steps) {
  return 1000 * (1 - std::pow(1 - share, steps));
}

void print_shape(const RunShape& shape, double spread, int count) {
  std::mt19937_64 random(42);
  std::array<int, kThresholds.size()> at_end{}, ever{};
  for (int i = 0; i < count; ++i) {
    const auto deviations = simulate(shape, 1e-3, spread, random);
    for (std::size_t t = 0; t < kThresholds.size(); ++t) {
      at_end[t] += deviations.last > kThresholds[t] ? 1 : 0;
      ever[t] += deviations.largest > kThresholds[t] ? 1 : 0;
    }
  }
  fmt::print("{}, spread {}\n", shape.name, spread);
  for (std::size_t t = 0; t < kThresholds.size(); ++t) {
    fmt::print("  {:.1f} standard errors: {:.2f} runs of 1,000 marked at their end, {:.2f} warned of ever\n",
               kThresholds[t], of_a_thousand_runs(static_cast<double>(at_end[t]) / count, shape.steps),
               of_a_thousand_runs(static_cast<double>(ever[t]) / count, shape.steps));
  }
}

}  // namespace
}  // namespace harness

/// law-false-alarms [STEPS]: simulated steps a line, 100,000 by default.
int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 100'000;
  for (const auto& shape : harness::kShapes) {
    for (const double spread : {0.3, 0.6}) harness::print_shape(shape, spread, count);
  }
}

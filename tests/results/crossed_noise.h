// Simulated comparisons over runs and prompts.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "results/statistics/crossed.h"
#include "results/statistics/numeric.h"

namespace harness {

using Differences = std::vector<std::vector<double>>;  // [runs][prompts]

inline std::vector<PairedValue> pairs_of(const Differences& differences) {
  std::vector<PairedValue> pairs;
  for (std::size_t s = 0; s < differences.size(); ++s) {
    for (std::size_t p = 0; p < differences[s].size(); ++p)
      pairs.push_back(
          {0.0, differences[s][p], static_cast<std::int64_t>(p), 42 + static_cast<std::int64_t>(s)});
  }
  return pairs;
}

/// Normal by Box-Muller from the generator alone: the standard's distributions differ between libraries.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : bits_(seed) {}
  double operator()(double sd) {
    const auto uniform = [this] { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; };
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return sd * radius * std::cos(6.283185307179586 * uniform());
  }

 private:
  std::mt19937_64 bits_;
};

/// Standard deviations of d = mu + a_s + b_p + e_sp.
struct Noise {
  double run, prompt, residual;
};

inline Differences simulated(const Noise& noise, double mu, std::size_t runs, std::size_t prompts,
                             Normal& normal) {
  Differences differences(runs, std::vector<double>(prompts));
  std::vector<double> shared(prompts);
  for (auto& value : shared) value = normal(noise.prompt);
  for (auto& run : differences) {
    const double shift = mu + normal(noise.run);
    for (std::size_t p = 0; p < prompts; ++p) run[p] = shift + shared[p] + normal(noise.residual);
  }
  return differences;
}

/// A mean difference, half of its interval over runs and prompts, and half of the one over prompts alone.
struct Judged {
  double delta, half_width, half_width_over_prompts;
};

inline Judged judged(const Differences& differences, double level = 0.05) {
  const std::size_t runs = differences.size(), prompts = differences.front().size();
  const auto s = static_cast<double>(runs), g = static_cast<double>(prompts);
  std::vector<RunDifference> per_run;
  std::vector<double> prompt_means(prompts, 0.0);
  for (const auto& run : differences) {
    per_run.push_back({0, mean(run)});
    for (std::size_t p = 0; p < prompts; ++p) prompt_means[p] += run[p] / s;
  }
  const double delta = mean(prompt_means);
  const auto squares = crossed_squares(differences);
  const auto parts = variance_parts(per_run, static_cast<std::int64_t>(prompts), squares.prompts / (g - 1),
                                    squares.residual / ((s - 1) * (g - 1)));
  const PartsFreedom freedom{s - 1, g - 1};
  return {delta, CriticalValue(freedom, level)(parts) * std::sqrt(parts.total()),
          t_critical(g - 1, level) * std::sqrt(squares_about(delta, prompt_means) / (g - 1) / g)};
}

}  // namespace harness

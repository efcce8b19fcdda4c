#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "results/statistics/crossed.h"
#include "results/statistics/power.h"

namespace harness {

/// More runs than this no answer of runs_needed has.
inline constexpr std::int64_t kMostRuns = 1000;

/// Power of the crossed comparison (CriticalValue) against a true mean difference of `effect` at this many
/// runs and clusters. Not the noncentral t, whose level would be another: the rule's own rate of rejection,
/// by quadrature. At least two runs and two clusters, and a component above 0.
double crossed_power(double effect, const VarianceComponents& components, std::int64_t runs,
                     std::int64_t clusters, const PowerSettings& settings = {});

/// The smallest true difference that is found with the wanted power. Nothing below two runs or two clusters,
/// or without spread.
std::optional<double> crossed_detectable_effect(const VarianceComponents& components, std::int64_t runs,
                                                std::int64_t clusters, const PowerSettings& settings = {});

/// How many runs, kFewestRuns or more, find `effect` with the wanted power on these clusters. Nothing for an
/// effect of 0, without spread, or where kMostRuns are not enough: more runs do not average out what prompts
/// have in common in all of them, and only more prompts help.
std::optional<std::int64_t> runs_needed(double effect, const VarianceComponents& components,
                                        std::int64_t clusters, const PowerSettings& settings = {});

struct DetectableAtRuns {
  std::int64_t runs = 0;
  double effect = 0;
};

/// crossed_detectable_effect at 3, 5 and 8 runs, to plan with. Empty where it says nothing.
std::vector<DetectableAtRuns> detectable_at_usual_runs(const VarianceComponents& components,
                                                       std::int64_t clusters,
                                                       const PowerSettings& settings = {});

}  // namespace harness

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "results/statistics/crossed.h"

namespace harness {

/// More units than this no answer of units_needed has.
inline constexpr std::int64_t kMostUnits = 1'000'000'000;

/// A two-sided paired t at level 1 - confidence.
struct PowerSettings {
  double confidence = 0.95;
  double power = 0.8;  ///< probability with which the test is to find the effect
};

/// Power of the test against a true mean difference of `effect`, from the noncentral t with units - 1 degrees
/// of freedom: P(|T| > t_crit), T centred at effect / standard_error (Cohen 1988, Section 2.3).
double power_of(double effect, double standard_error, std::int64_t units, const PowerSettings& settings = {});

/// The smallest true difference that the test finds with the wanted power at this many units (minimum
/// detectable effect). Nothing below 2 units or without spread.
std::optional<double> detectable_effect(double standard_error, std::int64_t units,
                                        const PowerSettings& settings = {});

/// The interval of a true standard deviation in units of the one estimated from so many values, of a normal
/// distribution: 0.52 to 6.3 at 3, 0.60 to 2.9 at 5, 0.66 to 2.0 at 8. At least 2 values.
Interval spread_uncertainty(std::int64_t values, double confidence = 0.95);

/// How many units the test needs for `effect`, the spread of the units staying as it is. Nothing for an
/// effect of 0, without spread, or where kMostUnits are not enough.
std::optional<std::int64_t> units_needed(double effect, double standard_error, std::int64_t units,
                                         const PowerSettings& settings = {});

/// More runs than this no answer of runs_needed has.
inline constexpr std::int64_t kMostRuns = 1000;

/// Power of the crossed comparison against a true mean difference of `effect`: rejection_rate, as a
/// noncentral t would have another level. At least two runs and two clusters, and a component above 0.
double crossed_power(double effect, const VarianceComponents& components, std::int64_t runs,
                     std::int64_t clusters, const PowerSettings& settings = {});

/// The smallest true difference that is found with the wanted power. Nothing below two runs or
/// kFewestPrompts, of which no claim is made, or without spread.
std::optional<double> crossed_detectable_effect(const VarianceComponents& components, std::int64_t runs,
                                                std::int64_t clusters, const PowerSettings& settings = {});

/// How many runs, kFewestRuns or more, find `effect` with the wanted power on these clusters. Nothing for an
/// effect of 0, below kFewestPrompts, without spread, or where kMostRuns are not enough: more runs do not
/// average out what prompts have in common in all of them, and only more prompts help.
std::optional<std::int64_t> runs_needed(double effect, const VarianceComponents& components,
                                        std::int64_t clusters, const PowerSettings& settings = {});

/// How many clusters, kFewestPrompts or more, find `effect` with this many runs. Nothing for an effect of 0,
/// below two runs, without spread, or where kMostUnits are not enough: more prompts do not average out what a
/// whole run has in common, and only more runs help.
std::optional<std::int64_t> prompts_needed(double effect, const VarianceComponents& components,
                                           std::int64_t runs, const PowerSettings& settings = {});

/// The true standard error of the mean difference over runs and clusters, in the metric's unit: what the
/// variance R + P of results/STATISTICS.md ("Over training runs") comes to in expectation.
double crossed_standard_error(const VarianceComponents& components, std::int64_t runs, std::int64_t clusters);

/// That of the mean difference between the checkpoints of these runs, which are not drawn:
/// sqrt((prompt + residual / runs) / clusters).
double checkpoints_standard_error(const VarianceComponents& components, std::int64_t runs,
                                  std::int64_t clusters);

/// What single images of a run and cluster differ by.
struct ImageNoise {
  double images = 1;                    ///< of a run and cluster, on average
  std::optional<double> variance = {};  ///< between images, pooled; nothing where no run and cluster has two
};
ImageNoise image_noise(std::span<const PairedValue> pairs);

/// `components` of clusters with another number of images: the residual is interaction + variance / images
/// (Searle, Casella and McCulloch 1992, chapter 4). Where the variance of images is unknown, all of the
/// residual counts as theirs, and more images help at most as much.
VarianceComponents with_images(const VarianceComponents& components, const ImageNoise& noise, double images);

struct DetectableAtRuns {
  std::int64_t runs = 0;
  double effect = 0;
};

/// crossed_detectable_effect at 3, 5 and 8 runs, to plan with. Empty where it says nothing.
std::vector<DetectableAtRuns> detectable_at_usual_runs(const VarianceComponents& components,
                                                       std::int64_t clusters,
                                                       const PowerSettings& settings = {});

}  // namespace harness

#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "results/statistics/bootstrap.h"

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

/// Where `lack`, negative at 0, reaches 0, to `bits` bits. Where it is the power at so many standard errors
/// less the wanted one: the smallest effect that is found.
double zero_of(const std::function<double(double)>& lack, int bits);

/// The least count from `fewest` on that is enough; nothing where `most` are not.
std::optional<std::int64_t> least_enough(std::int64_t fewest, std::int64_t most,
                                         const std::function<bool(std::int64_t)>& enough);

}  // namespace harness

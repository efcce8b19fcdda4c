#pragma once

#include <functional>
#include <span>

namespace harness {

inline constexpr double kRounding = 1e-12;  ///< relative; numbers that differ by less are equal

double total(std::span<const double> values);
double mean(std::span<const double> values);
double squares_about(double centre, std::span<const double> values);

// Two-sided: a standard normal deviate, or Student's t, lies beyond the critical value with probability
// `level`.
double normal_critical(double level);
double t_critical(double freedom, double level);
double t_p_value(double t, double freedom);

/// Where `function`, of different signs at `low` and `high`, is 0, to `bits` bits.
double zero_between(const std::function<double(double)>& function, double low, double high, int bits);

}  // namespace harness

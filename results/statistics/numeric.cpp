#include "results/statistics/numeric.h"

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <numeric>

namespace harness {

double total(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double mean(std::span<const double> values) {
  return total(values) / static_cast<double>(values.size());
}

double squares_about(double centre, std::span<const double> values) {
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return squares;
}

double normal_critical(double level) {
  return quantile(complement(boost::math::normal(), level / 2));
}

double t_critical(double freedom, double level) {
  return quantile(complement(boost::math::students_t(freedom), level / 2));
}

double t_p_value(double t, double freedom) {
  return 2 * cdf(complement(boost::math::students_t(freedom), std::abs(t)));
}

double zero_between(const std::function<double(double)>& function, double low, double high, int bits) {
  std::uintmax_t steps = 200;
  const auto [from, to] = boost::math::tools::toms748_solve(
      function, low, high, boost::math::tools::eps_tolerance<double>(bits), steps);
  return (from + to) / 2;
}

}  // namespace harness

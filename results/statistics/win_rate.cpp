#include "results/statistics/win_rate.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

namespace harness {

Interval wilson_interval(double rate, double n, double confidence) {
  const double z = quantile(complement(boost::math::normal(), (1 - confidence) / 2)), z2 = z * z;
  const double centre = rate + z2 / (2 * n);
  const double half = z * std::sqrt(rate * (1 - rate) / n + z2 / (4 * n * n));
  const double scale = 1 + z2 / n;
  return {std::max(0.0, (centre - half) / scale), std::min(1.0, (centre + half) / scale)};
}

std::optional<WinRate> win_rate(std::int64_t wins, std::int64_t ties, std::int64_t losses,
                                std::int64_t clusters, double confidence) {
  const auto pairs = static_cast<double>(wins + ties + losses);
  if (pairs == 0) return std::nullopt;
  const double rate = (static_cast<double>(wins) + static_cast<double>(ties) / 2) / pairs;
  return WinRate{rate, wilson_interval(rate, static_cast<double>(clusters), confidence)};
}

}  // namespace harness

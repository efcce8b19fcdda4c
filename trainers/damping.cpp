#include "trainers/damping.h"

#include <algorithm>
#include <cmath>

namespace harness {

std::optional<Damping> damping_of(const std::vector<double>& weights) {
  if (std::ranges::all_of(weights, [](double w) { return std::isnan(w); })) return {};
  double sum = 0, below = 0;
  for (const double w : weights) {
    sum += std::isnan(w) ? 1 : w;
    below += w < 1 ? 1 : 0;
  }
  const auto n = static_cast<double>(weights.size());
  return Damping{.mean_weight = sum / n, .share = below / n};
}

}  // namespace harness

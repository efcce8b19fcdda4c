#include "trainers/sampling/dpm.h"

#include <cmath>

namespace harness {
namespace {

double half_log_snr(double sigma) {
  return std::log((1 - sigma) / sigma);
}

}  // namespace

MultistepSolver::MultistepSolver(std::span<const float> sigmas, int order)
    : sigmas_(sigmas.begin(), sigmas.end()), order_(order) {
  TORCH_CHECK(order == 1 || order == 2, "the multistep solver has order 1 or 2, not ", order);
  TORCH_CHECK(sigmas.size() >= 2, "the multistep solver has a step");
  for (std::size_t i = 1; i < sigmas.size(); ++i)
    TORCH_CHECK(sigmas[i - 1] <= 1 && sigmas[i] < sigmas[i - 1] && sigmas[i] >= 0,
                "sigmas do not fall from 1 to 0 at step ", i - 1);
}

MultistepWeights MultistepSolver::weights(int k) const {
  const double sigma = sigmas_.at(static_cast<std::size_t>(k)),
               following = sigmas_.at(static_cast<std::size_t>(k) + 1);
  if (following == 0) return {};  // h is infinite
  const double kept = following / sigma;
  // (1 - sigma') exp(-h) = (sigma' / sigma) (1 - sigma)
  MultistepWeights w{.x = kept, .clean = 1 - following - kept * (1 - sigma)};
  const double before = k > 0 ? sigmas_[static_cast<std::size_t>(k) - 1] : 1;
  if (order_ == 1 || before == 1) return w;
  const double h = half_log_snr(following) - half_log_snr(sigma),
               h_before = half_log_snr(sigma) - half_log_snr(before);
  w.difference = w.clean * h / (2 * h_before);
  return w;
}

torch::Tensor MultistepSolver::step(int k, const torch::Tensor& x, const torch::Tensor& velocity) {
  TORCH_CHECK(k == next_, "the multistep solver is at step ", next_, ", not ", k);
  const auto w = weights(k);
  const auto clean =
      x - velocity.to(x.scalar_type()) * static_cast<double>(sigmas_[static_cast<std::size_t>(k)]);
  auto following = x * w.x + clean * w.clean;
  if (w.difference != 0) following = following + (clean - clean_before_) * w.difference;
  clean_before_ = clean;
  ++next_;
  return following;
}

std::vector<float> remaining_grid(std::span<const float> sigmas, int from, int points) {
  const auto steps = static_cast<std::int64_t>(sigmas.size()) - 1;
  TORCH_CHECK(from >= 0 && from < steps && points > 0, "no ", points, " points after step ", from, " of ",
              steps);
  std::vector<float> grid;
  for (std::int64_t i = 0; i <= points; ++i) {
    const auto place = i * (steps - from);  // over points
    const auto lower = static_cast<std::size_t>(from + place / points);
    const auto part = static_cast<double>(place % points) / points;
    const double sigma = sigmas[lower];
    grid.push_back(part == 0 ? sigmas[lower]
                             : static_cast<float>(sigma + (sigmas[lower + 1] - sigma) * part));
  }
  return grid;
}

}  // namespace harness

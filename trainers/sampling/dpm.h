#pragma once

#include <span>
#include <vector>

#include "models/nn/torch.h"

namespace harness {

/// x' = x_weight x + clean_weight m + difference_weight (m - m_before), m = x - sigma v the clean prediction,
/// m_before the previous step's.
struct MultistepWeights {
  double x = 0, clean = 1, difference = 0;
};

/// Deterministic multistep solver of the flow in its clean predictions (DPM-Solver++ 2M, arXiv 2211.01095,
/// algorithm 2), for x_sigma = (1 - sigma) x0 + sigma eps. With lambda = log((1 - sigma) / sigma) and h its
/// increase over a step:
///     x' = (sigma' / sigma) x + (1 - sigma') (1 - exp(-h)) (m + h / (2 h_before) (m - m_before))
/// The first step and the one after sigma = 1 (h_before infinite) leave the difference out: order 1, which is
/// Euler's step. At sigma' = 0, x' = m.
class MultistepSolver {
 public:
  /// sigmas: K + 1 falling values, from 1 or below; order: 1 or 2.
  MultistepSolver(std::span<const float> sigmas, int order);

  /// The latents at sigmas[k + 1] [B, ...] from those at sigmas[k] and their velocity. Steps are taken in
  /// order, from k = 0. v may have less precision than x and is widened first.
  torch::Tensor step(int k, const torch::Tensor& x, const torch::Tensor& velocity);

  /// In float64.
  MultistepWeights weights(int k) const;

 private:
  std::vector<float> sigmas_;
  int order_;
  int next_ = 0;
  torch::Tensor clean_before_;
};

/// The points + 1 noise levels of `points` evaluations from sigmas[from] down to the last of `sigmas`: equal
/// parts of the remaining grid by its index, linear in sigma between two levels. Our own rule; keeps a grid's
/// shift and end.
std::vector<float> remaining_grid(std::span<const float> sigmas, int from, int points);

}  // namespace harness

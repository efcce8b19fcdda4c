#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backbones/backbone.h"
#include "models/nn/torch.h"
#include "trainers/forward/forward_method.h"
#include "trainers/rollout.h"

namespace harness {

// The draws (t, eps) that clean latents are noised with. u: uniform in [0, 1); z: standard normal; part: 0 ..
// parts - 1, which of the parts a draw is for.

/// q -> shift q / (1 + (shift - 1) q): the shift of the schedules of SD3 and FLUX.
double shifted(double q, double shift);

/// An index of [low, high) in part `part` of equal parts with whole edges, int(low + (high - low) j / parts).
int strata_index(double u, int low, int high, int part, int parts);

double logit_normal(double z, double shift);  ///< shifted sigmoid(z)

/// logit_normal of the normal quantile of (part + u) / parts, which is kept 1e-7 off 0 and 1.
double logit_normal_strata(double u, int part, int parts, double shift);

/// (part + u) / parts of the way from `from` to `to`.
double uniform_strata(double u, int part, int parts, double from, double to);

/// Index int(grid sigmoid(z)) of a grid of `grid` points, noise first, and the time there: shifted(1 - index
/// / grid).
int grid_index(double z, int grid);
double grid_time(int index, int grid, double shift);

/// Flow times [M,B] in (0, 1] of the images `rows`, float64 on the CPU; independent of the shard's
/// composition. sigmas: the rollout's K noise levels from 1 on, without the final 0. By the plan's scope an
/// image takes the times at its own address, at its prompt's sample 0, or at sample 0 of prompt 0. Throws
/// Error if the rollout has too few noise levels for the rule.
torch::Tensor forward_times(const ForwardPlan& plan, std::uint32_t seed, std::uint32_t epoch,
                            const std::vector<SampleAddress>& rows, std::span<const float> sigmas);

/// Throws Error (`where`) if the rollout has too few noise levels for the time rule.
void require_levels(const ForwardPlan& plan, std::span<const float> sigmas, const std::string& where);

/// Noise [draws,B,C,h,w] of draws first_draw, first_draw + 1, ..., float32, shared by its scope; equal for
/// all draws if the plan has one_noise.
torch::Tensor forward_noise(const ForwardPlan& plan, std::uint32_t seed, std::uint32_t epoch,
                            std::int64_t first_draw, std::int64_t draws,
                            const std::vector<SampleAddress>& rows, const LatentShape& latent,
                            torch::Device device);

}  // namespace harness

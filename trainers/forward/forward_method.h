#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/nn/torch.h"
#include "trainers/method.h"

namespace harness {

// Methods on the forward process: a rollout's clean latents x0 are noised again to x_t = (1 - t) x0 + t eps,
// and the loss is on velocities there; the target of flow matching is eps - x0.

/// How the flow times t in (0, 1) are chosen. "Of the rollout" means its noise levels sigmas[low..high), from
/// noise to data.
struct TimeRule {
  enum class Kind {
    kRolloutSubset,      ///< M of sigmas[low..high), none twice, in random order
    kRolloutStrata,      ///< one in each of M parts of low..high with whole edges
    kLogitNormal,        ///< shifted sigmoid of a normal number
    kLogitNormalGrid,    ///< the same by its index in a shifted grid of `grid` points, noise first
    kLogitNormalStrata,  ///< the same of normal quantiles, one in each of M equal parts
    kUniformStrata       ///< one in each of M equal parts of from..to
  } kind = Kind::kRolloutSubset;
  int low = 0, high = 0;
  double least = 0;  ///< of the rollout: only those of its noise levels that are at least this
  double shift = 3;  ///< q -> shift q / (1 + (shift - 1) q)
  double from = 0.02, to = 0.98;
  int grid = 1000;
};

/// Who shares a draw.
enum class DrawScope { kSample, kPrompt, kAll };

/// How the clean latents of an epoch are trained.
struct ForwardPlan {
  int times = 1;  ///< M draws (t, eps) a sample
  TimeRule rule;
  DrawScope time_scope = DrawScope::kSample, noise_scope = DrawScope::kSample;
  bool one_noise = false;  ///< the M draws of a sample share one eps
  /// Snapshots whose velocities the loss needs, without gradient.
  std::vector<std::string> velocities = {};
  double guidance = 1;       ///< of the trained velocity and of those of snapshots
  bool joint_times = false;  ///< the loss needs the M draws of a sample together
};

/// Draws of the clean latents of one shard. B: its selected samples; M: draws of a task, 1 unless the plan
/// has joint_times.
struct ForwardStats {
  torch::Tensor x0;           ///< [B, ...]
  torch::Tensor t;            ///< [M,B]
  torch::Tensor eps;          ///< [M,B, ...]
  torch::Tensor x_t;          ///< [M,B, ...]
  torch::Tensor v;            ///< [M,B, ...] velocity under the current weights, differentiable
  torch::Tensor held_v = {};  ///< replaces v where the loss stops the gradient; undefined: v.detach()
  std::map<std::string, torch::Tensor> velocities;  ///< [M,B, ...] by snapshot
  torch::Tensor advantage, advantage_raw;           ///< [B] as of StepStats
  torch::Tensor reward;                             ///< [B]
  torch::Tensor group;                              ///< [B] int64: which of the shard's prompts, from 0

  torch::Tensor target() const { return eps - x0; }
  /// v without gradient.
  torch::Tensor held() const { return held_v.defined() ? held_v : v.detach(); }
  const torch::Tensor& of(const std::string& snapshot) const { return velocities.at(snapshot); }
};

/// x_t = (1 - t) x0 + t eps, [M,B, ...], of x0 [B, ...], t [M,B] and eps [M,B, ...].
torch::Tensor noised(const torch::Tensor& x0, const torch::Tensor& t, const torch::Tensor& eps);

/// t [M,B] as [M,B,1, ...], of the type of x [M,B, ...].
torch::Tensor over_latent(const torch::Tensor& t, const torch::Tensor& x);

/// [M,B] mean over the latent of x [M,B, ...], in float64.
torch::Tensor latent_mean(const torch::Tensor& x);

/// [M,B] mean over the latent of (w - target)^2, in float64: the matching error E(w) of velocities w [M,B,
/// ...].
torch::Tensor matching_error(const torch::Tensor& w, const torch::Tensor& target);

struct ForwardLoss {
  torch::Tensor loss = {};                          ///< summands: [M,B], or [M,n] for a selection of n units
  std::map<std::string, double> records = {};       ///< statistics of its own; the update's is their mean
  std::map<std::string, torch::Tensor> terms = {};  ///< its terms, detached: for recorded cases
};

/// Samples of a shard that are trained on.
struct Selection {
  std::vector<std::int64_t> rows = {};  ///< indices in the shard; they may be none
  std::int64_t units = 0;               ///< the loss is a mean over these: samples, or pairs
};

/// Rewards of a shard's samples, prompt after prompt. A missing one is neither the best nor the worst of its
/// group, and its sample has advantage 0.
struct RewardGroups {
  std::vector<std::optional<double>> rewards;  ///< nothing: the scorer failed
  int group_size = 0;
  bool drops_constant = false;  ///< setting zero_std_groups: groups whose rewards are all equal are left out
};

class ForwardMethod : public Method {
 public:
  /// A rollout without noise, from noise to data, with the settings' guidance and the current weights.
  RolloutPlan plan(const PlanContext& context) const override;

  virtual ForwardPlan forward_plan() const = 0;
  virtual ForwardLoss forward(const ForwardStats& stats) const = 0;

  /// False: samples are chosen or weighed by their rewards, and no advantage rule has an effect.
  virtual bool uses_advantages() const { return true; }

  /// All samples, or those of groups whose rewards differ.
  virtual Selection select(const RewardGroups& groups) const;
};

}  // namespace harness

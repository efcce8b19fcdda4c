#pragma once

#include <string>
#include <vector>

#include "trainers/method.h"

namespace harness {

// Methods that follow the gradient of the reward through the scorer, the image decoder and some sampling
// steps. They have no groups, advantages or recorded steps: each update samples with the current weights. B:
// images of a shard; K: sampling steps.

/// The sampling of one shard of one epoch.
class DirectSampling {
 public:
  virtual ~DirectSampling() = default;

  /// K + 1 noise levels, from noise to 0.
  virtual const std::vector<float>& sigmas() const = 0;

  /// [B, ...] initial noise, equal for every method.
  virtual const torch::Tensor& noise() const = 0;

  /// [B, ...] latents after the first `steps` Euler steps (E2), without gradient.
  virtual torch::Tensor sampled(int steps) const = 0;

  /// [B, ...] velocity at the flow time sigma, with gradient.
  virtual torch::Tensor velocity(const torch::Tensor& x, double sigma) const = 0;

  /// A whole number in [low, high], for all images: choice `which` (0 or 1) of this shard in this epoch, by
  /// address.
  virtual int drawn(int which, int low, int high) const = 0;

  int steps() const { return static_cast<int>(sigmas().size()) - 1; }
};

/// x_t - t v: the clean prediction of velocity v [B, ...] at time t [B].
torch::Tensor one_step_clean(const torch::Tensor& x_t, const torch::Tensor& t, const torch::Tensor& v);

/// The clean latents, given the noise eps, after a step of v from time t to t_to: (x_t + (t_to - t) v - t_to
/// eps) / (1 - t_to). Exactly x0 for v = eps - x0 and x_t = (1 - t) x0 + t eps. t, t_to: [B].
torch::Tensor recovered_clean(const torch::Tensor& x_t, const torch::Tensor& t, const torch::Tensor& t_to,
                              const torch::Tensor& v, const torch::Tensor& eps);

/// The score of an image for its prompt with `words` before it ("WORDS. PROMPT"), times `weight`.
struct RewardTerm {
  double weight = 1;
  std::string words = {};
};

/// Images to decode and score.
struct DirectImages {
  torch::Tensor clean = {};              ///< [B, ...] with gradient
  std::vector<RewardTerm> terms = {{}};  ///< their sum is the recorded reward
  double factor = 1;                     ///< of the reward, in the loss
};

class DirectMethod : public Method {
 public:
  /// Euler steps from noise to data, nothing recorded.
  RolloutPlan plan(const PlanContext& context) const override;

  /// One or more of each of the shard's images.
  virtual std::vector<DirectImages> images(const DirectSampling& sampling) const = 0;

  /// [B] of rewards [B]; what is minimised is the sum over `images` of the mean over an update's.
  virtual torch::Tensor loss(const torch::Tensor& reward) const = 0;

  /// Not called: there are no recorded steps.
  Surrogate step(const StepStats& stats) const final { return Method::step(stats); }
};

/// Setting `margin`: rewards above it have no gradient.
Setting margin_setting(double usual);

/// [B] max(0, margin - reward).
torch::Tensor margin_loss(double margin, const torch::Tensor& reward);

}  // namespace harness

#pragma once

#include <string>
#include <vector>

#include "trainers/method.h"

namespace harness {

// Methods that follow the gradient of the reward itself: through the scorer, the image decoder and the steps
// that are taken with gradient. They need no groups, no advantages and no recorded steps: an update samples
// its images by the weights that it begins with. B: images of a shard; K: sampling steps.

/// The sampling of one shard of one epoch, as such a method asks for it.
class DirectSampling {
 public:
  virtual ~DirectSampling() = default;

  /// K + 1 noise levels, from noise to 0.
  virtual const std::vector<float>& sigmas() const = 0;

  /// [B, ...] the noise that every method's images of these prompts start from.
  virtual const torch::Tensor& noise() const = 0;

  /// [B, ...] latents behind the first `steps` Euler steps (E2), without gradient.
  virtual torch::Tensor sampled(int steps) const = 0;

  /// [B, ...] velocity at the flow time sigma, with gradient.
  virtual torch::Tensor velocity(const torch::Tensor& x, double sigma) const = 0;

  /// A whole number in [low, high], for all images: choice `which` (0 or 1) of this shard in this epoch, by
  /// address.
  virtual int drawn(int which, int low, int high) const = 0;

  int steps() const { return static_cast<int>(sigmas().size()) - 1; }
};

/// x_t - t v: where the velocity v [B, ...] at time t [B] points, on the clean side.
torch::Tensor one_step_clean(const torch::Tensor& x_t, const torch::Tensor& t, const torch::Tensor& v);

/// A step of v from time t to t_to, and of that the clean latents behind the known noise eps: (x_t + (t_to -
/// t) v - t_to eps) / (1 - t_to). Exactly x0 where v = eps - x0 and x_t = (1 - t) x0 + t eps. t, t_to: [B].
torch::Tensor recovered_clean(const torch::Tensor& x_t, const torch::Tensor& t, const torch::Tensor& t_to,
                              const torch::Tensor& v, const torch::Tensor& eps);

/// The score of an image for its prompt with `words` before it ("WORDS. PROMPT"), times `weight`.
struct RewardTerm {
  double weight = 1;
  std::string words = {};
};

/// What is decoded and scored: an image each.
struct DirectImages {
  torch::Tensor clean = {};              ///< [B, ...] with gradient
  std::vector<RewardTerm> terms = {{}};  ///< their sum is the reward, as it is recorded
  double factor = 1;                     ///< of the reward, in the loss
};

class DirectMethod : public Method {
 public:
  /// Euler's steps from noise to data, of which nothing is recorded.
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

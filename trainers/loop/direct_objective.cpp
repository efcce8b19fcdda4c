#include "trainers/loop/direct_objective.h"

#include <cmath>

#include "core/error.h"
#include "trainers/law/path_variance.h"

namespace harness {
namespace {

using torch::Tensor;

class ShardSampling : public DirectSampling {
 public:
  ShardSampling(const RunParts& parts, const Epoch& epoch, std::size_t shard, const ShardPrompts& prompts)
      : parts_(parts),
        epoch_(epoch),
        shard_(static_cast<int>(shard)),
        condition_(parts.backbone.encode(prompts.texts)),
        noise_(shard_noise(parts.job.seed, static_cast<std::uint32_t>(epoch.number),
                           NoiseStream::kInitialLatent, 0, prompts.rows, parts.backbone.latent(),
                           parts.backbone.device())) {}

  const std::vector<float>& sigmas() const override { return epoch_.sampler.sigmas; }
  const Tensor& noise() const override { return noise_; }

  Tensor sampled(int steps) const override {
    const torch::NoGradGuard no_grad;
    auto x = noise_;
    for (std::size_t k = 0; k < static_cast<std::size_t>(steps); ++k)
      x = euler_step(sigmas()[k], sigmas()[k + 1], x, velocity(x, sigmas()[k]));
    return x;
  }

  Tensor velocity(const Tensor& x, double sigma) const override {
    return parts_.backbone.velocity(x, sigma, condition_, epoch_.sampler.plan.guidance);
  }

  int drawn(int which, int low, int high) const override {
    TORCH_CHECK(which == 0 || which == 1, "a shard has two choices");
    return drawn_integer(plan_context(parts_.settings, parts_.job.seed, epoch_.number), 2 * shard_ + which,
                         low, high);
  }

 private:
  const RunParts& parts_;
  const Epoch& epoch_;
  int shard_;
  TextCondition condition_;
  Tensor noise_;
};

}  // namespace

DirectObjective::DirectObjective(const RunParts& parts, const DirectMethod& method)
    : parts_(parts), method_(method) {
  if (parts.hooks.reward_gradient) return;
  throw Error("follows the gradient of the reward, and this run's rewards have none", "method",
              "train it on a task whose scorer has one, or take another method");
}

Contribution DirectObjective::contribute(const UpdatePart& part) {
  const auto& settings = parts_.settings;
  const auto chosen = prompts_of_epoch(parts_.job, part.epoch.number);
  const double share = 1.0 / static_cast<double>(static_cast<std::int64_t>(part.count) *
                                                 settings.shard_prompts * settings.group_size);
  std::vector<Trace> traces(part.count);
  Contribution result;
  result.sum = sum_gradients(parts_, part.count, 1, [&](std::size_t task) -> TaskLoss {
    auto& trace = traces[task];
    const auto shard = part.first + task;
    const ShardPrompts prompts(parts_.job, chosen, shard);
    Tensor loss;
    for (const auto& images : method_.images(ShardSampling(parts_, part.epoch, shard, prompts))) {
      const auto reward = reward_of(images, prompts.texts);
      const auto own_loss = method_.loss(reward * images.factor).sum() * share;
      loss = loss.defined() ? loss + own_loss : own_loss;
      images_ += reward.numel();
      if (trace.rewards.empty()) trace.rewards = to_doubles(reward);
    }
    trace.loss = loss.item<double>();
    require_finite(trace.loss, "the loss", -1, part.update);
    return {loss};
  });
  parts_.ranks.gather_parts(traces);
  result.record = describe(traces);
  return result;
}

/// [B] weighted sum of the terms.
Tensor DirectObjective::reward_of(const DirectImages& images, const std::vector<PromptText>& prompts) const {
  const auto pixels = parts_.backbone.decode_with_gradient(images.clean, prompts);
  Tensor sum;
  for (const auto& [weight, words] : images.terms) {
    std::vector<std::string> texts;
    for (const auto& prompt : prompts)
      texts.push_back(words.empty() ? prompt.text : words + ". " + prompt.text);
    const auto term = parts_.hooks.reward_gradient(texts, pixels).to(pixels.device()) * weight;
    sum = sum.defined() ? sum + term : term;
  }
  return sum;
}

UpdateRecord DirectObjective::describe(const std::vector<Trace>& traces) const {
  UpdateRecord record;
  std::vector<double> rewards;
  double loss = 0;
  for (const auto& trace : traces) {
    loss += trace.loss;
    rewards.insert(rewards.end(), trace.rewards.begin(), trace.rewards.end());
  }
  auto& s = record.stats;
  s["loss"] = loss;
  s["reward_mean"] = mean_of(rewards);
  s["reward_std"] = std::sqrt(sample_variance(rewards));
  s["missing_rewards"] = 0;
  s["trained_steps"] = 0;
  s["trained_units"] = static_cast<double>(rewards.size());
  for (const auto& [name, value] : method_.statistics()) s[name] = value;
  return record;
}

}  // namespace harness

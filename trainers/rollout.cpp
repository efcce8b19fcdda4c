#include "trainers/rollout.h"

#include <fmt/format.h>

#include <numeric>

#include "core/error.h"
#include "trainers/step_ops.h"

namespace harness {
namespace {

using torch::Tensor;
__extension__ typedef unsigned __int128 Wide;

/// The one forward function of rollouts and training.
Tensor velocity_at(Backbone& backbone, const SdeSampler& sampler, int k, const Tensor& x,
                   const TextCondition& condition) {
  return backbone.velocity(x, sampler.steps[static_cast<std::size_t>(k)].sigma, condition, sampler.guidance);
}

}  // namespace

std::vector<int> epoch_prompts(std::uint32_t seed, std::int64_t epoch, std::int64_t count,
                               std::int64_t total) {
  if (count > total)
    throw Error(fmt::format("{} prompts an epoch, but the training set has {}", count, total),
                "setting prompts_per_epoch");
  const auto epochs_of_a_pass =
      total / count;  // the rest of a pass is left out, so that no epoch straddles two
  const auto pass = (epoch - 1) / epochs_of_a_pass;
  std::vector<int> order(static_cast<std::size_t>(total));
  std::iota(order.begin(), order.end(), 0);
  const NoiseAddress address{
      .seed = seed, .epoch = static_cast<std::uint32_t>(pass), .stream = NoiseStream::kChoice};
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    const auto words = noise_words(address, static_cast<std::uint32_t>(i));
    const auto wide = (static_cast<Wide>(words[0]) << 32 | words[1]) * (i + 1) >> 64;
    std::swap(order[i], order[static_cast<std::size_t>(wide)]);
  }
  const auto begin = order.begin() + (epoch - 1) % epochs_of_a_pass * count;
  return {begin, begin + count};
}

Tensor shard_noise(std::uint32_t seed, std::uint32_t epoch, NoiseStream stream, int step,
                   const std::vector<SampleAddress>& rows, const LatentShape& latent, torch::Device device) {
  const auto size = static_cast<std::size_t>(latent.size());
  auto noise =
      torch::empty({static_cast<std::int64_t>(rows.size()), latent.channels, latent.rows, latent.columns},
                   torch::kFloat32);
  auto* data = noise.mutable_data_ptr<float>();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const NoiseAddress address{.seed = seed,
                               .epoch = epoch,
                               .stream = stream,
                               .step = static_cast<std::uint16_t>(step),
                               .sample = rows[i].sample,
                               .prompt = rows[i].prompt};
    fill_normal(address, {data + i * size, size});
  }
  return noise.to(device);
}

Schedule schedule_for(const Backbone& backbone, NoiseGrid grid, int steps, double shift) {
  if (grid != NoiseGrid::kModel) return shifted_schedule(grid, steps, shift);
  const auto usual = backbone.usual_sampler();
  if (!usual) {
    throw Error("is \"model\", and this backbone has no grid of its own", "setting grid",
                "give uniform or diffusers");
  }
  return usual->train_timesteps > 0
             ? shifted_schedule(NoiseGrid::kDiffusers, steps, usual->shift, usual->train_timesteps)
             : shifted_schedule(NoiseGrid::kUniform, steps, usual->shift);
}

SdeSampler SdeSampler::make(const Schedule& schedule, double noise_level, double guidance) {
  SdeSampler sampler{.steps = {}, .guidance = guidance};
  for (int k = 0; k < schedule.steps(); ++k)
    sampler.steps.push_back(sde_step(schedule.sigmas, k, noise_level));
  return sampler;
}

Drift transition_drift(Backbone& backbone, const SdeSampler& sampler, int k, const Tensor& x,
                       const TextCondition& condition) {
  const auto velocity = velocity_at(backbone, sampler, k, x, condition);
  return {.velocity = velocity, .mean = step_mean(sampler.steps[static_cast<std::size_t>(k)], x, velocity)};
}

Tensor transition_mean(Backbone& backbone, const SdeSampler& sampler, int k, const Tensor& x,
                       const TextCondition& condition) {
  return transition_drift(backbone, sampler, k, x, condition).mean;
}

Trajectory sample_trajectory(Backbone& backbone, const SdeSampler& sampler, std::uint32_t seed,
                             std::uint32_t epoch, std::vector<SampleAddress> rows, TextCondition condition) {
  const torch::NoGradGuard no_grad;
  const auto noise = [&](NoiseStream stream, int step) {
    return shard_noise(seed, epoch, stream, step, rows, backbone.latent(), backbone.device());
  };
  Trajectory t{.rows = rows,
               .condition = std::move(condition),
               .x = {noise(NoiseStream::kInitialLatent, 0)},
               .mean_old = {},
               .velocity_old = {}};
  for (int k = 0; k < static_cast<int>(sampler.steps.size()); ++k) {
    const auto velocity = velocity_at(backbone, sampler, k, t.x.back(), t.condition);
    const auto transition = step_transition(sampler.steps[static_cast<std::size_t>(k)], t.x.back(), velocity,
                                            noise(NoiseStream::kSdeStep, k));
    t.mean_old.push_back(transition.mean);
    t.velocity_old.push_back(velocity);
    t.x.push_back(transition.next);
  }
  return t;
}

Tensor sample_ode(Backbone& backbone, const Schedule& schedule, double guidance, Tensor noise,
                  const TextCondition& condition) {
  const torch::NoGradGuard no_grad;
  auto x = std::move(noise);
  for (int k = 0; k < schedule.steps(); ++k) {
    const auto i = static_cast<std::size_t>(k);
    x = euler_step(schedule.sigmas[i], schedule.sigmas[i + 1], x,
                   backbone.velocity(x, schedule.sigmas[i], condition, guidance));
  }
  return x;
}

}  // namespace harness

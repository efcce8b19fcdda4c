#include "trainers/rollout.h"

#include <fmt/format.h>

#include <numeric>

#include "core/error.h"
#include "trainers/sampling/dpm.h"
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

/// The clean latents behind x by the multistep solver.
Tensor finished(Backbone& backbone, const SdeSampler& sampler, Tensor x, const TextCondition& condition) {
  constexpr int kOrder = 2;
  MultistepSolver solver(sampler.finish_sigmas, kOrder);
  const auto evaluations = static_cast<int>(sampler.finish_sigmas.size()) - 1;
  for (int k = 0; k < evaluations; ++k) {
    const auto sigma = sampler.finish_sigmas[static_cast<std::size_t>(k)];
    x = solver.step(k, x, backbone.velocity(x, sigma, condition, sampler.guidance));
  }
  return x;
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

SdeSampler SdeSampler::make(const Schedule& schedule, const RolloutPlan& plan) {
  TORCH_CHECK(static_cast<int>(plan.steps.size()) == schedule.steps(), "a plan has a rule for every step");
  SdeSampler sampler{
      .steps = {}, .trained = {}, .guidance = plan.guidance, .shared_start = plan.shared_start};
  for (int k = 0; k < schedule.steps(); ++k) {
    const auto& [rule, trained] = plan.steps[static_cast<std::size_t>(k)];
    sampler.steps.push_back(sde_step(schedule.sigmas, k, rule));
    sampler.trained.push_back(trained);
  }
  if (plan.finish) {
    sampler.finish_from = plan.finish->from;
    sampler.finish_sigmas = remaining_grid(schedule.sigmas, plan.finish->from, plan.finish->points);
  }
  return sampler;
}

SdeSampler SdeSampler::make(const Schedule& schedule, double noise_level, double guidance) {
  return make(schedule, flow_sde_plan({.steps = schedule.steps(),
                                       .trained_steps = schedule.steps(),
                                       .noise_level = noise_level,
                                       .guidance = guidance}));
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

Tensor EdgeBlock::of_edges(const Tensor& of_parents) const {
  return parent.defined() ? of_parents.index_select(0, parent) : of_parents;
}

Rollout sample_rollout(Backbone& backbone, const SdeSampler& sampler, std::uint32_t seed, std::uint32_t epoch,
                       std::vector<SampleAddress> rows, TextCondition condition) {
  const torch::NoGradGuard no_grad;
  const auto noise = [&](NoiseStream stream, int step, const std::vector<SampleAddress>& addresses) {
    return shard_noise(seed, epoch, stream, step, addresses, backbone.latent(), backbone.device());
  };
  auto starts = rows;
  if (sampler.shared_start) {
    for (auto& start : starts) start.sample = 0;
  }
  Rollout rollout{.rows = std::move(rows), .condition = std::move(condition), .edges = {}, .leaves = {}};
  auto x = noise(NoiseStream::kInitialLatent, 0, starts);
  const bool is_cut = !sampler.finish_sigmas.empty();
  const auto steps = is_cut ? static_cast<std::size_t>(sampler.finish_from) : sampler.steps.size();
  for (std::size_t k = 0; k < steps; ++k) {
    const auto& step = sampler.steps[k];
    const auto velocity = velocity_at(backbone, sampler, static_cast<int>(k), x, rollout.condition);
    Transition transition;
    if (step.s == 0) {
      transition.mean = transition.next = step_mean(step, x, velocity);
    } else {
      transition =
          step_transition(step, x, velocity, noise(NoiseStream::kSdeStep, static_cast<int>(k), rollout.rows));
    }
    if (sampler.trained[k]) {
      rollout.edges.push_back({.step = static_cast<int>(k),
                               .condition = rollout.condition,
                               .x = x,
                               .mean_old = transition.mean,
                               .velocity_old = velocity,
                               .next = transition.next});
    }
    x = transition.next;
  }
  rollout.leaves = is_cut ? finished(backbone, sampler, x, rollout.condition) : x;
  return rollout;
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

#include "trainers/rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "trainers/sampling/dpm.h"
#include "trainers/sampling/tree.h"
#include "trainers/step_ops.h"

namespace harness {
namespace {

using torch::Tensor;

/// The one forward function of rollouts and training.
Tensor velocity_at(Backbone& backbone, const SdeSampler& sampler, int k, const Tensor& x,
                   const TextCondition& condition) {
  return backbone.velocity(x, sampler.steps[static_cast<std::size_t>(k)].sigma, condition,
                           sampler.plan.guidance);
}

/// The clean latents from x on by the multistep solver.
Tensor finished(Backbone& backbone, const SdeSampler& sampler, Tensor x, const TextCondition& condition) {
  constexpr int kOrder = 2;
  MultistepSolver solver(sampler.finish_sigmas, kOrder);
  const auto evaluations = static_cast<int>(sampler.finish_sigmas.size()) - 1;
  for (int k = 0; k < evaluations; ++k) {
    const auto sigma = sampler.finish_sigmas[static_cast<std::size_t>(k)];
    x = solver.step(k, x, backbone.velocity(x, sigma, condition, sampler.plan.guidance));
  }
  return x;
}

}  // namespace

std::vector<int> epoch_prompts(std::uint32_t seed, std::int64_t epoch, std::int64_t count,
                               std::int64_t total) {
  if (count > total)
    throw Error(fmt::format("{} prompts an epoch, but the training set has {}", count, total),
                "setting prompts_per_epoch");
  const auto epochs_of_a_pass = total / count;  // the rest of a pass is unused: no epoch straddles two
  const auto pass = (epoch - 1) / epochs_of_a_pass;
  std::vector<int> order(static_cast<std::size_t>(total));
  std::iota(order.begin(), order.end(), 0);
  const NoiseAddress address{
      .seed = seed, .epoch = static_cast<std::uint32_t>(pass), .stream = NoiseStream::kChoice};
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    const auto other = uniform_below(address, static_cast<std::uint32_t>(i), i + 1);
    std::swap(order[i], order[static_cast<std::size_t>(other)]);
  }
  const auto begin = order.begin() + (epoch - 1) % epochs_of_a_pass * count;
  return {begin, begin + count};
}

Tensor shard_noise(std::uint32_t seed, std::uint32_t epoch, NoiseStream stream, int step,
                   const std::vector<SampleAddress>& rows, const LatentShape& latent, torch::Device device) {
  const auto size = static_cast<std::size_t>(latent.size());
  // Pinned, so that a GPU fetches it while the host goes on.
  const auto host = torch::TensorOptions(torch::kFloat32).pinned_memory(device.is_cuda());
  auto noise = torch::empty(
      {static_cast<std::int64_t>(rows.size()), latent.channels, latent.rows, latent.columns}, host);
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
  return noise.to(device, true);
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
  SdeSampler sampler{.plan = plan, .sigmas = schedule.sigmas, .steps = {}};
  for (int k = 0; k < schedule.steps(); ++k)
    sampler.steps.push_back(sde_step(schedule.sigmas, k, plan.steps[static_cast<std::size_t>(k)].rule));
  if (plan.finish)
    sampler.finish_sigmas = remaining_grid(schedule.sigmas, plan.finish->from, plan.finish->points);
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

TextCondition condition_of(const TextCondition& condition, const Tensor& rows) {
  return {.text = condition.text.index_select(0, rows), .pooled = condition.pooled.index_select(0, rows)};
}

namespace {

/// The sampling of one shard.
class RolloutSampling {
 public:
  RolloutSampling(Backbone& backbone, const SdeSampler& sampler, std::uint32_t seed, std::uint32_t epoch,
                  Rollout& rollout)
      : backbone_(backbone), sampler_(sampler), seed_(seed), epoch_(epoch), rollout_(rollout) {}

  Tensor chains() {
    auto starts = rollout_.rows;
    if (sampler_.plan.shared_start) {
      for (auto& start : starts) start.sample = 0;
    }
    auto x = noise(NoiseStream::kInitialLatent, 0, starts);
    const bool is_cut = sampler_.plan.finish.has_value();
    const auto steps = is_cut ? sampler_.plan.finish->from : static_cast<int>(sampler_.steps.size());
    for (int k = 0; k < steps; ++k) x = stepped(k, x);
    return is_cut ? finished(backbone_, sampler_, x, rollout_.condition) : x;
  }

  /// Trunks without noise; the latents of trained steps get children.
  Tensor with_children() {
    const auto& plan = *sampler_.plan.children;
    const auto condition = condition_of(rollout_.condition, rows_of_prompts(plan.trunks));
    std::vector<Tensor> images;  // [P, images of a step, C,h,w]
    auto x = noise(NoiseStream::kInitialLatent, 0, addresses(plan.trunks));
    for (std::size_t k = 0; k < sampler_.steps.size(); ++k) {
      const auto step = static_cast<int>(k);
      const auto velocity = velocity_at(backbone_, sampler_, step, x, condition);
      if (is_trained(step)) {
        add_edges(step, x, velocity, condition, plan.fanout);
        images.push_back(finished_children(step));
      }
      x = euler_step(sampler_.sigmas[k], sampler_.sigmas[k + 1], x, velocity);
    }
    if (plan.scores_trunks) images.push_back(by_prompt(x));
    return torch::cat(images, 1).flatten(0, 1);
  }

  /// All latents of a step are one batch; those of splits have several children.
  Tensor with_branches() {
    const auto& plan = *sampler_.plan.branches;
    int width = plan.trees;  // latents a prompt
    auto x = noise(NoiseStream::kInitialLatent, 0, addresses(width));
    for (int k = 0; k < static_cast<int>(sampler_.steps.size()); ++k) {
      const auto condition = condition_of(rollout_.condition, rows_of_prompts(width));
      const int fanout = std::ranges::count(plan.splits, k) > 0 ? plan.fanout : 1;
      const auto velocity = velocity_at(backbone_, sampler_, k, x, condition);
      if (!is_trained(k)) {
        x = step_mean(sampler_.steps[static_cast<std::size_t>(k)], x, velocity);
        continue;
      }
      add_edges(k, x, velocity, condition, fanout);
      x = rollout_.edges.back().next;
      width *= fanout;
    }
    return x;
  }

 private:
  bool is_trained(int k) const { return sampler_.plan.steps[static_cast<std::size_t>(k)].trained; }

  std::int64_t prompts() const {
    return static_cast<std::int64_t>(rollout_.rows.size()) / sampler_.plan.images_of_a_prompt();
  }

  /// `count` things of each prompt, numbered as samples.
  std::vector<SampleAddress> addresses(int count) const {
    std::vector<SampleAddress> all;
    for (std::int64_t p = 0; p < prompts(); ++p) {
      const auto image = static_cast<std::size_t>(p * sampler_.plan.images_of_a_prompt());
      for (int i = 0; i < count; ++i)
        all.push_back({rollout_.rows[image].prompt, static_cast<std::uint32_t>(i)});
    }
    return all;
  }

  /// Of `count` things of each prompt, an image of that prompt.
  Tensor rows_of_prompts(int count) const {
    return (torch::arange(prompts(), torch::kInt64) * sampler_.plan.images_of_a_prompt())
        .repeat_interleave(count)
        .to(backbone_.device());
  }

  Tensor by_prompt(const Tensor& x) const {
    return x.reshape({prompts(), -1, x.size(1), x.size(2), x.size(3)});
  }

  Tensor noise(NoiseStream stream, int step, const std::vector<SampleAddress>& rows) const {
    return shard_noise(seed_, epoch_, stream, step, rows, backbone_.latent(), backbone_.device());
  }

  void keep(int k, const TextCondition& condition, const Tensor& x, const Tensor& velocity,
            const Transition& t, const Tensor& parent = {}) {
    rollout_.edges.push_back({.step = k,
                              .condition = condition,
                              .x = x,
                              .mean_old = t.mean,
                              .velocity_old = velocity,
                              .next = t.next,
                              .parent = parent});
  }

  /// The latents after step k of chains; keeps a trained step.
  Tensor stepped(int k, const Tensor& x) {
    const auto& step = sampler_.steps[static_cast<std::size_t>(k)];
    const auto velocity = velocity_at(backbone_, sampler_, k, x, rollout_.condition);
    Transition t;
    if (step.s == 0) {
      t.mean = t.next = step_mean(step, x, velocity);
    } else {
      t = step_transition(step, x, velocity, noise(NoiseStream::kSdeStep, k, rollout_.rows));
    }
    if (is_trained(k)) keep(k, rollout_.condition, x, velocity, t);
    return t.next;
  }

  /// Step k from latents x to `fanout` children each. Child c of latent j has the noise of sample j fanout +
  /// c.
  void add_edges(int k, const Tensor& x, const Tensor& velocity, const TextCondition& condition, int fanout) {
    const auto& step = sampler_.steps[static_cast<std::size_t>(k)];
    const auto mean = step_mean(step, x, velocity);
    const auto parent = torch::arange(x.size(0), torch::TensorOptions(torch::kInt64).device(x.device()))
                            .repeat_interleave(fanout);
    const auto children = static_cast<int>(parent.size(0) / prompts());
    const auto means = fanout > 1 ? mean.index_select(0, parent) : mean;
    const auto next =
        step.s == 0 ? means : sde_next(step, means, noise(NoiseStream::kSdeStep, k, addresses(children)));
    keep(k, condition, x, velocity, {.mean = mean, .next = next}, fanout > 1 ? parent : Tensor());
  }

  /// [P, trunks x children x strides, C,h,w] images of the children that were added last, of step k.
  Tensor finished_children(int k) const {
    const auto& children = rollout_.edges.back().next;
    const auto condition =
        condition_of(rollout_.condition, rows_of_prompts(static_cast<int>(children.size(0) / prompts())));
    std::vector<Tensor> by_stride;
    for (const int stride : sampler_.plan.children->strides) {
      const auto grid = strided_grid(sampler_.sigmas, k, stride);
      auto x = children;
      for (std::size_t i = 0; i + 1 < grid.size(); ++i)
        x = euler_step(grid[i], grid[i + 1], x,
                       backbone_.velocity(x, grid[i], condition, sampler_.plan.guidance));
      by_stride.push_back(by_prompt(x));
    }
    return torch::stack(by_stride, 2).flatten(1, 2);
  }

  Backbone& backbone_;
  const SdeSampler& sampler_;
  std::uint32_t seed_, epoch_;
  Rollout& rollout_;
};

}  // namespace

Rollout sample_rollout(Backbone& backbone, const SdeSampler& sampler, std::uint32_t seed, std::uint32_t epoch,
                       std::vector<SampleAddress> rows, TextCondition condition) {
  const torch::NoGradGuard no_grad;
  Rollout rollout{.rows = std::move(rows), .condition = std::move(condition), .edges = {}, .leaves = {}};
  RolloutSampling sampling(backbone, sampler, seed, epoch, rollout);
  rollout.leaves = sampler.plan.children   ? sampling.with_children()
                   : sampler.plan.branches ? sampling.with_branches()
                                           : sampling.chains();
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

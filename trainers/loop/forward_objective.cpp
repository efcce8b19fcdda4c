#include "trainers/loop/forward_objective.h"

#include <cmath>

#include "trainers/forward/times.h"
#include "trainers/law/path_variance.h"

namespace harness {
namespace {

using torch::Tensor;

/// Several draws as one batch, [M,B, ...] -> [MB, ...].
Tensor as_batch(const Tensor& draws) {
  return draws.flatten(0, 1);
}

std::vector<SampleAddress> selected(const std::vector<SampleAddress>& all,
                                    const std::vector<std::int64_t>& rows) {
  std::vector<SampleAddress> chosen;
  for (const auto row : rows) chosen.push_back(all[static_cast<std::size_t>(row)]);
  return chosen;
}

/// The K noise levels of a rollout.
std::vector<float> levels(const SdeSampler& sampler) {
  std::vector<float> sigmas;
  for (const auto& step : sampler.steps) sigmas.push_back(static_cast<float>(step.sigma));
  return sigmas;
}

}  // namespace

ForwardObjective::ForwardObjective(const RunParts& parts, const ForwardMethod& method)
    : parts_(parts), method_(method), plan_(method.forward_plan()) {}

void ForwardObjective::begin(const Epoch& epoch) {
  draws_.assign(epoch.shards.size(), {});
  for (std::size_t i = 0; i < draws_.size(); ++i) {
    auto& shard = draws_[i];
    shard.selection = method_.select({.rewards = epoch.rewards[i],
                                      .group_size = static_cast<int>(parts_.settings.group_size),
                                      .drops_constant = parts_.settings.drop_zero_std_groups});
    if (shard.selection.rows.empty() || epoch.shards[i].rows.empty()) continue;
    shard.rows = torch::tensor(shard.selection.rows, torch::kInt64).to(parts_.backbone.device());
    const auto images = selected(epoch.shards[i].rows, shard.selection.rows);
    const auto number = static_cast<std::uint32_t>(epoch.number);
    shard.times = forward_times(plan_, parts_.job.seed, number, images, levels(epoch.sampler));
    shard.noise = forward_noise(plan_, parts_.job.seed, number, 0, plan_.times, images,
                                parts_.backbone.latent(), parts_.backbone.device());
  }
  for (const auto& name : plan_.velocities) {
    if (!parts_.snapshots.moves_within_epoch(name)) add_velocities(epoch, 0, draws_.size(), name);
  }
}

/// Velocities of a snapshot at all draws of this process' shards among `count`.
void ForwardObjective::add_velocities(const Epoch& epoch, std::size_t first, std::size_t count,
                                      const std::string& snapshot) {
  std::vector<std::size_t> own;
  for (auto i = first; i < first + count; ++i) {
    if (draws_[i].times.defined()) own.push_back(i);
  }
  const auto draws = static_cast<std::size_t>(plan_.times);
  std::vector<std::vector<Tensor>> found(own.size(), std::vector<Tensor>(draws));
  const WithWeights theirs(parts_.weights, parts_.snapshots, snapshot);
  parts_.pool.run(own.size() * draws, [&](std::size_t task) {
    const torch::NoGradGuard no_grad;
    const auto i = task / draws, m = task % draws;
    const auto stats = stats_of(epoch, own[i], static_cast<std::int64_t>(m), 1);
    found[i][m] =
        velocities_at(stats, condition_of(epoch.shards[own[i]].condition, draws_[own[i]].rows)).squeeze(0);
  });
  for (std::size_t i = 0; i < own.size(); ++i) draws_[own[i]].velocities[snapshot] = torch::stack(found[i]);
}

/// Everything of some draws of a shard but the current velocity.
ForwardStats ForwardObjective::stats_of(const Epoch& epoch, std::size_t shard, std::int64_t first_draw,
                                        std::int64_t draws) const {
  const auto& own = draws_[shard];
  const auto& rollout = epoch.shards[shard];
  const auto device = parts_.backbone.device();
  ForwardStats stats;
  stats.x0 = rollout.leaves.index_select(0, own.rows);
  stats.t = own.times.narrow(0, first_draw, draws).to(device, torch::kFloat32);
  stats.eps = own.noise.narrow(0, first_draw, draws);
  stats.x_t = noised(stats.x0, stats.t, stats.eps);
  for (const auto& [name, velocity] : own.velocities)
    stats.velocities[name] = velocity.narrow(0, first_draw, draws);
  std::vector<float> rewards;
  for (const auto row : own.selection.rows)
    rewards.push_back(static_cast<float>(epoch.rewards[shard][static_cast<std::size_t>(row)].value_or(0)));
  stats.reward = torch::tensor(rewards).to(device);
  stats.advantage = epoch.advantages[shard].index_select(0, own.rows);
  stats.advantage_raw = epoch.advantages_raw[shard].index_select(0, own.rows);
  stats.group = own.rows.div(parts_.settings.group_size, "floor");
  return stats;
}

/// [M,B, ...] with the network's present weights; all draws are one batch.
Tensor ForwardObjective::velocities_at(const ForwardStats& stats, const TextCondition& condition) const {
  const auto draws = stats.t.size(0);
  const TextCondition of_all = draws == 1 ? condition
                                          : TextCondition{.text = condition.text.repeat({draws, 1, 1}),
                                                          .pooled = condition.pooled.repeat({draws, 1})};
  const auto sigmas = as_batch(stats.t).to(torch::kCPU, torch::kFloat64);
  return parts_.backbone.velocity(as_batch(stats.x_t), sigmas, of_all, plan_.guidance)
      .view(stats.x_t.sizes());
}

Contribution ForwardObjective::contribute(const UpdatePart& part) {
  for (const auto& name : plan_.velocities) {
    if (parts_.snapshots.moves_within_epoch(name)) add_velocities(part.epoch, part.first, part.count, name);
  }
  std::int64_t units = 0;  // of all processes: each knows all rewards, and so all selections
  for (auto i = part.first; i < part.first + part.count; ++i) units += draws_[i].selection.units;
  const auto draws_of_task = plan_.joint_times ? plan_.times : 1;
  const auto tasks_of_shard = static_cast<std::size_t>(plan_.times / draws_of_task);
  const double share = units > 0 ? 1.0 / static_cast<double>(units * plan_.times) : 0;
  std::vector<Trace> traces(part.count * tasks_of_shard);
  Contribution result;
  result.sum = sum_gradients(parts_, part.count, tasks_of_shard, [&](std::size_t task) -> TaskLoss {
    const auto shard = part.first + task / tasks_of_shard;
    if (!draws_[shard].times.defined()) return {};
    const auto first_draw = static_cast<std::int64_t>(task % tasks_of_shard) * draws_of_task;
    auto stats = stats_of(part.epoch, shard, first_draw, draws_of_task);
    stats.v = velocities_at(stats, condition_of(part.epoch.shards[shard].condition, draws_[shard].rows));
    const auto loss = method_.forward(stats);
    const auto contribution = loss.loss.sum() * share;
    auto& trace = traces[task];
    trace.records = loss.records;
    trace.loss = contribution.item<double>();
    if (stats.velocities.contains(kReferenceWeights)) {
      const auto moved = stats.v.detach() - stats.of(kReferenceWeights);
      trace.movement = moved.square().mean().item<double>();
    }
    require_finite(trace.loss, "the loss", -1, part.update);
    return {contribution};
  });
  parts_.ranks.gather_parts(traces);
  result.record = describe(part, traces, units);
  return result;
}

UpdateRecord ForwardObjective::describe(const UpdatePart& part, const std::vector<Trace>& traces,
                                        std::int64_t units) const {
  UpdateRecord record;
  describe_rewards(part.epoch, record);
  auto& s = record.stats;
  s["loss"] = 0;
  s["trained_steps"] = 0;
  s["trained_units"] = static_cast<double>(units);
  std::vector<double> movements;
  std::map<std::string, std::vector<double>> records;
  for (const auto& trace : traces) {
    s["loss"] += trace.loss;
    if (!std::isnan(trace.movement)) movements.push_back(trace.movement);
    for (const auto& [name, value] : trace.records) records[name].push_back(value);
  }
  if (!movements.empty()) s["velocity_movement"] = mean_of(movements);
  for (const auto& [name, values] : records) s[name] = mean_of(values);
  for (const auto& [name, value] : method_.statistics()) s[name] = value;
  return record;
}

}  // namespace harness

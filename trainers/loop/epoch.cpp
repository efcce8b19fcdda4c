#include "trainers/loop/epoch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/error.h"
#include "trainers/direct/direct_method.h"
#include "trainers/law/path_variance.h"

namespace harness {
namespace {

constexpr double kMissingLimit = 0.05;  // share of an epoch's rewards that may be missing

void expect_rewards(int missing, std::size_t all, std::int64_t epoch) {
  if (static_cast<double>(missing) <= kMissingLimit * static_cast<double>(all)) return;
  throw Error(
      fmt::format("{} of the {} rewards of epoch {} are missing", missing, all, epoch), "scorer",
      fmt::format(
          "the limit is {:g} %. worker.log in the run's folder has the reason for each: repair the scorer, then "
          "repeat the command to continue the run",
          100 * kMissingLimit),
      Status::kFailed);
}

/// Stored log-probabilities of a block's edges.
std::vector<double> log_probs(const SdeSampler& sampler, const EdgeBlock& block) {
  const auto& step = sampler.steps[static_cast<std::size_t>(block.step)];
  const auto values = sde_log_prob(step, block.of_edges(block.mean_old), block.next)
                          .to(torch::kCPU, torch::kFloat64)
                          .contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

/// The values of prompt p of `prompts`.
std::vector<double> of_prompt(const std::vector<double>& values, std::size_t p, std::size_t prompts) {
  const auto count = values.size() / prompts;
  const auto from = values.begin() + static_cast<std::ptrdiff_t>(p * count);
  return {from, from + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

PlanContext plan_context(const TrainSettings& settings, std::uint32_t seed, std::int64_t epoch) {
  return {.steps = settings.sampling_steps,
          .trained_steps = settings.trained_steps,
          .noise_level = settings.noise_level,
          .guidance = settings.guidance,
          .seed = seed,
          .epoch = epoch};
}

AdvantageRule advantage_rule_of(const Method& method, const TrainSettings& settings) {
  if (settings.advantage) return *settings.advantage;
  if (const auto own = method.advantage_rule()) return *own;
  return settings.advantage_std == AdvantageStd::kGlobal ? AdvantageRule::kGlobal : AdvantageRule::kGroup;
}

EpochSource::EpochSource(const RunParts& parts)
    : parts_(parts),
      schedule_(schedule_for(parts.backbone, parts.settings.grid, parts.settings.sampling_steps,
                             parts.settings.shift)),
      tracker_(advantage_rule_of(parts.method, parts.settings), parts.method.takes_first_epochs_unit(),
               parts.settings.advantage_limit) {}

Epoch EpochSource::next(std::int64_t number) {
  const auto& job = parts_.job;
  const auto& settings = parts_.settings;
  const auto plan = parts_.method.plan(plan_context(settings, job.seed, number));
  const auto chosen = prompts_of_epoch(job, number);
  Epoch epoch{.number = number, .sampler = SdeSampler::make(schedule_, plan)};
  epoch.shards.resize(chosen.size() / static_cast<std::size_t>(settings.shard_prompts));
  if (dynamic_cast<const DirectMethod*>(&parts_.method) != nullptr) return epoch;  // updates sample
  std::vector<std::vector<std::future<std::optional<double>>>> rewards(epoch.shards.size());
  const auto own = own_shards(parts_.ranks.rank());
  {
    const WithWeights sampling(parts_.weights, parts_.snapshots, plan.weights);
    parts_.pool.run(own.size(), [&](std::size_t task) {
      const auto i = own[task];
      const ShardPrompts prompts(job, chosen, i);
      epoch.shards[i] =
          sample_rollout(parts_.backbone, epoch.sampler, job.seed, static_cast<std::uint32_t>(number),
                         prompts.rows, parts_.backbone.encode(prompts.texts));
      auto pictures = parts_.backbone.decode(epoch.shards[i].leaves, prompts.texts);
      for (std::size_t j = 0; j < pictures.size(); ++j)
        rewards[i].push_back(parts_.hooks.reward(prompts.places[j], std::move(pictures[j])));
    });
  }
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::optional<double>> values;
  for (const auto i : own) {
    for (auto& reward : rewards[i]) values.push_back(reward.get());
  }
  scorer_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  images_ += static_cast<std::int64_t>(values.size());
  score(epoch, rewards_of_all(values), chosen);
  return epoch;
}

/// The shards that a process samples: those that it trains on in each update.
std::vector<std::size_t> EpochSource::own_shards(int rank) const {
  std::vector<std::size_t> own;
  const auto of_update = static_cast<std::size_t>(parts_.settings.shards_of_an_update());
  const auto part = parts_.ranks.part_of(of_update, rank);
  for (std::int64_t update = 0; update < parts_.settings.updates_per_epoch; ++update) {
    for (auto i = part.first; i < part.last; ++i)
      own.push_back(static_cast<std::size_t>(update) * of_update + i);
  }
  return own;
}

/// The epoch's rewards in prompt order, from each process' own.
std::vector<std::optional<double>> EpochSource::rewards_of_all(
    const std::vector<std::optional<double>>& own) const {
  Json values = Json::array();
  for (const auto& reward : own) values.push_back(or_null(reward));
  const auto of_shard = static_cast<std::size_t>(parts_.settings.shard_prompts * parts_.settings.group_size);
  std::vector<std::optional<double>> all(static_cast<std::size_t>(parts_.settings.images_per_epoch()));
  const auto received = parts_.ranks.gather_json(values);
  for (int rank = 0; rank < parts_.ranks.size(); ++rank) {
    auto next = received[static_cast<std::size_t>(rank)].begin();
    for (const auto shard : own_shards(rank)) {
      for (std::size_t j = 0; j < of_shard; ++j, ++next)
        if (!next->is_null()) all[shard * of_shard + j] = next->get<double>();
    }
  }
  return all;
}

void EpochSource::score(Epoch& epoch, const std::vector<std::optional<double>>& rewards,
                        std::span<const int> prompts) {
  const auto& settings = parts_.settings;
  const auto group_size = static_cast<std::size_t>(settings.group_size);
  const auto advantages = tracker_.next(rewards, static_cast<int>(settings.group_size), prompts);
  std::vector<double> present;
  for (const auto& reward : rewards) {
    if (reward) present.push_back(*reward);
  }
  epoch.missing = advantages.missing;
  epoch.zero_std_groups = advantages.zero_std_groups;
  expect_rewards(epoch.missing, rewards.size(), epoch.number);
  epoch.reward_mean = mean_of(present);
  epoch.reward_std = std::sqrt(sample_variance(present));
  const auto of_shard = static_cast<std::size_t>(settings.shard_prompts) * group_size;
  const auto on_device = [&](const std::vector<float>& values) {
    return torch::tensor(values).to(parts_.backbone.device());
  };
  for (std::size_t first = 0; first < rewards.size(); first += of_shard) {
    std::vector<float> values, raw, counted;
    for (std::size_t i = first; i < first + of_shard; ++i) {
      const bool is_left_out = settings.drop_zero_std_groups && !advantages.group_differs[i / group_size];
      values.push_back(is_left_out ? 0.0F : static_cast<float>(advantages.values[i]));
      raw.push_back(is_left_out ? 0.0F : static_cast<float>(advantages.raw[i]));
      counted.push_back(is_left_out ? 0.0F : 1.0F);
    }
    epoch.rewards.emplace_back(rewards.begin() + static_cast<std::ptrdiff_t>(first),
                               rewards.begin() + static_cast<std::ptrdiff_t>(first + of_shard));
    epoch.advantages.push_back(on_device(values));
    epoch.advantages_raw.push_back(on_device(raw));
    epoch.counted.push_back(on_device(counted));
    epoch.left_out.push_back(static_cast<int>(std::ranges::count(counted, 0.0F)));
  }
  if (epoch.sampler.plan.is_forest()) score_forests(epoch);
}

/// Sets the advantages of the edges of this process' shards.
void EpochSource::score_forests(Epoch& epoch) const {
  const auto prompts = static_cast<std::size_t>(parts_.settings.shard_prompts);
  const auto images = static_cast<std::size_t>(parts_.settings.group_size);
  const double limit = parts_.settings.advantage_limit;
  int constant = 0;
  for (std::size_t shard = 0; shard < epoch.shards.size(); ++shard) {
    auto& edges = epoch.shards[shard].edges;
    if (edges.empty()) continue;  // another process'
    std::vector<std::vector<double>> logs;
    for (const auto& block : edges) logs.push_back(log_probs(epoch.sampler, block));
    std::vector<std::vector<float>> raw(edges.size());
    for (std::size_t p = 0; p < prompts; ++p) {
      const auto from = epoch.rewards[shard].begin() + static_cast<std::ptrdiff_t>(p * images);
      ForestRewards rewards{.plan = epoch.sampler.plan,
                            .images = {from, from + static_cast<std::ptrdiff_t>(images)},
                            .edge_log_prob = {}};
      for (const auto& block : logs) rewards.edge_log_prob.push_back(of_prompt(block, p, prompts));
      const auto advantages = parts_.method.forest_advantages(rewards);
      constant += advantages.constant_groups;
      for (std::size_t b = 0; b < edges.size(); ++b)
        raw[b].insert(raw[b].end(), advantages.of_edges[b].begin(), advantages.of_edges[b].end());
    }
    for (std::size_t b = 0; b < edges.size(); ++b) {
      edges[b].advantage_raw = torch::tensor(raw[b]).to(parts_.backbone.device());
      edges[b].advantage = edges[b].advantage_raw.clamp(-limit, limit);
    }
  }
  epoch.zero_std_groups = 0;
  for (const auto& theirs : parts_.ranks.gather_json(constant)) epoch.zero_std_groups += theirs.get<int>();
}

}  // namespace harness

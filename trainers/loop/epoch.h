#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trainers/advantage.h"
#include "trainers/loop/run_parts.h"
#include "trainers/rollout.h"

namespace harness {

/// An epoch's samples: shards in prompt order, with advantages. A process has the rollouts of its own shards
/// and the rewards of all shards.
struct Epoch {
  std::int64_t number = 0;  ///< from 1
  SdeSampler sampler = {};
  std::vector<Rollout> shards = {};
  std::vector<std::vector<std::optional<double>>> rewards = {};     ///< B per shard
  std::vector<torch::Tensor> advantages = {}, advantages_raw = {};  ///< [B] per shard
  std::vector<torch::Tensor> counted = {};  ///< [B] per shard: 0 for samples left out of the loss, else 1
  std::vector<int> left_out = {};           ///< number of such samples per shard
  double reward_mean = 0, reward_std = 0;
  int zero_std_groups = 0, missing = 0;
};

/// Shards first .. first + count - 1 of an epoch: the mini-batch of one update.
struct UpdatePart {
  const Epoch& epoch;
  std::size_t first = 0, count = 0;
  std::int64_t update = 0;  ///< from 1
  bool fresh = false;       ///< as of UpdateRecord
  bool on_policy = false;
};

/// Samples and scores epochs.
class EpochSource {
 public:
  explicit EpochSource(const RunParts& parts);

  /// Empty shards for a DirectMethod, whose updates sample. Throws Error (Status::kFailed) if more than 5 %
  /// of the rewards are missing.
  Epoch next(std::int64_t number);

  std::int64_t images() const { return images_; }            ///< decoded and scored by this process so far
  double scorer_seconds() const { return scorer_seconds_; }  ///< waited for rewards so far

  Json advantages_state() const { return tracker_.state(); }
  void restore_advantages(const Json& state, const std::string& where) { tracker_.restore(state, where); }

 private:
  std::vector<std::size_t> own_shards(int rank) const;
  std::vector<std::optional<double>> rewards_of_all(const std::vector<std::optional<double>>& own) const;
  void score_forests(Epoch& epoch) const;
  void score(Epoch& epoch, const std::vector<std::optional<double>>& rewards, std::span<const int> prompts);

  const RunParts& parts_;
  Schedule schedule_;
  AdvantageTracker tracker_;
  std::int64_t images_ = 0;
  double scorer_seconds_ = 0;
};

PlanContext plan_context(const TrainSettings& settings, std::uint32_t seed, std::int64_t epoch);

/// The setting's rule, else the method's.
AdvantageRule advantage_rule_of(const Method& method, const TrainSettings& settings);

}  // namespace harness

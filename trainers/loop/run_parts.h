#pragma once

#include <span>
#include <vector>

#include "backbones/backbone.h"
#include "core/processes/worker_pool.h"
#include "trainers/forward/snapshots.h"
#include "trainers/loop/train_job.h"
#include "trainers/method.h"
#include "trainers/optimisation/loss_scale.h"
#include "trainers/optimisation/named_tensors.h"
#include "trainers/ranks/ranks.h"
#include "trainers/rollout.h"

namespace harness {

/// What all parts of a training run share.
struct RunParts {
  const TrainJob& job;
  const TrainSettings& settings;
  Backbone& backbone;
  Method& method;
  WorkerPool& pool;
  const Ranks& ranks;
  const TrainHooks& hooks;
  const std::vector<NamedTensor>& weights;       ///< that are trained
  const std::vector<torch::Tensor>& parameters;  ///< the same without their names
  const Snapshots& snapshots;
  const LossScale& loss_scale;
};

/// The images of a shard, prompt after prompt.
struct ShardPrompts {
  std::vector<SampleAddress> rows;
  std::vector<PromptText> texts;
  std::vector<std::size_t> places;  ///< among the job's prompts

  /// chosen: indices of the epoch's prompts among the job's (prompts_of_epoch).
  ShardPrompts(const TrainJob& job, std::span<const int> chosen, std::size_t shard) {
    const auto size = static_cast<std::size_t>(job.settings.shard_prompts);
    for (const int i : chosen.subspan(shard * size, size)) {
      for (std::uint32_t j = 0; j < job.settings.group_size; ++j) {
        rows.push_back({static_cast<std::uint32_t>(i), j});
        texts.push_back(job.prompts[static_cast<std::size_t>(i)]);
        places.push_back(static_cast<std::size_t>(i));
      }
    }
  }
};

}  // namespace harness

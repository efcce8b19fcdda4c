#pragma once

#include <vector>

#include "backbones/backbone.h"
#include "core/processes/worker_pool.h"
#include "trainers/forward/snapshots.h"
#include "trainers/loop/train_job.h"
#include "trainers/method.h"
#include "trainers/optimisation/loss_scale.h"
#include "trainers/optimisation/named_tensors.h"
#include "trainers/ranks/ranks.h"

namespace harness {

/// What the parts of a training run work with. References outlive them.
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

}  // namespace harness

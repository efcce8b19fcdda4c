#pragma once

#include "core/processes/worker_pool.h"
#include "trainers/law/law_audit.h"
#include "trainers/loop/train_job.h"
#include "trainers/method.h"
#include "trainers/ranks/ranks.h"

namespace harness {

struct TrainOutcome {
  bool done = false;  ///< else it was asked to stop
  LawVerdict law;
  std::optional<MeasuredRounding> rounding = {};  ///< if it was measured
};

/// Trains until the last update or a stop. The processes of `ranks`, whose number must divide gradient_folds,
/// train shards of their own and hold equal weights, statistics and method states; the root writes and
/// reports. Throws Error if an on-policy log-ratio is not 0, a value is not finite, over 5 % of an epoch's
/// rewards are missing or, with law_audit "stop", the law is broken.
TrainOutcome train(const TrainJob& job, Backbone& backbone, Method& method, WorkerPool& pool,
                   const Ranks& ranks, const TrainHooks& hooks);

}  // namespace harness

#pragma once

#include "core/processes/worker_pool.h"
#include "trainers/law/law_audit.h"
#include "trainers/loop/train_job.h"
#include "trainers/method.h"
#include "trainers/ranks/ranks.h"

namespace harness {

/// Whether all updates are done, what the log-ratios say of the path-variance law, and what rounding adds to
/// them, where that was measured.
struct TrainOutcome {
  bool done = false;
  LawVerdict law;
  std::optional<MeasuredRounding> rounding = {};
};

/// Trains until the last update or a stop. The processes of `ranks`, which must divide gradient_folds, draw
/// and train shards of their own and hold equal weights, statistics and method states; what they write and
/// tell is the root's. Throws Error if the on-policy log-ratio is not 0, a value is not finite, over 5 % of
/// an epoch's rewards are missing or, where law_audit is "stop", the law is broken.
TrainOutcome train(const TrainJob& job, Backbone& backbone, Method& method, WorkerPool& pool,
                   const Ranks& ranks, const TrainHooks& hooks);

}  // namespace harness

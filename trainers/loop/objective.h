#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "trainers/loop/epoch.h"
#include "trainers/loop/step_trace.h"
#include "trainers/optimisation/fold_sum.h"

namespace harness {

/// An update's gradient, summed over all processes, and its record before the optimiser's step.
struct Contribution {
  std::unique_ptr<FoldSum> sum = {};  ///< null if the epoch's plan trains nothing
  UpdateRecord record = {};
  std::optional<Damping> damping = {};
  bool takes_out_weights = true;  ///< `sum` knows the gradient without the damp weights
};

/// What a run minimises.
class Objective {
 public:
  virtual ~Objective() = default;

  /// Before the first update on an epoch's samples.
  virtual void begin(const Epoch& /*epoch*/) {}

  virtual Contribution contribute(const UpdatePart& part) = 0;

  /// Whether each update samples with the current weights, so that none is off-policy.
  virtual bool samples_every_update() const { return false; }

  /// Decoded and scored by this process so far, in addition to the epochs' images.
  virtual std::int64_t images() const { return 0; }
};

/// A task's part of an update's loss (undefined: none), and the weight that GradientSum::undamped divides by.
struct TaskLoss {
  torch::Tensor loss = {};
  double weight = 1;
};

/// The gradients of an update's tasks, `of_shard` per shard in their order, summed over all processes.
std::unique_ptr<FoldSum> sum_gradients(const RunParts& parts, std::size_t shards, std::size_t of_shard,
                                       const std::function<TaskLoss(std::size_t task)>& loss_of);

/// Reward statistics of an epoch's samples.
void describe_rewards(const Epoch& epoch, UpdateRecord& record);

/// Throws Error for a value that is not finite. step: -1 if it belongs to no step.
void require_finite(double value, const std::string& what, int step, std::int64_t update);

}  // namespace harness

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "trainers/loop/epoch.h"
#include "trainers/loop/step_trace.h"
#include "trainers/loop/train_job.h"
#include "trainers/optimisation/fold_sum.h"

namespace harness {

/// An update's gradient, summed over all processes, and what is known of it before the optimiser's step.
struct Contribution {
  std::unique_ptr<FoldSum> sum = {};  ///< null where the epoch's plan trains nothing
  UpdateRecord record = {};
  std::optional<Damping> damping = {};
  bool takes_out_weights = true;  ///< `sum` knows the gradient without the damp weights
};

/// What a run minimises: turns samples into gradients.
class Objective {
 public:
  virtual ~Objective() = default;

  /// Before the first update on an epoch's samples.
  virtual void begin(const Epoch& /*epoch*/) {}

  virtual Contribution contribute(const UpdatePart& part) = 0;

  /// Whether an update samples by the weights that it begins with, so that none is off-policy.
  virtual bool samples_anew() const { return false; }

  /// Decoded and scored by this process so far, besides those of epochs.
  virtual std::int64_t images() const { return 0; }
};

/// Statistics of the samples of an epoch.
void describe_rewards(const Epoch& epoch, UpdateRecord& record);

/// step: -1 where it is of none.
[[noreturn]] void fail_not_finite(const std::string& what, int step, std::int64_t update);

}  // namespace harness

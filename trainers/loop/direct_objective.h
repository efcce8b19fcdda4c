#pragma once

#include <atomic>
#include <vector>

#include "trainers/direct/direct_method.h"
#include "trainers/loop/objective.h"

namespace harness {

/// The loss of methods that follow the gradient of the reward. A task is a shard: it is sampled, decoded and
/// scored with gradient, by the weights that the update begins with.
class DirectObjective : public Objective {
 public:
  /// Throws Error where the run's rewards have no gradient.
  DirectObjective(const RunParts& parts, const DirectMethod& method);

  Contribution contribute(const UpdatePart& part) override;
  std::int64_t images() const override { return images_; }
  bool samples_anew() const override { return true; }

 private:
  struct Trace {
    double loss = 0;              ///< summand of the update's
    std::vector<double> rewards;  ///< B, of the first of the method's images
  };

  torch::Tensor reward_of(const DirectImages& images, const std::vector<PromptText>& prompts) const;
  void gather(std::vector<Trace>& traces) const;
  UpdateRecord describe(const UpdatePart& part, const std::vector<Trace>& traces) const;

  const RunParts& parts_;
  const DirectMethod& method_;
  std::atomic<std::int64_t> images_ = 0;  ///< of this process
};

}  // namespace harness

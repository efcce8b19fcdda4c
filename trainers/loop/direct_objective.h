#pragma once

#include <atomic>
#include <vector>

#include "trainers/direct/direct_method.h"
#include "trainers/loop/objective.h"

namespace harness {

/// The loss of methods that follow the gradient of the reward. A task is a shard, sampled with the current
/// weights, decoded and scored with gradient.
class DirectObjective : public Objective {
 public:
  /// Throws Error if the run's rewards have no gradient.
  DirectObjective(const RunParts& parts, const DirectMethod& method);

  Contribution contribute(const UpdatePart& part) override;
  std::int64_t images() const override { return images_; }
  bool samples_every_update() const override { return true; }

 private:
  struct Trace {
    double loss = 0;              ///< share of the update's
    std::vector<double> rewards;  ///< B, of the first of the method's images
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Trace, loss, rewards)
  };

  torch::Tensor reward_of(const DirectImages& images, const std::vector<PromptText>& prompts) const;
  UpdateRecord describe(const std::vector<Trace>& traces) const;

  const RunParts& parts_;
  const DirectMethod& method_;
  std::atomic<std::int64_t> images_ = 0;  ///< of this process
};

}  // namespace harness

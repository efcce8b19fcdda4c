#include "trainers/method.h"

namespace harness {
namespace {

/// REINFORCE: -A y, whose gradient is -A times that of the log-probability, wherever the policy has moved. A
/// control for the clip: on-policy its gradient is flow-grpo's.
class Reinforce : public Method {
 public:
  Surrogate step(const StepStats& stats) const override {
    return {.ratio = stats.y.exp(),
            .slope = torch::ones_like(stats.y.detach()),
            .loss = -stats.advantage * stats.y};
  }
};

const bool kRegistered = register_method({
    .name = "reinforce",
    .summary = "policy gradient by the log-probability, without ratio or clip",
    .equations = "-A y (E22)",
    .settings = {},
    .make = [](Settings&, const MethodContext&) { return std::make_unique<Reinforce>(); },
});

}  // namespace
}  // namespace harness

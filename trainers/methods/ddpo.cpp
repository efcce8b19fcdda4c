#include "trainers/methods/plain_clip.h"

namespace harness {
namespace {

/// DDPO with importance sampling (arXiv 2305.13301; kvablack/ddpo-pytorch, PerPromptStatTracker): the clip
/// (E12, public radius 1e-4) with rewards over mean and standard deviation of the last 32 of their prompt, or
/// of the whole epoch until it has 16. Its sampler (DDIM, eta 1, 50 steps) is for diffusion models; here it
/// is the loop's.
class Ddpo : public PlainClip {
 public:
  using PlainClip::PlainClip;
  std::optional<AdvantageRule> advantage_rule() const override { return AdvantageRule::kTracked; }
};

const bool kRegistered = register_method({
    .name = "ddpo",
    .summary = "Flow-GRPO with advantages over the latest rewards of each prompt",
    .equations = "r = exp(y) (E12), A = (r - mean) / (sd + 1e-6) of the prompt's last 32 rewards",
    .settings = PlainClip::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Ddpo>(s, c); },
});

}  // namespace
}  // namespace harness

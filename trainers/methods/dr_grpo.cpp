#include "trainers/methods/plain_clip.h"
#include "trainers/methods/reward_unit.h"

namespace harness {
namespace {

/// Dr. GRPO (arXiv 2503.20783, for text): Flow-GRPO (E12) with A = r - mean of the group, not divided by its
/// standard deviation, which would weigh prompts of nearly equal rewards up.
class DrGrpo : public PlainClip {
 public:
  DrGrpo(Settings& settings, const MethodContext& context)
      : PlainClip(settings, context), takes_unit_(takes_unit(settings)) {}

  std::optional<AdvantageRule> advantage_rule() const override { return AdvantageRule::kCentred; }
  bool takes_first_epochs_unit() const override { return takes_unit_; }

 private:
  bool takes_unit_;
};

const bool kRegistered = register_method({
    .name = "dr-grpo",
    .summary = "Flow-GRPO with centred rewards that no standard deviation divides",
    .equations = "r = exp(y) (E12), A = r - mean of the group",
    .settings = merged(PlainClip::settings(), {unit_setting()}),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<DrGrpo>(s, c); },
});

}  // namespace
}  // namespace harness

#include "trainers/methods/plain_clip.h"
#include "trainers/methods/preset.h"
#include "trainers/methods/reward_unit.h"

namespace harness {
namespace {

/// RLOO (arXiv 2402.14740, for text): Flow-GRPO (E12) with A_i = r_i - mean of the others of the group, the
/// unbiased baseline, = G / (G - 1) (r_i - mean).
class Rloo : public PlainClip {
 public:
  Rloo(Settings& settings, const MethodContext& context)
      : PlainClip(settings, context), takes_unit_(takes_unit(settings)) {
    require_others(settings, context, "others to compare with");
  }

  std::optional<AdvantageRule> advantage_rule() const override { return AdvantageRule::kLeaveOneOut; }
  bool takes_first_epochs_unit() const override { return takes_unit_; }

 private:
  bool takes_unit_;
};

const bool kRegistered = register_method({
    .name = "rloo",
    .summary = "Flow-GRPO with the mean of the group's other rewards as baseline",
    .equations = "r = exp(y) (E12), A_i = r_i - mean of the others of the group",
    .settings = merged(PlainClip::settings(), {unit_setting()}),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Rloo>(s, c); },
});

}  // namespace
}  // namespace harness

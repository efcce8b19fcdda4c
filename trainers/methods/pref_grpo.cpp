#include "trainers/methods/plain_clip.h"
#include "trainers/methods/preset.h"

namespace harness {
namespace {

/// Pref-GRPO (arXiv 2508.20751; CodeGoat24/Pref-GRPO): Flow-GRPO (E12) on win rates, w_i = (wins + ties / 2)
/// / (G - 1) within the group. The public code asks a judge about every pair, who may call a tie, and rounds
/// w to 3 digits: rewards that hardly differ then make small advantages. Here scalar rewards are compared,
/// which makes it a transform by ranks: the smallest difference wins, and any group without ties has the same
/// advantages.
class PrefGrpo : public PlainClip {
 public:
  PrefGrpo(Settings& settings, const MethodContext& context) : PlainClip(settings, context) {
    require_others(settings, context, "others to win against");
  }

  std::optional<AdvantageRule> advantage_rule() const override { return AdvantageRule::kWinRate; }
};

const bool kRegistered = register_method({
    .name = "pref-grpo",
    .summary = "Flow-GRPO on each image's win rate within its group",
    .equations = "r = exp(y) (E12), A = (w - mean) / (sd + 1e-4), w = (wins + ties / 2) / (G - 1)",
    .settings = PlainClip::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<PrefGrpo>(s, c); },
});

}  // namespace
}  // namespace harness

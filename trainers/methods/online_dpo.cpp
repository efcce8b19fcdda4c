#include "trainers/forward/group_rules.h"
#include "trainers/forward/method_settings.h"
#include "trainers/forward/sample_rules.h"
#include "trainers/methods/preset.h"

namespace harness {
namespace {

using torch::Tensor;
constexpr auto kAnchor = "dpo_reference";

/// Diffusion-DPO on pairs of own samples (arXiv 2311.12908; the online form of the public Flow-GRPO code): of
/// each prompt the best and the worst image, noised with the same eps to the same t. With the matching error
/// E:
///
///     m = -beta / 2 ((E(v_w) - E(ref_w)) - (E(v_l) - E(ref_l)));  loss = -log sigmoid(m)
///
/// E is a mean over the latent, so the same beta acts D times more weakly than where E is a sum. The
/// reference takes the learner's weights every `reference_every` updates; 0 keeps the starting weights. The
/// public code pairs samples 0 and 1 of a group of equal rewards; here such a group is left out.
class OnlineDpo : public ForwardMethod {
 public:
  OnlineDpo(Settings& settings, const MethodContext& context)
      : OnlineDpo(settings, context, read_preset(settings)) {}

  std::optional<AdvantageRule> advantage_rule() const override { return AdvantageRule::kGroup; }
  bool uses_advantages() const override { return false; }
  ForwardPlan forward_plan() const override { return draws_; }

  std::vector<SnapshotRule> snapshots() const override {
    if (reference_every_ == 0) return {};
    return {{.name = kAnchor, .when = SnapshotRule::When::kUpdate, .every = reference_every_}};
  }

  /// A winner and a loser a prompt, one after the other.
  Selection select(const RewardGroups& groups) const override {
    Selection pairs;
    for_each_group(groups, [&](const PresentRewards& group) {
      if (!group.differ()) return;
      const auto pair = best_and_worst(group.rewards);
      pairs.rows.push_back(group.rows[static_cast<std::size_t>(pair.best)]);
      pairs.rows.push_back(group.rows[static_cast<std::size_t>(pair.worst)]);
      ++pairs.units;
    });
    return pairs;
  }

  ForwardLoss forward(const ForwardStats& stats) const override {
    const auto target = stats.target();
    const auto gain = matching_error(stats.v, target) - matching_error(stats.of(anchor()), target);
    const auto pairs = gain.unflatten(1, {-1, 2});
    const auto margin = -beta_ / 2 * (pairs.select(2, 0) - pairs.select(2, 1));
    const auto loss = torch::softplus(-margin);
    return described(loss, {{"margin", margin}, {"ranked", (margin > 0).to(torch::kFloat64)}},
                     {{"dpo_margin", "margin"}, {"dpo_accuracy", "ranked"}});
  }

  static std::vector<Setting> settings();

 private:
  OnlineDpo(Settings& settings, const MethodContext& context, Preset preset)
      : beta_(settings.number("beta")),
        reference_every_(whole_or(settings, "reference_every",
                                  preset == Preset::kUpstream      ? 40
                                  : preset == Preset::kFlowFactory ? 0
                                                                   : 10)),
        draws_(read_draws(settings, context,
                          {.times = preset == Preset::kUpstream      ? 39
                                    : preset == Preset::kFlowFactory ? 1
                                                                     : 8,
                           .rule = {.kind = TimeRule::Kind::kLogitNormalGrid},
                           .time_scope = DrawScope::kPrompt,
                           .noise_scope = DrawScope::kPrompt})) {
    draws_.velocities = {anchor()};
    require_shared_draws(settings, draws_);
  }

  const char* anchor() const { return reference_every_ == 0 ? kReferenceWeights : kAnchor; }

  double beta_;
  std::int64_t reference_every_;
  ForwardPlan draws_;
};

std::vector<Setting> OnlineDpo::settings() {
  const std::vector<Setting> own = {
      preset_setting({{"harness", {}}, {"upstream", {}}, {"flow-factory", {}}}),
      {.name = "beta",
       .default_value = 100.0,
       .minimum = 1e-6,
       .maximum = 1e9,
       .help = "sharpness of the preference, for errors that are means over the latent"},
      {.name = "reference_every",
       .minimum = 0,
       .maximum = 1e9,
       .help =
           "updates after which the reference takes the learner's weights; 0: never; default: 10, upstream "
           "40, flow-factory 0"}};
  return merged(own, draw_settings());
}

const bool kRegistered = register_method({
    .name = "online-dpo",
    .summary = "direct preference optimisation on the best and the worst own image of each prompt",
    .equations = "-log sigmoid(-beta / 2 ((E(v_w) - E(ref_w)) - (E(v_l) - E(ref_l)))) (arXiv 2311.12908)",
    .settings = OnlineDpo::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<OnlineDpo>(s, c); },
});

}  // namespace
}  // namespace harness

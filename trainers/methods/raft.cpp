#include "trainers/forward/group_rules.h"
#include "trainers/forward/method_settings.h"
#include "trainers/forward/sample_rules.h"

namespace harness {
namespace {

/// RAFT (arXiv 2304.06767): flow matching on the best image of each prompt, all of them where several tie:
///
///     loss = E(v) + reference_weight mean (v - v_ref)^2,  E(v) = mean (v - (eps - x0))^2
///
/// averaged over those images. A group of equal rewards has no best image and is left out. The `public` form
/// is that of the Flow-GRPO repository: every image is trained on, with E(v) weighted 1 for the best and 0
/// for the others, and where reference_weight is 0 with E(v) alone, whatever the rewards.
class Raft : public ForwardMethod {
 public:
  Raft(Settings& settings, const MethodContext& context)
      : is_public_(settings.choice("form") == "public"),
        reference_weight_(settings.number("reference_weight")),
        draws_(
            read_draws(settings, context, {.times = 8, .rule = {.kind = TimeRule::Kind::kLogitNormalGrid}})) {
    if (reference_weight_ > 0) draws_.velocities = {kReferenceWeights};
  }

  std::optional<AdvantageRule> advantage_rule() const override { return AdvantageRule::kGroup; }
  bool uses_advantages() const override { return false; }
  ForwardPlan forward_plan() const override { return draws_; }

  Selection select(const RewardGroups& groups) const override {
    if (is_public_) return with_rewards(ForwardMethod::select(groups), groups);
    Selection best;
    for_each_group(groups, [&](const PresentRewards& group) {
      if (!group.differ()) return;
      for (const auto i : best_of(group.rewards))
        best.rows.push_back(group.rows[static_cast<std::size_t>(i)]);
    });
    best.units = static_cast<std::int64_t>(best.rows.size());
    return best;
  }

  ForwardLoss forward(const ForwardStats& stats) const override {
    const auto matching = matching_error(stats.v, stats.target());
    auto loss = matching;
    if (is_public_ && reference_weight_ > 0) loss = matching * best_in_group(stats);
    if (reference_weight_ > 0)
      loss = loss + reference_weight_ * matching_error(stats.v, stats.of(kReferenceWeights));
    return described(loss, {{"matching", matching}}, {{"matching_error", "matching"}});
  }

 private:
  /// [B] 1 for the best of each prompt, else 0.
  static torch::Tensor best_in_group(const ForwardStats& stats) {
    const auto better = stats.reward.unsqueeze(0) > stats.reward.unsqueeze(1);
    return (better & same_group(stats.group)).any(1).logical_not().to(torch::kFloat64);
  }

  bool is_public_;
  double reference_weight_;
  ForwardPlan draws_;
};

const bool kRegistered = register_method({
    .name = "raft",
    .summary = "flow matching on the best own image of each prompt",
    .equations = "mean E(v) over the best of n, E(v) = mean (v - (eps - x0))^2 (arXiv 2304.06767)",
    .settings =
        merged({{.name = "form",
                 .default_value = "best",
                 .choices = {"best", "public"},
                 .help = "best: trains on the best images alone; public: on all, with weight 0 for the "
                         "others"},
                reference_weight_setting()},
               draw_settings()),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Raft>(s, c); },
});

}  // namespace
}  // namespace harness

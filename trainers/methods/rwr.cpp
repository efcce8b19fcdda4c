#include "trainers/forward/method_settings.h"
#include "trainers/forward/sample_rules.h"

namespace harness {
namespace {

/// Reward-weighted regression (after arXiv 2305.13301, 2302.12192): flow matching on all own images, those
/// with higher rewards weighing more,
///
///     loss = w E(v) + reference_weight mean (v - v_ref)^2,  E(v) = mean (v - (eps - x0))^2
///
/// with w = G softmax(A / temperature) over a prompt's G images, so that the mean of w is 1; or `reward`, w =
/// r, which with rewards in 0..1 also clones the average image; or `public`, as the Flow-GRPO repository: w =
/// r where reference_weight is above 0, else 1 whatever the rewards. Temperature to 0 is RAFT, to infinity
/// flow matching on all own images. Images without a reward are left out.
class Rwr : public ForwardMethod {
 public:
  Rwr(Settings& settings, const MethodContext& context)
      : weights_(settings.choice("weights")),
        temperature_(weights_ == "softmax" ? settings.number("temperature") : 1),
        reference_weight_(settings.number("reference_weight")),
        draws_(
            read_draws(settings, context, {.times = 4, .rule = {.kind = TimeRule::Kind::kLogitNormalGrid}})) {
    if (reference_weight_ > 0) draws_.velocities = {kReferenceWeights};
  }

  std::optional<AdvantageRule> advantage_rule() const override {
    return weights_ == "softmax" ? AdvantageRule::kGroup : AdvantageRule::kRaw;
  }
  bool uses_advantages() const override { return weights_ == "softmax"; }
  ForwardPlan forward_plan() const override { return draws_; }

  Selection select(const RewardGroups& groups) const override {
    return with_rewards(ForwardMethod::select(groups), groups);
  }

  ForwardLoss forward(const ForwardStats& stats) const override {
    const auto matching = matching_error(stats.v, stats.target());
    const auto weight = weights_of(stats);
    auto loss = matching * weight;
    if (reference_weight_ > 0)
      loss = loss + reference_weight_ * matching_error(stats.v, stats.of(kReferenceWeights));
    return described(loss, {{"matching", matching}, {"weight", weight}}, {{"matching_error", "matching"}});
  }

 private:
  /// [B]
  torch::Tensor weights_of(const ForwardStats& stats) const {
    if (weights_ == "softmax") return softmax_weights(stats.advantage, stats.group, temperature_);
    const auto raw = stats.advantage_raw.to(torch::kFloat64);
    return weights_ == "public" && reference_weight_ == 0 ? torch::ones_like(raw) : raw;
  }

  std::string weights_;
  double temperature_, reference_weight_;
  ForwardPlan draws_;
};

const bool kRegistered = register_method({
    .name = "rwr",
    .summary = "flow matching on all own images, weighted by their rewards",
    .equations = "w E(v), w = G softmax(A / temperature), E(v) = mean (v - (eps - x0))^2",
    .settings =
        merged({{.name = "weights",
                 .default_value = "softmax",
                 .choices = {"softmax", "reward", "public"},
                 .help = "of the images: softmax of their advantages within the prompt; their rewards; "
                         "or their rewards where reference_weight is above 0, else 1"},
                {.name = "temperature",
                 .default_value = 0.5,
                 .minimum = 1e-3,
                 .maximum = 1e9,
                 .help = "of the softmax"},
                reference_weight_setting()},
               draw_settings()),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Rwr>(s, c); },
});

}  // namespace
}  // namespace harness

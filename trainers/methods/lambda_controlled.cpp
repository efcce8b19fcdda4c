#include "trainers/methods/lambda_norm_t.h"

namespace harness {
namespace {

/// Lambda-controlled GRPO (E35, E36, E44, E45): LambdaNorm-T, each step's loss damped by
/// w_k = min(1, sqrt(tau / (mean of lambda_center + eps_lambda))), the mean over the shard, detached.
///
/// The weights are inside the sum whose norm the optimiser clips. Where that norm is above its limit with and
/// without them, the clip gives the update the same length, and a damping that is common to the steps has no
/// effect. damp = after-clip: the weights over their mean m (over the update's shards and steps) act inside
/// the sum, and m multiplies the clipped gradient; the same as a norm clip to m max_grad_norm.
class LambdaControlled : public Method {
 public:
  LambdaControlled(Settings& settings, const MethodContext& context)
      : base_(settings, context),
        tau_(late_budget(settings, context)),
        after_clip_(settings.choice("damp") == "after-clip") {}

  Surrogate step(const StepStats& stats) const override {
    auto surrogate = base_.step(stats);
    const auto spend = stats.lambda_center.detach().mean() + base_.eps_lambda();
    surrogate.weight = (tau_ / spend).sqrt().clamp_max(1);
    return surrogate;
  }

  bool damps_after_clip() const override { return after_clip_; }

  static std::vector<Setting> settings() {
    return merged(
        LambdaNormT::settings(),
        {{.name = "damp",
          .default_value = "per-step",
          .choices = {"per-step", "after-clip"},
          .help = "per-step: the weights act inside the sum over steps, then its norm is clipped (the "
                  "paper's order; a damping common to the steps changes nothing where the clip acts with and "
                  "without it); after-clip: the weights over their mean act inside the sum, their mean "
                  "multiplies the clipped gradient (as clipping to the mean weight times max_grad_norm)",
          .equation = "E44, E45",
          .silent_default = true}});
  }

 private:
  LambdaNormT base_;
  double tau_;
  bool after_clip_;
};

const bool kRegistered = register_method({
    .name = "lambda-controlled",
    .summary = "LambdaNorm-T with each step's loss damped where its path variance exceeds the budget",
    .equations =
        "LambdaNorm-T ratio (E35, E36), weight min(1, sqrt(tau / (lambda_center + eps_lambda))) (E44, E45)",
    .settings = LambdaControlled::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<LambdaControlled>(s, c); },
});

}  // namespace
}  // namespace harness

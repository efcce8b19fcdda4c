#include "trainers/methods/lambda_norm_t.h"

namespace harness {
namespace {

/// Lambda-controlled GRPO (E35, E36, E44, E45): LambdaNorm-T, each step's loss damped by
/// w_k = min(1, sqrt(tau / (mean of lambda_center + eps_lambda))), the mean over the shard, detached.
class LambdaControlled : public Method {
 public:
  LambdaControlled(Settings& settings, const MethodContext& context)
      : base_(settings, context), tau_(late_budget(settings, context)) {}

  Surrogate step(const StepStats& stats) const override {
    auto surrogate = base_.step(stats);
    const auto spend = stats.lambda_center.detach().mean() + base_.eps_lambda();
    surrogate.weight = (tau_ / spend).sqrt().clamp_max(1);
    return surrogate;
  }

 private:
  LambdaNormT base_;
  double tau_;
};

const bool kRegistered = register_method({
    .name = "lambda-controlled",
    .summary = "LambdaNorm-T with each step's loss damped where its path variance exceeds the budget",
    .equations =
        "LambdaNorm-T ratio (E35, E36), weight min(1, sqrt(tau / (lambda_center + eps_lambda))) (E44, E45)",
    .settings = LambdaNormT::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<LambdaControlled>(s, c); },
});

}  // namespace
}  // namespace harness

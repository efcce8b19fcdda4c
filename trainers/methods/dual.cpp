#include <algorithm>
#include <cmath>

#include "trainers/methods/lambda_norm_t.h"
#include "trainers/methods/ratio_norm.h"

namespace harness {
namespace {

// Units. The penalty weighs against a policy gradient of the order of 0.1 (measured on the embedded
// backbone), the late path variance L against tau. With L quadratic in the weight change, beta = 0.004 /
// tau^2 makes the two gradients equal at L = 2 tau; the defaults below are multiples of that.
constexpr double kAlpha = 4;         // over tau: phi(0) = (0.17 tau)^2, phi'(0) = 8 % of phi'(tau)
constexpr double kBetaInit = 0.004;  // over tau^2
constexpr double kBetaMax = 0.1;     // over tau^2
constexpr double kEtaBeta =
    5e-4;  // over tau^3: an unused budget takes beta to 0 in about 8 off-policy updates

double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}
double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

/// Primal-dual budget on the late path variance (E49 to E54): the loss of RatioNorm (E51) or LambdaNorm-T
/// (E52) plus beta phi(L - tau), phi(u) = (softplus(alpha u) / alpha)^2, L differentiable.
///
/// After an update: Lbar = (1 - gamma) Lbar + gamma L, beta = clip(beta + eta_beta (Lbar - tau - delta), 0,
/// beta_max). On-policy updates have L = 0 by construction, say nothing about the spend, and move neither;
/// Lbar starts at the first off-policy L.
class Dual : public Method {
 public:
  Dual(Settings& settings, const MethodContext& context) : base_(make_base(settings, context)) {
    tau_ = late_budget(settings, context);
    alpha_ = number_or(settings, "alpha", kAlpha / tau_);
    eta_beta_ = number_or(settings, "eta_beta", kEtaBeta / (tau_ * tau_ * tau_));
    beta_max_ = number_or(settings, "beta_max", kBetaMax / (tau_ * tau_));
    beta_ = number_or(settings, "beta_init", std::min(kBetaInit / (tau_ * tau_), beta_max_));
    if (beta_ > beta_max_) settings.fail("beta_init", "is above beta_max");
    gamma_ = settings.number("gamma");
    delta_ = settings.number("delta");
  }

  Surrogate step(const StepStats& stats) const override { return base_->step(stats); }

  bool has_penalty() const override { return true; }

  Penalty penalty(double late_lambda) const override {
    const double u = alpha_ * (late_lambda - tau_), hinge = softplus(u) / alpha_;
    return {.value = beta_ * hinge * hinge, .derivative = beta_ * 2 * hinge * sigmoid(u)};
  }

  void after_update(const UpdateOutcome& outcome) override {
    if (outcome.on_policy) return;
    average_ = average_ ? (1 - gamma_) * *average_ + gamma_ * outcome.lambda_late : outcome.lambda_late;
    beta_ = std::clamp(beta_ + eta_beta_ * (*average_ - tau_ - delta_), 0.0, beta_max_);
  }

  Json state() const override {
    return {{"beta", beta_}, {"lambda_late_average", average_ ? Json(*average_) : Json()}};
  }

  void restore(const Json& state, const std::string& where) override {
    Fields fields(state, where);
    const double beta = fields.required<double>("beta");
    const Json& average = fields.get("lambda_late_average");
    fields.finish();
    if (!average.is_null() && !average.is_number()) throw Error("lambda_late_average is not a number", where);
    beta_ = beta;
    average_ = average.is_null() ? std::nullopt : std::optional(average.get<double>());
  }

  std::map<std::string, double> statistics() const override { return {{"dual_beta", beta_}}; }

  static std::vector<Setting> settings();

 private:
  static std::unique_ptr<Method> make_base(Settings& settings, const MethodContext& context) {
    if (settings.choice("base") == "ratio-norm") return std::make_unique<RatioNorm>(settings, context);
    return std::make_unique<LambdaNormT>(settings, context);
  }

  static double number_or(Settings& settings, const std::string& name, double otherwise) {
    const double value = settings.number_if_given(name).value_or(otherwise);
    settings.report(name, value);
    return value;
  }

  std::unique_ptr<Method> base_;
  double tau_, alpha_, gamma_, eta_beta_, beta_max_, delta_;
  double beta_;
  std::optional<double> average_;
};

std::vector<Setting> Dual::settings() {
  const std::vector<Setting> own = {
      {.name = "base",
       .default_value = "ratio-norm",
       .choices = {"ratio-norm", "lambda-norm-t"},
       .help = "the objective that the penalty is added to; its settings are read too",
       .equation = "E51, E52"},
      {.name = "alpha",
       .minimum = 1e-9,
       .help = "sharpness of the hinge phi; default 4 / tau, which leaves 8 % of its slope at an overspend "
               "of tau when the "
               "budget is just met",
       .equation = "E50"},
      {.name = "gamma",
       .default_value = 0.2,
       .minimum = 1e-6,
       .maximum = 1,
       .help = "weight of the latest off-policy update in the average spend",
       .equation = "E53"},
      {.name = "eta_beta",
       .minimum = 0,
       .help = "step of the multiplier; default 5e-4 / tau^3",
       .equation = "E54"},
      {.name = "beta_init",
       .minimum = 0,
       .help = "multiplier at the start; default 0.004 / tau^2, at which the penalty balances the policy "
               "gradient at twice "
               "the budget",
       .equation = "E54"},
      {.name = "beta_max",
       .minimum = 0,
       .help = "largest multiplier; default 0.1 / tau^2",
       .equation = "E54"},
      {.name = "delta",
       .default_value = 0.0,
       .minimum = -1,
       .maximum = 1,
       .help = "slack added to the budget in the multiplier's update; positive tolerates overspending",
       .equation = "E54"}};
  // Both bases name clip_rule; its help differs, so the description says which it is about.
  auto all = merged(merged(own, RatioNorm::settings()), LambdaNormT::settings());
  std::ranges::find(all, "clip_rule", &Setting::name)->help =
      "where the PPO radius comes from, as for the method that `base` names";
  return all;
}

const bool kRegistered = register_method({
    .name = "dual",
    .summary = "RatioNorm or LambdaNorm-T with a primal-dual penalty on the late path variance",
    .equations =
        "loss + beta phi(L - tau), phi(u) = (softplus(alpha u) / alpha)^2 (E50, E51), beta by E53 and E54",
    .settings = Dual::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Dual>(s, c); },
});

}  // namespace
}  // namespace harness

#pragma once

#include "trainers/clip_rule.h"
#include "trainers/method.h"

namespace harness {

/// epsilon_lambda of E35: setting `eps_lambda` if given, else kappa tau / D (tau / D is lambda_var at the
/// budget). Reports `eps_lambda`. It sets the gradient scale of on-policy updates (E37).
double epsilon_lambda(Settings& settings, const MethodContext& context);
std::vector<Setting> epsilon_lambda_settings();

/// LambdaNorm-T (E35, E36): z = (y + lambda_center / 2) / sqrt(lambda_var + eps_lambda),
/// ratio = exp(sqrt(nu) z - nu / 2), the lambdas without gradient.
/// form = temperature (E40): T = sqrt(nu / (lambda_var + eps_lambda)), ratio = exp(T (y + lambda_center / 2)
/// - T^2 lambda_var / 2), of mean one for every eps_lambda.
class LambdaNormT : public Method {
 public:
  LambdaNormT(Settings& settings, const MethodContext& context);
  Surrogate step(const StepStats& stats) const override;

  double eps_lambda() const { return eps_lambda_; }

  static std::vector<Setting> settings();

 private:
  ClipRadius clip_;
  double nu_;
  double eps_lambda_;
  bool temperature_form_;
};

}  // namespace harness

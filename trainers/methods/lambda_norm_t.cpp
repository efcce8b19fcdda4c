#include "trainers/methods/lambda_norm_t.h"

#include <cmath>

#include "trainers/reduced_law.h"

namespace harness {

std::vector<Setting> epsilon_lambda_settings() {
  return {{.name = "kappa",
           .default_value = 0.01,
           .minimum = 1e-9,
           .maximum = 1e6,
           .help = "epsilon_lambda in units of tau / D, which is lambda_var at the budget",
           .equation = "E35"},
          {.name = "eps_lambda",
           .minimum = 1e-300,
           .maximum = 1,
           .help = "epsilon_lambda as it is, in place of kappa tau / D",
           .equation = "E35"},
          retention_setting()};
}

double epsilon_lambda(Settings& settings, const MethodContext& context) {
  auto eps = settings.number_if_given("eps_lambda");
  if (!eps) {
    eps =
        settings.number("kappa") * late_budget(settings, context) / static_cast<double>(context.latent_size);
  }
  settings.report("eps_lambda", *eps);
  return *eps;
}

std::vector<Setting> LambdaNormT::settings() {
  const std::vector<Setting> own = {
      {.name = "nu_rule",
       .default_value = "eps2",
       .choices = {"eps2", "log"},
       .help = "target variance of the log-ratio from the PPO radius e: e^2, or log(1 + e)^2",
       .equation = "E39"},
      {.name = "nu",
       .minimum = 1e-9,
       .maximum = 100,
       .help = "target variance of the log-ratio as it is, in place of nu_rule",
       .equation = "E36, E42"},
      {.name = "form",
       .default_value = "main",
       .choices = {"main", "temperature"},
       .help = "main: exp(sqrt(nu) z - nu / 2); temperature: mean one for every epsilon_lambda",
       .equation = "E36, E40"}};
  return merged(merged(clip_settings(RatioFamily::kLambdaNorm), epsilon_lambda_settings()), own);
}

LambdaNormT::LambdaNormT(Settings& settings, const MethodContext& context)
    : clip_(clip_radius(settings, context, RatioFamily::kLambdaNorm)),
      eps_lambda_(epsilon_lambda(settings, context)),
      temperature_form_(settings.choice("form") == "temperature") {
  const auto given = settings.number_if_given("nu");
  const double root = settings.choice("nu_rule") == "log" ? std::log1p(clip_.constant) : clip_.constant;
  nu_ = given.value_or(root * root);
  settings.report("nu", nu_);
}

Surrogate LambdaNormT::step(const StepStats& stats) const {
  const auto variance = stats.lambda_var.detach();
  const auto temperature = (nu_ / (variance + eps_lambda_)).sqrt();
  const auto log_ratio =
      temperature_form_
          ? temperature * (stats.y + stats.lambda_center.detach() / 2) - temperature.square() * variance / 2
          : std::sqrt(nu_) * standardised_log_ratio(stats, eps_lambda_) - nu_ / 2;
  return {.ratio = log_ratio.exp(), .clip = clip_.at(stats), .slope = temperature};
}

namespace {

const bool kRegistered = register_method({
    .name = "lambda-norm-t",
    .summary = "ratio standardised by the predicted path variance, to a fixed target variance",
    .equations = "z = (y + lambda_center / 2) / sqrt(lambda_var + eps_lambda), r = exp(sqrt(nu) z - nu / 2) "
                 "(E35, E36)",
    .settings = LambdaNormT::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<LambdaNormT>(s, c); },
});

}  // namespace
}  // namespace harness

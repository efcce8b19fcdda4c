#include "trainers/methods/lambda_norm_t.h"
#include "trainers/reduced_law.h"

namespace harness {
namespace {

/// Lambda-z clip (E56), a diagnostic: z as in LambdaNorm-T, clamped to -c..c, then turned back into a ratio
/// exp(z sqrt(lambda_var + eps_lambda) - lambda_center / 2). Where z is clamped the gradient is zero.
class LambdaZClip : public Method {
 public:
  LambdaZClip(Settings& settings, const MethodContext& context)
      : clip_(clip_radius(settings, context, RatioFamily::kPlain)),
        eps_lambda_(epsilon_lambda(settings, context)),
        z_clip_(settings.number("z_clip")) {}

  Surrogate step(const StepStats& stats) const override {
    const auto spread = (stats.lambda_var.detach() + eps_lambda_).sqrt();
    const auto z = standardised_log_ratio(stats, eps_lambda_);
    const auto log_ratio = z.clamp(-z_clip_, z_clip_) * spread - stats.lambda_center.detach() / 2;
    return {.ratio = log_ratio.exp(),
            .clip = clip_.at(stats),
            .slope = (z.detach().abs() <= z_clip_).to(z.scalar_type())};
  }

  static std::vector<Setting> settings() {
    return merged(merged(clip_settings(RatioFamily::kPlain), epsilon_lambda_settings()),
                  {{.name = "z_clip",
                    .default_value = 1.0,
                    .minimum = 1e-6,
                    .maximum = 1e6,
                    .help = "c: the standardised log-ratio is clamped to -c .. c",
                    .equation = "E56"}});
  }

 private:
  ClipRadius clip_;
  double eps_lambda_;
  double z_clip_;
};

const bool kRegistered = register_method({
    .name = "lambda-z-clip",
    .summary = "diagnostic: the standardised log-ratio is clipped and turned back into a ratio",
    .equations = "r = exp(clip(z, -c, c) sqrt(lambda_var + eps_lambda) - lambda_center / 2) (E56)",
    .settings = LambdaZClip::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<LambdaZClip>(s, c); },
});

}  // namespace
}  // namespace harness

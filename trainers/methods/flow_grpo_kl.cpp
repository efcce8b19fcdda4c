#include "trainers/methods/plain_clip.h"

namespace harness {
namespace {

/// Flow-GRPO with its pull to the starting weights (arXiv 2505.05470; yifan123/flow_grpo, train_sd3.py):
/// clipped exp(y) (E12) + beta mean((mu - mu_ref)^2) / (2 std^2).
///
/// The public divisor leaves dt out, so that the term is lambda_center_ref dt / 2 and not a KL. Public beta:
/// 0.04 for OCR and GenEval, 0.01 for PickScore; with advantages over the standard deviation of the whole
/// epoch (the loop's `advantage` global).
class FlowGrpoKl : public PlainClip {
 public:
  FlowGrpoKl(Settings& settings, const MethodContext& context)
      : PlainClip(settings, context), weight_(settings.number("kl_weight")) {}

  std::optional<ReferenceKl> reference_kl() const override {
    return ReferenceKl{.weight = weight_, .per_step_variance = false};
  }

  static std::vector<Setting> settings() {
    return merged(PlainClip::settings(),
                  {{.name = "kl_weight",
                    .default_value = 0.04,
                    .minimum = 0,
                    .maximum = 1e6,
                    .help = "beta, of mean((mu - mu_ref)^2) / (2 std^2); in place of the loop's kl"}});
  }

 private:
  double weight_;
};

const bool kRegistered = register_method({
    .name = "flow-grpo-kl",
    .summary = "Flow-GRPO with its KL to the starting weights",
    .equations = "r = exp(y) (E12), + beta mean((mu - mu_ref)^2) / (2 std^2)",
    .settings = FlowGrpoKl::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<FlowGrpoKl>(s, c); },
});

}  // namespace
}  // namespace harness

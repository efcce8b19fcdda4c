#include "trainers/advantage.h"
#include "trainers/methods/forks.h"
#include "trainers/methods/plain_clip.h"

namespace harness {
namespace {

constexpr double kForkedShare = 0.2;  // of the steps: 0, 2 of 10

/// G2RPO (arXiv 2510.01982; bcmi/Granular-GRPO, train_g2rpo_hps.py): one noiseless anchor a prompt; at the
/// forked steps its latent gets `children` by one step of Flow-SDE (E8). Each child is finished without noise
/// on grids of several strides, and its advantage is the sum over strides of (r - mean) / (sd, divisor n - 1,
/// + 1e-8) among the children of that step. Loss: clipped exp(y) (E12), one evaluation for all children of a
/// latent.
///
/// Public numbers: FLUX, steps 0 to 7 of 16, 12 children, strides 1 and 2, an optimiser step for each forked
/// step, so that later ones are off-policy. Here gradients of an epoch's forks are summed as those of any
/// method's steps. The anchor's own image is scored for the record alone.
class Granular : public PlainClip {
 public:
  Granular(Settings& settings, const MethodContext& context)
      : PlainClip(settings, context),
        forks_(
            read_steps(settings, "forks", context.sampling_steps, kForkedShare, context.sampling_steps - 1)),
        strides_(read_strides(settings)),
        children_(read_children(settings, context,
                                static_cast<int>(forks_.size()) * static_cast<int>(strides_.size()))) {
    if (forks_.empty()) settings.fail("forks", "leaves no step to fork at", "raise sampling_steps");
  }

  RolloutPlan plan(const PlanContext& context) const override {
    auto plan = forked_plan(context, forks_);
    plan.children = Children{.trunks = 1, .fanout = children_, .strides = strides_, .scores_trunks = true};
    return plan;
  }

  ForestAdvantages forest_advantages(const ForestRewards& rewards) const override {
    ForestAdvantages advantages;
    const auto strides = strides_.size(), of_step = static_cast<std::size_t>(children_) * strides;
    for (std::size_t f = 0; f < forks_.size(); ++f) {
      const auto step = std::span(rewards.images).subspan(f * of_step, of_step);
      advantages.of_edges.push_back(granular_advantages(step, static_cast<int>(strides)));
      advantages.constant_groups += group_advantages(step, static_cast<int>(of_step)).zero_std_groups;
    }
    return advantages;
  }

  static std::vector<Setting> settings() {
    const std::vector<Setting> own = {
        {.name = "forks",
         .default_value = "auto",
         .help = "steps at which the anchor gets children, comma-separated; auto: 0,2 of 10 steps"},
        {.name = "children",
         .default_value = 0,
         .minimum = 0,
         .maximum = 1000,
         .help = "children at each fork; 0: as many as make the epoch's images with one prompt per update"},
        {.name = "strides",
         .default_value = "1,2",
         .help = "every how many noise levels a child is finished on, comma-separated: one image for each"}};
    return merged(PlainClip::settings(), own);
  }

 private:
  /// Text "1,2" as strides.
  static std::vector<int> read_strides(Settings& settings) {
    constexpr int kLargest = 1000;
    auto strides = read_steps(settings, "strides", kLargest, 0, kLargest);
    if (strides.empty() || strides.front() < 1) settings.fail("strides", "holds one below 1", "such as 1,2");
    return strides;
  }

  std::vector<int> forks_, strides_;
  int children_;
};

const bool kRegistered = register_method({
    .name = "g2rpo",
    .summary = "Flow-GRPO on single noisy steps of a noiseless anchor, judged on grids of several strides",
    .equations = "r = exp(y) (E12) of a step's children, A = sum over strides of (r - mean) / sd",
    .settings = Granular::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Granular>(s, c); },
});

}  // namespace
}  // namespace harness

#include <utility>

#include "trainers/advantage.h"
#include "trainers/methods/forks.h"
#include "trainers/methods/tempflow_weight.h"

namespace harness {
namespace {

constexpr double kForkedShare = 0.6;  // of the steps: 0, 2, 4, 6 of 10

/// TempFlow-GRPO (arXiv 2508.04324; Shredded-Pork/TempFlow-GRPO, train_sd3_perstep.py): the weights and the
/// KL of tempflow-weight on branches. Each trunk goes from noise to data without noise (E2). At the forked
/// steps its latent gets `children` by one step of Flow-SDE (E8), each finished without noise and scored:
/// what a child's reward says of that step is not blurred by the noise of others. Its advantage is (r - mean)
/// / (sd + 1e-4) among the prompt's children of that step, or its trunk's (branch_group).
///
/// Public code: 4 trunks a prompt with 6 children at each of the first K - 1 steps, 216 images a prompt. It
/// does not gather rewards over processes, so that there the group is what lies on one of them.
class TempflowGrpo : public TempflowWeight {
 public:
  TempflowGrpo(Settings& settings, const MethodContext& context)
      : TempflowWeight(settings, context),
        forks_(
            read_steps(settings, "forks", context.sampling_steps, kForkedShare, context.sampling_steps - 1)),
        trunks_(settings.get<int>("trunks")),
        children_(read_children(settings, context, trunks_ * static_cast<int>(forks_.size()))),
        compared_(settings.choice("branch_group") == "trunk" ? children_ : trunks_ * children_) {
    if (forks_.empty()) settings.fail("forks", "leaves no step to fork at", "raise sampling_steps");
  }

  RolloutPlan plan(const PlanContext& context) const override {
    auto plan = forked_plan(context, forks_);
    plan.children = Children{.trunks = trunks_, .fanout = children_};
    return plan;
  }

  ForestAdvantages forest_advantages(const ForestRewards& rewards) const override {
    ForestAdvantages advantages;
    const auto of_step = static_cast<std::size_t>(trunks_ * children_);
    for (std::size_t f = 0; f < forks_.size(); ++f) {
      const auto step = std::span(rewards.images).subspan(f * of_step, of_step);
      auto of_children = group_advantages(step, compared_);
      advantages.of_edges.push_back(std::move(of_children.raw));
      advantages.constant_groups += of_children.zero_std_groups;
    }
    return advantages;
  }

  static std::vector<Setting> settings() {
    const std::vector<Setting> own = {
        {.name = "forks",
         .default_value = "auto",
         .help = "steps at which trunks get children, comma-separated; auto: 0,2,4,6 of 10 steps"},
        {.name = "trunks", .default_value = 1, .minimum = 1, .maximum = 1000, .help = "trunks a prompt"},
        {.name = "children",
         .default_value = 0,
         .minimum = 0,
         .maximum = 1000,
         .help =
             "children of a trunk at each fork; 0: as many as make the epoch's images with one prompt per update"},
        {.name = "branch_group",
         .default_value = "prompt",
         .choices = {"prompt", "trunk"},
         .help = "whose children of a step are compared: the prompt's, or one trunk's"}};
    return merged(TempflowWeight::settings(), own);
  }

 private:
  std::vector<int> forks_;
  int trunks_, children_, compared_;
};

const bool kRegistered = register_method({
    .name = "tempflow-grpo",
    .summary = "Flow-GRPO on branches of noiseless trunks, with weights by the steps' noise",
    .equations =
        "r = exp(y) (E12) of a step's children, weight s_k / mean s, + beta mean((mu - mu_ref)^2) / (2 s_k^2)",
    .settings = TempflowGrpo::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<TempflowGrpo>(s, c); },
});

}  // namespace
}  // namespace harness

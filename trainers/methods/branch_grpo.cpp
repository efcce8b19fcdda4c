#include <fmt/format.h>

#include <algorithm>

#include "trainers/advantage.h"
#include "trainers/methods/forks.h"
#include "trainers/methods/plain_clip.h"
#include "trainers/sampling/tree.h"

namespace harness {
namespace {

constexpr double kSplitShare = 0.4;  // of the steps: 0, 2, 4 of 10
constexpr double kEps = 1e-8, kFlat = 1e-6;

/// BranchGRPO (arXiv 2509.06040; the BranchGRPO repository, train_branchgrpo_flux.py): trees of latents by E8
/// with the constant coefficient of dance-grpo. At the splits a latent gets two children, else one. A node's
/// value is the mean of its leaves' rewards, or of its children's by the softmax of their edges'
/// log-probabilities; the advantage of an edge is that of the node it leads to, (r - mean) / (sd, divisor n -
/// 1, + 1e-8) among the nodes of its depth of its tree, 0 where the deviation is below 1e-6. Loss: clipped
/// exp(y) (E12) of every edge.
///
/// Public numbers: FLUX, 20 steps, eta 0.3, splits 0,3,6,9, clip 1e-3, an optimiser step for every 12 edges
/// in random order. At splits that code multiplies the noise by 4 but not the s of the log-probability; here
/// neither. That code scores the clean image that the last evaluation predicts; here a leaf is what the last
/// step gives, with its noise, or with last_step ode without.
class BranchGrpo : public PlainClip {
 public:
  BranchGrpo(Settings& settings, const MethodContext& context)
      : PlainClip(settings, context),
        eta_(settings.number("eta")),
        splits_(read_steps(settings, "splits", context.sampling_steps, kSplitShare,
                           context.sampling_steps - (settings.choice("last_step") == "ode" ? 1 : 0))),
        trees_(settings.get<int>("trees")),
        by_softmax_(settings.choice("node_reward") == "softmax"),
        over_prompt_(settings.choice("compare") == "prompt"),
        ends_without_noise_(settings.choice("last_step") == "ode"),
        tree_(tree_of(context.sampling_steps, splits_)) {
    if (splits_.empty() && !(over_prompt_ && trees_ > 1))
      settings.fail("splits", "leaves trees of one leaf, whose nodes nothing is compared with",
                    "give splits, or several trees and compare=prompt");
  }

  RolloutPlan plan(const PlanContext& context) const override {
    const PlannedStep step{.rule = {StepRule::Kind::kConstant, eta_}, .trained = true};
    RolloutPlan plan{.steps = std::vector(static_cast<std::size_t>(context.steps), step),
                     .guidance = context.guidance};
    plan.branches = Branches{.trees = trees_, .splits = splits_};
    if (ends_without_noise_) plan.steps.back() = {.rule = {StepRule::Kind::kOde, 0}};
    return plan;
  }

  /// Every edge counts alike: a step's by the number of its edges.
  std::vector<double> step_weights(std::span<const double> s) const override {
    std::vector<double> weights;
    double sum = 0;
    for (std::size_t k = 0; k < s.size(); ++k) {
      weights.push_back(static_cast<double>(std::ranges::count(tree_.depth, static_cast<int>(k) + 1)));
      sum += weights.back();
    }
    for (auto& weight : weights) weight *= static_cast<double>(s.size()) / sum;
    return weights;
  }

  ForestAdvantages forest_advantages(const ForestRewards& rewards) const override {
    std::vector<std::vector<std::optional<double>>> values;  // by tree, then node
    const auto leaves = static_cast<std::size_t>(tree_.leaves.front());
    for (std::size_t t = 0; t < static_cast<std::size_t>(trees_); ++t) {
      const auto of_tree = std::span(rewards.images).subspan(t * leaves, leaves);
      const auto log_probs = by_softmax_ ? edge_log_probs(rewards, t) : std::vector<double>();
      values.push_back(node_rewards(tree_, of_tree, log_probs));
    }
    ForestAdvantages advantages;
    const auto compared = over_prompt_ ? rewards.images.size() : leaves;
    advantages.constant_groups = group_advantages(rewards.images, static_cast<int>(compared)).zero_std_groups;
    for (const int k : rewards.plan.trained()) advantages.of_edges.push_back(scores_at(values, k + 1));
    return advantages;
  }

  static std::vector<Setting> settings();

 private:
  /// Of the edge into node n at n - 1: nodes lie level by level, as the steps' edges do.
  std::vector<double> edge_log_probs(const ForestRewards& rewards, std::size_t tree) const {
    std::vector<double> all;
    for (const auto& step : rewards.edge_log_prob) {
      const auto count = step.size() / static_cast<std::size_t>(trees_);
      const auto from = step.begin() + static_cast<std::ptrdiff_t>(tree * count);
      all.insert(all.end(), from, from + static_cast<std::ptrdiff_t>(count));
    }
    all.resize(tree_.parent.size() - 1);  // a last step without noise is no choice among children
    return all;
  }

  /// Advantages of the nodes of a depth, tree after tree.
  std::vector<double> scores_at(const std::vector<std::vector<std::optional<double>>>& values,
                                int depth) const {
    std::vector<std::optional<double>> level;
    std::vector<double> scores;
    const auto add = [&] {
      const auto more = unbiased_scores(level, kEps, kFlat);
      scores.insert(scores.end(), more.begin(), more.end());
      level.clear();
    };
    for (const auto& tree : values) {
      for (std::size_t n = 0; n < tree.size(); ++n) {
        if (tree_.depth[n] == depth) level.push_back(tree[n]);
      }
      if (!over_prompt_) add();
    }
    if (over_prompt_) add();
    return scores;
  }

  double eta_;
  std::vector<int> splits_;
  int trees_;
  bool by_softmax_, over_prompt_, ends_without_noise_;
  Tree tree_;
};

std::vector<Setting> BranchGrpo::settings() {
  const std::vector<Setting> own = {
      {.name = "eta",
       .default_value = 0.7,
       .minimum = 1e-3,
       .maximum = 10,
       .help = "std of every step, in place of E6 and of the loop's noise_level",
       .equation = "E8"},
      {.name = "splits",
       .default_value = "auto",
       .help =
           "steps at which a latent gets two children, comma-separated; auto: 0,2,4 of 10 steps; none: chains"},
      {.name = "trees", .default_value = 1, .minimum = 1, .maximum = 1000, .help = "trees a prompt"},
      {.name = "node_reward",
       .default_value = "mean",
       .choices = {"mean", "softmax"},
       .help =
           "a node's value: the mean over its leaves, or over its children by the softmax of their edges' "
           "log-probabilities"},
      {.name = "last_step",
       .default_value = "noise",
       .choices = {"noise", "ode"},
       .help = "noise: as the others, and trained; ode: Euler's step, not trained, as dance-grpo ends"},
      {.name = "compare",
       .default_value = "tree",
       .choices = {"tree", "prompt"},
       .help = "nodes of a depth are compared within their tree, or within all trees of their prompt"}};
  return merged(PlainClip::settings(), own);
}

const bool kRegistered = register_method({
    .name = "branch-grpo",
    .summary = "Flow-GRPO on trees of latents, whose inner nodes are judged by their leaves",
    .equations = "std_k = eta (E8), r = exp(y) (E12) of every edge, A among the nodes of a depth",
    .settings = BranchGrpo::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<BranchGrpo>(s, c); },
});

}  // namespace
}  // namespace harness

#include "trainers/loop/trainable.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "core/error.h"
#include "trainers/direct/direct_method.h"
#include "trainers/forward/forward_method.h"
#include "trainers/forward/snapshots.h"
#include "trainers/forward/times.h"
#include "trainers/loop/epoch.h"

namespace harness {
namespace {

bool has_noise(const StepRule& rule, bool is_last) {
  if (rule.kind == StepRule::Kind::kOde || rule.level == 0) return false;
  return rule.kind != StepRule::Kind::kCps || !is_last;
}

void check_plan(const RolloutPlan& plan, const TrainSettings& settings, std::int64_t epoch,
                const std::string& where) {
  const auto count = static_cast<int>(plan.steps.size());
  TORCH_CHECK(count == settings.sampling_steps, "a plan has a rule for every step");
  for (const int k : plan.trained()) {
    const bool is_taken = !plan.finish || k < plan.finish->from;
    if (is_taken && has_noise(plan.steps[static_cast<std::size_t>(k)].rule, k + 1 == count)) continue;
    throw Error(
        fmt::format("would train step {} of epoch {}, which has no noise and so no log-ratio", k, epoch),
        where, "train steps with noise: another window, noise_level above 0, or fewer trained_steps");
  }
}

/// Plans are a function of settings, seed and epoch: each epoch's is checked.
void check_steps(const Method& method, const TrainSettings& settings, std::uint32_t seed,
                 const std::string& where) {
  const auto of_epoch = settings.updates_of_an_epoch();
  bool trains = false;
  for (std::int64_t epoch = 1; (epoch - 1) * of_epoch < settings.updates; ++epoch) {
    const auto plan = method.plan(plan_context(settings, seed, epoch));
    check_plan(plan, settings, epoch, where);
    trains |= !plan.trained().empty();
    if (plan.weights == kCurrentWeights) continue;
    throw Error(fmt::format("samples with weights \"{}\", so that no first ratio would be 1", plan.weights),
                where, "a method on recorded steps samples with the current weights");
  }
  if (!trains) throw Error("trains no step in any epoch", where, "widen its window, or raise trained_steps");
}

void check_times(const ForwardPlan& plan, const TrainSettings& settings, const std::string& where) {
  if (plan.rule.high > settings.sampling_steps) {
    throw Error(fmt::format("takes times of steps up to {}, and a rollout has {}", plan.rule.high,
                            settings.sampling_steps),
                where, "raise sampling_steps, or take times of earlier steps");
  }
  // The model's own noise levels are unknown until it is loaded: only their number counts.
  const auto sigmas = settings.grid == NoiseGrid::kModel
                          ? std::vector<float>(static_cast<std::size_t>(settings.sampling_steps) + 1, 1.0F)
                          : shifted_schedule(settings.grid, settings.sampling_steps, settings.shift).sigmas;
  require_levels(plan, std::span(sigmas).first(sigmas.size() - 1), where);
}

}  // namespace

MethodContext method_context(const std::string& task, std::int64_t latent_size,
                             const TrainSettings& settings) {
  return {.task = task,
          .latent_size = latent_size,
          .late_steps = settings.late_steps,
          .sampling_steps = settings.sampling_steps,
          .trained_steps = settings.trained_steps,
          .group_size = settings.group_size,
          .updates_per_epoch = settings.updates_per_epoch,
          .updates_of_an_epoch = settings.updates_of_an_epoch(),
          .images_of_an_epoch = settings.images_per_epoch()};
}

TrainSettings with_forests(TrainSettings settings, const Method& method, std::uint32_t seed,
                           const std::string& where) {
  const auto plan = method.plan(plan_context(settings, seed, 1));
  if (!plan.is_forest()) return settings;
  const std::int64_t images = plan.images_of_a_prompt(), updates = settings.updates_per_epoch;
  const auto all = settings.images_per_epoch();
  // Images of scored trunks are in addition to the epoch's.
  const std::int64_t trunks = plan.children && plan.children->scores_trunks ? plan.children->trunks : 0;
  const auto prompts = all / (images - trunks) / updates * updates;
  if (prompts == 0) {
    throw Error(
        fmt::format("samples {} images per prompt, and an epoch of {} in {} updates has no prompt for each "
                    "update",
                    images, all, updates),
        where, "take fewer forks, splits or children, or more images per epoch");
  }
  const auto of_shard = std::max<std::int64_t>(1, settings.shard_prompts * settings.group_size / images);
  settings.shard_prompts = std::gcd(prompts / updates, of_shard);
  settings.prompts_per_epoch = prompts;
  settings.group_size = images;
  settings.gradient_folds = std::gcd(settings.gradient_folds, settings.shards_of_an_update());
  for (const auto& [name, value] : {std::pair{"prompts_per_epoch", settings.prompts_per_epoch},
                                    {"group_size", settings.group_size},
                                    {"shard_prompts", settings.shard_prompts},
                                    {"gradient_folds", settings.gradient_folds}})
    settings.effective[name] = value;
  return settings;
}

namespace {

/// Refuses settings without effect on this method.
void check_settings(const Method& method, const TrainSettings& settings, bool is_forest,
                    const std::string& where) {
  const auto refuse = [&](bool given, const std::string& problem, const char* hint) {
    if (given) throw Error(problem, where, hint);
  };
  const auto refuse_unused = [&](bool given, const char* setting, const char* of, const char* hint) {
    refuse(given, fmt::format("setting {} applies to {}, which this method does not use", setting, of), hint);
  };
  const auto* forward = dynamic_cast<const ForwardMethod*>(&method);
  if (dynamic_cast<const DirectMethod*>(&method) != nullptr) {
    refuse_unused(settings.kl > 0, "kl", "recorded steps", "leave kl at 0");
    refuse_unused(settings.score_weight.has_value(), "step_weight", "recorded steps",
                  "leave step_weight at none");
    refuse_unused(settings.advantage.has_value(), "advantage", "compared rewards", "leave it out");
    refuse_unused(settings.drop_zero_std_groups, "zero_std_groups", "compared rewards", "leave it at keep");
    return;
  }
  const std::vector<double> s(static_cast<std::size_t>(settings.trained_steps), 1.0);
  const bool weighs_steps = forward == nullptr && dynamic_cast<const TrajectoryMethod*>(&method) == nullptr &&
                            (!settings.score_weight || method.step_weights(s).empty());
  refuse(settings.score_weight && !weighs_steps,
         "setting step_weight is given, and this method does not weigh steps by it",
         "leave step_weight at none");
  refuse(is_forest && settings.drop_zero_std_groups,
         "setting zero_std_groups is drop, and edges of a forest are in groups of their own",
         "leave it at keep");
  refuse(is_forest && settings.advantage,
         "setting advantage is given, and this method compares the edges of a forest by a rule of its own",
         "leave advantage out");
  refuse(method.reference_kl() && settings.kl > 0, "setting kl is given, and this method has its own",
         "leave kl at 0; the method's own is among its settings (`harness list settings`)");
  refuse(compares_within_group(advantage_rule_of(method, settings)) && settings.group_size < 2,
         "compares the images of a prompt, and group_size is 1", "give group_size of 2 or more");
  if (forward == nullptr) return;
  refuse(settings.kl > 0, "setting kl pulls the means of recorded steps, and this method has none",
         "leave kl at 0: methods on the forward process have a KL term among their settings");
  refuse(settings.advantage && !forward->uses_advantages(),
         "setting advantage is given, and this method chooses or weighs samples by their rewards",
         "leave advantage out");
}

}  // namespace

void require_trainable(const Method& method, const TrainSettings& settings, std::uint32_t seed,
                       const std::string& where) {
  const auto plan = method.plan(plan_context(settings, seed, 1));
  check_settings(method, settings, plan.is_forest(), where);
  if (const auto* forward = dynamic_cast<const ForwardMethod*>(&method)) {
    check_times(forward->forward_plan(), settings, where);
  } else if (dynamic_cast<const DirectMethod*>(&method) == nullptr) {
    check_steps(method, settings, seed, where);
  }
  for (const auto& rule : kept_snapshots(method, plan, where)) require_moving(rule, where);
}

}  // namespace harness

#include "trainers/forward/method_settings.h"
#include "trainers/forward/sample_rules.h"

namespace harness {
namespace {

using torch::Tensor;
constexpr auto kAverage = "ema_ref";

/// DGPO (arXiv 2510.08425): a logistic preference of a prompt's good images over its bad ones, which becomes
/// one weight for the group. With the matching error E and a group of G images with advantages A:
///
///     S = beta / G sum A (E(v) - E(v_anchor));  loss = sigmoid(S) A E(v) + velocity_kl mean (v - v_ref)^2
///
/// sigmoid(S) held constant, which is the gradient of -log sigmoid(-S) / beta averaged over the groups. A
/// sample that has moved enough has no gradient: q = exp(E(v_old) - E(v)) above 1 + clip for A > 0, below 1 -
/// clip for A < 0. v_old are averaged weights, blended after every update; they sample as well from update
/// `ema_sampling_from` on. The images of a prompt share times and noise.
class Dgpo : public ForwardMethod {
 public:
  Dgpo(Settings& settings, const MethodContext& context) : Dgpo(settings, context, read_preset(settings)) {}

  RolloutPlan plan(const PlanContext& context) const override {
    auto plan = ForwardMethod::plan(context);
    const auto updates_done = (context.epoch - 1) * updates_of_an_epoch_;
    if (updates_done >= ema_sampling_from_) plan.weights = kAverage;
    return plan;
  }

  std::optional<AdvantageRule> advantage_rule() const override { return AdvantageRule::kGlobal; }
  std::vector<SnapshotRule> snapshots() const override { return {average_}; }
  ForwardPlan forward_plan() const override { return draws_; }

  ForwardLoss forward(const ForwardStats& stats) const override {
    const auto target = stats.target();
    const auto error = matching_error(stats.v, target), held = matching_error(stats.held(), target);
    const auto a = stats.advantage.to(torch::kFloat64).clamp(-range_, range_);
    const auto ratio = (matching_error(stats.of(kAverage), target) - held).exp();
    const auto frozen = torch::where(a > 0, ratio > 1 + clip_, ratio < 1 - clip_);
    const auto together = same_group(stats.group);
    const auto gain = beta_ * a * (held - matching_error(stats.of(anchor_), target));
    const auto score = weighted_sums(gain, together) / together.sum(1);
    const auto weight = score.sigmoid();
    const auto policy = weight * a * torch::where(frozen, held, error);
    std::map<std::string, Tensor> terms = {
        {"dsm", error},         {"ratio", ratio},         {"clipped", frozen.to(torch::kFloat64)},
        {"group_score", score}, {"group_weight", weight}, {"policy", policy}};
    auto loss = policy;
    if (velocity_kl_ > 0) {
      const auto& start = stats.of(kReferenceWeights);
      auto kl = terms["kl"] = matching_error(stats.v, start);
      if (freezes_kl_) kl = torch::where(frozen, matching_error(stats.held(), start), kl);
      loss = loss + velocity_kl_ * kl;
    }
    return described(
        loss, std::move(terms),
        {{"policy_loss", "policy"}, {"clip_fraction", "clipped"}, {"group_weight", "group_weight"}});
  }

  static std::vector<Setting> settings();

 private:
  Dgpo(Settings& settings, const MethodContext& context, Preset preset)
      : beta_(number_or(settings, "beta", is_public_pickscore(preset, context) ? 10 : 100)),
        clip_(number_or(settings, "clip", is_public_pickscore(preset, context) ? 5e-2 : 1e-2)),
        velocity_kl_(number_or(settings, "velocity_kl", is_public_pickscore(preset, context) ? 1e-3 : 0.02)),
        range_(settings.number("advantage_range")),
        freezes_kl_(settings.get<bool>("clip_kl")),
        anchor_(settings.choice("anchor") == "average" ? kAverage : kReferenceWeights),
        average_(read_decay(
            settings, {.name = kAverage, .when = SnapshotRule::When::kUpdate, .slope = 0.001, .end = 0.3})),
        ema_sampling_from_(whole_or(settings, "ema_sampling_from", context.task == "geneval" ? 500 : 200)),
        updates_of_an_epoch_(context.updates_of_an_epoch),
        draws_(read_draws(settings, context, draws_of(preset, context))) {
    draws_.velocities = {kAverage};
    if (velocity_kl_ > 0 || anchor_ == kReferenceWeights) draws_.velocities.emplace_back(kReferenceWeights);
    require_shared_draws(settings, draws_);
  }

  static bool is_public_pickscore(Preset preset, const MethodContext& context) {
    return preset != Preset::kHarness && context.task == "pickscore";
  }

  static ForwardPlan draws_of(Preset preset, const MethodContext& context) {
    ForwardPlan plan{.times = 4,
                     .rule = {.kind = TimeRule::Kind::kRolloutSubset, .high = 7},
                     .time_scope = DrawScope::kPrompt,
                     .noise_scope = DrawScope::kPrompt};
    if (preset == Preset::kUpstream) {
      plan.time_scope = DrawScope::kAll;
      if (context.task == "geneval") plan.rule.high = 5;
    }
    if (preset == Preset::kFlowFactory) {
      plan.rule = {.kind = TimeRule::Kind::kRolloutStrata, .least = 0.4};
      plan.one_noise = true;
    }
    return plan;
  }

  double beta_, clip_, velocity_kl_, range_;
  bool freezes_kl_;
  std::string anchor_;
  SnapshotRule average_;
  std::int64_t ema_sampling_from_, updates_of_an_epoch_;
  ForwardPlan draws_;
};

std::vector<Setting> Dgpo::settings() {
  std::vector<Setting> own = {
      preset_setting({Preset::kUpstream, Preset::kFlowFactory}),
      {.name = "beta",
       .minimum = 1e-6,
       .maximum = 1e9,
       .help = "sharpness of the preference; default: 100, public presets for pickscore 10"},
      {.name = "clip",
       .minimum = 1e-9,
       .maximum = 1e6,
       .help =
           "how far q = exp(E(v_old) - E(v)) may move before a sample is left alone; default: 0.01, public "
           "presets for pickscore 0.05"},
      {.name = "clip_kl",
       .default_value = false,
       .help = "whether such a sample has no gradient of velocity_kl either"},
      {.name = "anchor",
       .default_value = "reference",
       .choices = {"reference", "average"},
       .help = "what E is compared with: the starting weights, or the averaged ones"},
      velocity_kl_setting("0.02, public presets for pickscore 0.001"),
      advantage_range_setting(),
      {.name = "ema_sampling_from",
       .minimum = 0,
       .maximum = 1e9,
       .help = "updates after which the averaged weights sample; default: 200, for geneval 500"}};
  return merged(merged(own, decay_settings(kAverage, "0, 0, 0.001, 0.3")), draw_settings());
}

const bool kRegistered = register_method({
    .name = "dgpo",
    .summary = "matching error weighted by advantages and by a preference between the halves of a group",
    .equations = "sigmoid(S) A E(v), S = beta / G sum A (E(v) - E(v_anchor)) (arXiv 2510.08425)",
    .settings = Dgpo::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Dgpo>(s, c); },
});

}  // namespace
}  // namespace harness

#include "trainers/forward/method_settings.h"
#include "trainers/forward/sample_rules.h"
#include "trainers/methods/preset.h"

namespace harness {
namespace {

constexpr auto kOld = "old";

/// DiffusionNFT (arXiv 2509.16117): an implicit positive velocity v+ = beta v + (1 - beta) v_old and an
/// implicit negative one v- = (1 + beta) v_old - beta v are both fitted to the samples, by their optimality
/// c:
///
///     x0+- = x_t - t v+-,  w+- = max(mean |x0+- - x0|, floor) held constant,  L+- = mean (x0+- - x0)^2 / w+-
///     loss = 5 (c L+ + (1 - c) L-) / beta + velocity_kl mean (v - v_ref)^2,  c = A / 10 + 1/2, |A| <= 5
///
/// At v = v_old both L are equal and beta cancels: the predicted sample moves towards x0 where c > 1/2, away
/// from it where c < 1/2. The old weights sample. Their decay is read after the counter of updates was
/// raised, as in the public code, so the first blend of ramp (0, 0, 0.001, 0.5) has decay 0.001 and not 0.
class DiffusionNft : public ForwardMethod {
 public:
  DiffusionNft(Settings& settings, const MethodContext& context)
      : DiffusionNft(settings, context, read_preset(settings)) {}

  RolloutPlan plan(const PlanContext& context) const override {
    auto plan = ForwardMethod::plan(context);
    plan.weights = kOld;
    return plan;
  }

  std::optional<AdvantageRule> advantage_rule() const override { return advantage_rule_; }
  std::vector<SnapshotRule> snapshots() const override { return {old_}; }
  ForwardPlan forward_plan() const override { return draws_; }

  ForwardLoss forward(const ForwardStats& stats) const override {
    const auto type = stats.x_t.scalar_type();
    const auto v = stats.v.to(type), held = stats.held().to(type), old = stats.of(kOld).to(type);
    const auto c = optimality(stats.advantage, range_);
    const auto of_positive = [&](const torch::Tensor& w) { return beta_ * w + (1 - beta_) * old; };
    const auto of_negative = [&](const torch::Tensor& w) { return (1 + beta_) * old - beta_ * w; };
    const auto positive_weight = weight_of(stats, of_positive(held)),
               negative_weight = weight_of(stats, of_negative(held));
    const auto positive = latent_mean(miss(stats, of_positive(v)).square()) / positive_weight,
               negative = latent_mean(miss(stats, of_negative(v)).square()) / negative_weight;
    const auto policy = range_ * (c * positive / beta_ + (1 - c) * negative / beta_);
    std::map<std::string, torch::Tensor> terms = {{"optimality", c},
                                                  {"positive", positive},
                                                  {"positive.weight", positive_weight},
                                                  {"negative", negative},
                                                  {"negative.weight", negative_weight},
                                                  {"policy", policy}};
    auto loss = policy;
    if (velocity_kl_ > 0) {
      terms["kl"] = matching_error(v, stats.of(kReferenceWeights));
      loss = policy + velocity_kl_ * terms["kl"];
    }
    return described(loss, std::move(terms), {{"policy_loss", "policy"}});
  }

  static std::vector<Setting> settings();

 private:
  DiffusionNft(Settings& settings, const MethodContext& context, Preset preset)
      : beta_(number_or(settings, "beta",
                        is_by_rollout(preset) && !has_short_memory(preset, context.task) ? 0.1 : 1)),
        velocity_kl_(number_or(settings, "velocity_kl", is_by_rollout(preset) ? 1e-4 : 0)),
        range_(settings.number("advantage_range")),
        floor_(settings.number("weight_floor")),
        old_(read_decay(settings, old_of(preset, context.task))),
        draws_(read_draws(settings, context, draws_of(preset, context.sampling_steps))),
        advantage_rule_(preset == Preset::kFlowFactory ? AdvantageRule::kGroup : AdvantageRule::kGlobal) {
    draws_.velocities = {kOld};
    if (velocity_kl_ > 0) draws_.velocities.emplace_back(kReferenceWeights);
  }

  static bool is_by_rollout(Preset preset) {
    return preset == Preset::kUpstream || preset == Preset::kHarness;
  }

  /// The public configurations but that for OCR: beta 1, and old weights that follow from the start.
  static bool has_short_memory(Preset preset, const std::string& task) {
    return preset == Preset::kUpstream && (task == "geneval" || task == "pickscore");
  }

  static SnapshotRule old_of(Preset preset, const std::string& task) {
    SnapshotRule old{.name = kOld, .when = SnapshotRule::When::kEpoch};
    if (preset == Preset::kUpstream && !has_short_memory(preset, task)) {
      old.start = 75, old.slope = 0.0075, old.end = 0.999;
    } else {
      old.slope = 0.001, old.end = 0.5;
    }
    return old;
  }

  static ForwardPlan draws_of(Preset preset, int steps) {
    const int nearly_all = std::max(1, static_cast<int>(0.99 * steps));
    ForwardPlan plan{.times = 4, .rule = {.kind = TimeRule::Kind::kRolloutSubset}};
    if (preset == Preset::kUpstream) plan.times = nearly_all;
    if (preset == Preset::kUnirl) {
      plan.times = plan.rule.high = nearly_all;
      plan.time_scope = DrawScope::kAll;
    }
    if (preset == Preset::kFlowFactory) plan.rule = {.kind = TimeRule::Kind::kRolloutStrata, .least = 0.5};
    return plan;
  }

  /// [M,B, ...] predicted minus true sample.
  static torch::Tensor miss(const ForwardStats& stats, const torch::Tensor& velocity) {
    return stats.x_t - over_latent(stats.t, stats.x_t) * velocity - stats.x0;
  }

  torch::Tensor weight_of(const ForwardStats& stats, const torch::Tensor& velocity) const {
    return latent_mean(miss(stats, velocity).abs()).clamp_min(floor_);
  }

  double beta_, velocity_kl_, range_, floor_;
  SnapshotRule old_;
  ForwardPlan draws_;
  AdvantageRule advantage_rule_;
};

std::vector<Setting> DiffusionNft::settings() {
  std::vector<Setting> own = {
      preset_setting({{"harness", {}}, {"upstream", {}}, {"flow-factory", {}}, {"unirl", {}}}),
      {.name = "beta",
       .minimum = 1e-3,
       .maximum = 100,
       .help =
           "how far the implicit velocities are from the old one; default: 0.1, flow-factory and unirl 1, "
           "upstream 1 for geneval and pickscore"},
      velocity_kl_setting("1e-4, flow-factory and unirl 0"),
      advantage_range_setting(),
      {.name = "weight_floor",
       .default_value = 1e-5,
       .minimum = 1e-12,
       .maximum = 1e3,
       .help = "least mean absolute error that a squared error is divided by"}};
  own = merged(
      own,
      decay_settings(
          kOld, "0, 0, 0.001, 0.5, with preset upstream 75, 0, 0.0075, 0.999 but for geneval and pickscore"));
  return merged(own, draw_settings());
}

const bool kRegistered = register_method({
    .name = "diffusion-nft",
    .summary = "contrasts an implicit positive and an implicit negative velocity on noised samples",
    .equations = "5 (c L+ + (1 - c) L-) / beta, L+- = mean (x_t - t v+- - x0)^2 / w+- (arXiv 2509.16117)",
    .settings = DiffusionNft::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<DiffusionNft>(s, c); },
});

}  // namespace
}  // namespace harness

#include <cmath>

#include "trainers/forward/method_settings.h"
#include "trainers/forward/sample_rules.h"

namespace harness {
namespace {

using torch::Tensor;
constexpr auto kOld = "old", kAverage = "ema";
constexpr double kTiny = 1e-10;  // under the roots of the public code

/// Advantage-weighted matching (arXiv 2509.25050): PPO whose log-likelihood is the matching error, log p =
/// -E(v) weighted by the flow time t, with A' = advantages scaled from +-5 to +-1:
///
///     r = exp(log p - log p_old);  loss = max(-A' r, -A' clamp(r, 1 - clip, 1 + clip))
///                                         + velocity_kl mean (v - v_ref)^2 + ema_kl mean (v - v_ema)^2
///
/// With one update an epoch log p_old is log p held constant, and with `uniform` the gradient is 2 A' (v -
/// u): advantage-weighted regression on the target u = eps - x0. Clip 1 acts where A > 0 and r > 2 alone.
/// FPO (arXiv 2507.21053) is weighting uniform, order sum-first and elements sum with a small clip; FPO++
/// (2602.02481) the same with exp-first. Flow-Factory cuts A at +-1 where the authors scale it.
class Awm : public ForwardMethod {
 public:
  Awm(Settings& settings, const MethodContext& context) : Awm(settings, context, read_preset(settings)) {}

  std::optional<AdvantageRule> advantage_rule() const override { return AdvantageRule::kGlobal; }
  ForwardPlan forward_plan() const override { return draws_; }

  std::vector<SnapshotRule> snapshots() const override {
    std::vector<SnapshotRule> rules;
    if (!on_policy_) rules.push_back({.name = kOld, .when = SnapshotRule::When::kEpoch});
    if (ema_kl_ > 0) rules.push_back(average_);
    return rules;
  }

  ForwardLoss forward(const ForwardStats& stats) const override {
    const auto log_prob = log_prob_of(stats, stats.v),
               old = log_prob_of(stats, on_policy_ ? stats.held() : stats.of(kOld));
    const auto ratio = sums_first_ ? (log_prob.mean(0) - old.mean(0)).exp() : (log_prob - old).exp();
    const auto a = scaled(stats.advantage);
    const auto clipped = ratio.clamp(1 - clip_, 1 + clip_);
    const auto policy = torch::maximum(-a * ratio, -a * clipped).expand_as(log_prob);
    auto loss = policy;
    if (velocity_kl_ > 0) loss = loss + velocity_kl_ * matching_error(stats.v, stats.of(kReferenceWeights));
    if (ema_kl_ > 0) loss = loss + ema_kl_ * matching_error(stats.v, stats.of(kAverage));
    const auto outside = ((ratio - 1).abs() > clip_).to(torch::kFloat64);
    return described(loss,
                     {{"log_prob", log_prob},
                      {"log_prob_old", old},
                      {"ratio", ratio},
                      {"policy", policy},
                      {"outside", outside}},
                     {{"policy_loss", "policy"}, {"clip_fraction", "outside"}});
  }

  static std::vector<Setting> settings();

 private:
  Awm(Settings& settings, const MethodContext& context, Preset preset)
      : weighting_(settings.choice("weighting")),
        power_(weighting_ == "ghuber" ? settings.number("power") : 1),
        sums_elements_(settings.choice("elements") == "sum"),
        sums_first_(settings.choice("order") == "sum-first"),
        on_policy_(context.updates_of_an_epoch == 1),
        scales_(choice_or(settings, "advantage_map", preset == Preset::kFlowFactory ? "cut" : "scale") ==
                "scale"),
        range_(scales_ ? settings.number("advantage_range") : 1),
        advantage_max_(settings.number("advantage_max")),
        clip_(settings.number("clip")),
        velocity_kl_(number_or(settings, "velocity_kl", public_kl(preset, context.task))),
        ema_kl_(settings.number("ema_kl")),
        draws_(read_draws(settings, context, draws_of(preset, context.sampling_steps))) {
    if (ema_kl_ > 0)
      average_ = read_decay(
          settings, {.name = kAverage, .when = SnapshotRule::When::kEpoch, .slope = 0.001, .end = 0.3});
    draws_.joint_times = sums_first_;
    if (!on_policy_) draws_.velocities.emplace_back(kOld);
    if (velocity_kl_ > 0) draws_.velocities.emplace_back(kReferenceWeights);
    if (ema_kl_ > 0) draws_.velocities.emplace_back(kAverage);
  }

  static double public_kl(Preset preset, const std::string& task) {
    if (preset == Preset::kHarness) return 0.003;
    return task == "geneval" ? 0.001 : task == "pickscore" ? 0.0001 : 0.003;
  }

  /// One of each of M parts of the rollout's noise levels, without the first and the last tenth.
  static ForwardPlan draws_of(Preset preset, int steps) {
    ForwardPlan plan{.times = preset == Preset::kHarness ? 4 : 6,
                     .rule = {.kind = TimeRule::Kind::kRolloutStrata, .low = 1},
                     .time_scope = DrawScope::kAll};
    if (preset == Preset::kFlowFactory) {
      plan.rule.least = 0.1;
    } else {
      plan.rule.high = std::max(2, static_cast<int>(0.9 * steps));
    }
    return plan;
  }

  /// [M,B] the surrogate log-likelihood.
  Tensor log_prob_of(const ForwardStats& stats, const Tensor& velocity) const {
    auto error = matching_error(velocity, stats.target());
    if (sums_elements_) error = error * static_cast<double>(stats.x0[0].numel());
    const auto t = stats.t.to(error.options());
    if (weighting_ == "uniform") return -error;
    if (weighting_ == "t") return -t * error;
    if (weighting_ == "t2") return -t.square() * error;
    if (weighting_ == "huber") return -t * ((error + kTiny).sqrt() - std::sqrt(kTiny));
    return -t / power_ * ((error + kTiny).pow(power_) - std::pow(kTiny, power_));
  }

  Tensor scaled(const Tensor& advantage) const {
    return scales_ ? advantage.clamp(-range_, range_) / range_ * advantage_max_
                   : advantage.clamp(-advantage_max_, advantage_max_);
  }

  std::string weighting_;
  double power_;
  bool sums_elements_, sums_first_, on_policy_, scales_;
  double range_, advantage_max_, clip_, velocity_kl_, ema_kl_;
  SnapshotRule average_;
  ForwardPlan draws_;
};

std::vector<Setting> Awm::settings() {
  std::vector<Setting> own = {
      preset_setting({Preset::kUpstream, Preset::kFlowFactory}),
      {.name = "weighting",
       .default_value = "ghuber",
       .choices = {"uniform", "t", "t2", "huber", "ghuber"},
       .help =
           "log-likelihood by the matching error E at flow time t: -E, -t E, -t^2 E, -t sqrt(E), or -t E^q "
           "/ q"},
      {.name = "power", .default_value = 0.25, .minimum = 1e-3, .maximum = 4, .help = "q of ghuber"},
      {.name = "elements",
       .default_value = "mean",
       .choices = {"mean", "sum"},
       .help = "E over the latent: the mean of its elements, or their sum as FPO has it"},
      {.name = "order",
       .default_value = "exp-first",
       .choices = {"exp-first", "sum-first"},
       .help = "a ratio for each draw, or one for the mean log-likelihood of a sample's draws"},
      {.name = "advantage_map",
       .choices = {"scale", "cut"},
       .help = "advantages to plus and minus advantage_max: scaled from advantage_range, or cut there; "
               "default: scale, flow-factory cut"},
      advantage_range_setting(),
      {.name = "advantage_max",
       .default_value = 1.0,
       .minimum = 1e-3,
       .maximum = 1e6,
       .help = "largest advantage in the loss"},
      {.name = "clip", .default_value = 1.0, .minimum = 1e-9, .maximum = 1e6, .help = "PPO radius"},
      velocity_kl_setting("0.003; with another preset 0.001 for geneval and 0.0001 for pickscore"),
      {.name = "ema_kl",
       .default_value = 1.0,
       .minimum = 0,
       .maximum = 1e6,
       .help = "weight of the mean squared distance to the velocity of the averaged weights"}};
  return merged(merged(own, decay_settings(kAverage, "0, 0, 0.001, 0.3")), draw_settings());
}

const bool kRegistered = register_method({
    .name = "awm",
    .summary = "clipped policy gradient whose log-likelihood is the flow matching error of the sample",
    .equations = "r = exp(log p - log p_old), log p = -(t / q) mean((v - u)^2)^q (arXiv 2509.25050)",
    .settings = Awm::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Awm>(s, c); },
});

}  // namespace
}  // namespace harness

#include "trainers/forward/method_settings.h"
#include "trainers/forward/sample_rules.h"

namespace harness {
namespace {

using torch::Tensor;
constexpr auto kOld = "old", kSampling = "sampling";
constexpr double kLeastKl = 1e-4;

/// Centred reward distillation (arXiv 2603.14128): the implicit reward R = -(E(v) / w - E(v_old) / w_old)
/// follows the reward a, and centring within a prompt cancels the normaliser that neither knows. w =
/// max(mean |v - u|, floor) held constant, u = eps - x0, a = A / 10 + 1/2 for |A| <= 5, and with shares p:
///
///     predicted = beta (R - sum p R),  wanted = a - sum p a,  sum p R held constant
///     loss = 5 / beta (predicted - wanted)^2 + (least + a (velocity_kl - least)) mean (v - v_ref)^2
///
/// or in place of the square the cross-entropy of sigmoid(predicted) to sigmoid(wanted). Shares are uniform;
/// with a temperature the loss is the mean of two, centred by softmax(a / temperature) and softmax(-a /
/// temperature). Flow-Factory, whose numbers these are (but velocity_kl 0.1 and 20 times), centres over all
/// images at once and gives v_ref guidance 4.5.
class Crd : public ForwardMethod {
 public:
  Crd(Settings& settings, const MethodContext& context)
      : beta_(settings.number("beta")),
        range_(settings.number("advantage_range")),
        floor_(settings.number("weight_floor")),
        least_kl_(settings.number("least_kl")),
        velocity_kl_(settings.number("velocity_kl")),
        temperature_(settings.number_if_given("temperature")),
        is_cross_entropy_(settings.choice("form") == "bce"),
        is_adaptive_(settings.get<bool>("adaptive")),
        centres_shard_(settings.choice("centre") == "shard"),
        old_(read_decay(
            settings,
            {.name = kOld, .when = SnapshotRule::When::kEpoch, .value = 0.25, .slope = 0.005, .end = 0.999})),
        sampling_(read_decay(settings, {.name = kSampling,
                                        .when = SnapshotRule::When::kEpoch,
                                        .start = 75,
                                        .slope = 0.0075,
                                        .end = 0.999})),
        draws_(
            read_draws(settings, context, {.times = 4, .rule = {.kind = TimeRule::Kind::kRolloutStrata}})) {
    draws_.velocities = {kOld};
    if (velocity_kl_ > 0) draws_.velocities.emplace_back(kReferenceWeights);
  }

  RolloutPlan plan(const PlanContext& context) const override {
    auto plan = ForwardMethod::plan(context);
    plan.weights = kSampling;
    return plan;
  }

  std::optional<AdvantageRule> advantage_rule() const override { return AdvantageRule::kGlobal; }
  std::vector<SnapshotRule> snapshots() const override { return {old_, sampling_}; }
  ForwardPlan forward_plan() const override { return draws_; }

  ForwardLoss forward(const ForwardStats& stats) const override {
    const auto a = optimality(stats.advantage, range_);
    const auto implicit = implicit_reward(stats, stats.v), held = implicit_reward(stats, stats.held());
    const auto all_shares = shares(a, stats.group);
    Tensor policy;
    for (const auto& share : all_shares) {
      const auto predicted = beta_ * (implicit - weighted_sums(held, share));
      const auto wanted = a - weighted_sums(a, share);
      const auto one = distance(predicted, wanted) / static_cast<double>(all_shares.size());
      policy = policy.defined() ? policy + one : one;
    }
    policy = policy * (range_ / beta_);
    std::map<std::string, Tensor> terms = {{"implicit", implicit}, {"target", a}, {"policy", policy}};
    auto loss = policy;
    if (velocity_kl_ > 0) {
      const auto kl = terms["kl"] = matching_error(stats.v, stats.of(kReferenceWeights));
      loss = loss + (least_kl_ + a * (velocity_kl_ - least_kl_)) * kl;
    }
    return described(loss, std::move(terms), {{"policy_loss", "policy"}, {"implicit_reward", "implicit"}});
  }

  static std::vector<Setting> settings();

 private:
  /// [M,B] R.
  Tensor implicit_reward(const ForwardStats& stats, const Tensor& velocity) const {
    const auto& old = stats.of(kOld);
    const auto target = stats.target();
    auto now = matching_error(velocity, target), before = matching_error(old, target);
    if (is_adaptive_) {
      now = now / weight_of(stats.held(), target);
      before = before / weight_of(old, target);
    }
    return before - now;
  }

  Tensor weight_of(const Tensor& velocity, const Tensor& target) const {
    return latent_mean((velocity - target).abs()).clamp_min(floor_);
  }

  /// One or two [B,B]: row i has the shares of the samples that i is centred with.
  std::vector<Tensor> shares(const Tensor& a, const Tensor& group) const {
    const auto together = centres_shard_ ? same_group(torch::zeros_like(group)) : same_group(group);
    if (!temperature_) return {softmax_together(torch::zeros_like(a), together)};
    return {softmax_together(a / *temperature_, together), softmax_together(-a / *temperature_, together)};
  }

  /// [M,B]
  Tensor distance(const Tensor& predicted, const Tensor& wanted) const {
    if (!is_cross_entropy_) return (predicted - wanted).square();
    return torch::binary_cross_entropy_with_logits(predicted, wanted.sigmoid().expand_as(predicted), {}, {},
                                                   at::Reduction::None);
  }

  double beta_, range_, floor_, least_kl_, velocity_kl_;
  std::optional<double> temperature_;
  bool is_cross_entropy_, is_adaptive_, centres_shard_;
  SnapshotRule old_, sampling_;
  ForwardPlan draws_;
};

std::vector<Setting> Crd::settings() {
  std::vector<Setting> own = {
      {.name = "form",
       .default_value = "mse",
       .choices = {"mse", "bce"},
       .help = "how centred rewards are compared: squared difference, or binary cross-entropy"},
      {.name = "beta",
       .default_value = 1.0,
       .minimum = 1e-6,
       .maximum = 1e6,
       .help = "factor of the implicit reward"},
      {.name = "temperature",
       .minimum = 1e-3,
       .maximum = 1e3,
       .help = "of the softmax shares by which rewards are centred; default: equal shares"},
      {.name = "adaptive",
       .default_value = true,
       .help = "divide matching errors by the mean absolute error"},
      {.name = "weight_floor",
       .default_value = 1e-5,
       .minimum = 1e-12,
       .maximum = 1e3,
       .help = "least mean absolute error that a matching error is divided by"},
      {.name = "centre",
       .default_value = "prompt",
       .choices = {"prompt", "shard"},
       .help = "which images are centred together: a prompt's, as the paper, or a shard's, as Flow-Factory"},
      {.name = "velocity_kl",
       .default_value = 0.01,
       .minimum = 0,
       .maximum = 1e6,
       .help = "weight, for the best images, of the mean squared distance to the velocity of the starting "
               "weights"},
      {.name = "least_kl",
       .default_value = kLeastKl,
       .minimum = 0,
       .maximum = 1e6,
       .help = "the same weight for the worst images; not used where velocity_kl is 0"},
      advantage_range_setting()};
  own = merged(own, decay_settings(kOld, "0, 0.25, 0.005, 0.999"));
  own = merged(own, decay_settings(kSampling, "75, 0, 0.0075, 0.999"));
  return merged(own, draw_settings());
}

const bool kRegistered = register_method({
    .name = "crd",
    .summary = "implicit rewards, centred within a prompt, follow the centred rewards",
    .equations = "(beta (R - mean R) - (a - mean a))^2, R = E(v_old) / w_old - E(v) / w (arXiv 2603.14128)",
    .settings = Crd::settings(),
    .make = [](Settings& s, const MethodContext& c) { return std::make_unique<Crd>(s, c); },
});

}  // namespace
}  // namespace harness

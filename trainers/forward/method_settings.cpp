#include "trainers/forward/method_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace harness {
namespace {

template <class T>
using Names = std::vector<std::pair<std::string, T>>;

template <class T>
std::vector<std::string> names_in(const Names<T>& table) {
  std::vector<std::string> names;
  for (const auto& [name, value] : table) names.push_back(name);
  return names;
}

template <class T>
const std::string& name_of(const Names<T>& table, T value) {
  return std::ranges::find(table, value, &std::pair<std::string, T>::second)->first;
}

template <class T>
T value_of(const Names<T>& table, const std::string& name) {
  return std::ranges::find(table, name, &std::pair<std::string, T>::first)->second;
}

template <class T>
T named_or(Settings& settings, const std::string& name, const Names<T>& table, T otherwise) {
  return value_of(table, choice_or(settings, name, name_of(table, otherwise)));
}

Setting number(std::string name, double minimum, double maximum, std::string help, Json usual = nullptr) {
  return {.name = std::move(name),
          .default_value = std::move(usual),
          .minimum = minimum,
          .maximum = maximum,
          .help = std::move(help)};
}

template <class T>
Setting choice(std::string name, const Names<T>& table, std::string help) {
  return {.name = std::move(name), .choices = names_in(table), .help = std::move(help)};
}

// Functions, since methods register, and so declare their settings, before main.

const Names<Preset>& presets() {
  static const Names<Preset> names = {{"harness", Preset::kHarness},
                                      {"upstream", Preset::kUpstream},
                                      {"flow-factory", Preset::kFlowFactory},
                                      {"unirl", Preset::kUnirl}};
  return names;
}

const Names<TimeRule::Kind>& time_rules() {
  using Kind = TimeRule::Kind;
  static const Names<Kind> names = {{"rollout-subset", Kind::kRolloutSubset},
                                    {"rollout-strata", Kind::kRolloutStrata},
                                    {"logit-normal", Kind::kLogitNormal},
                                    {"logit-normal-grid", Kind::kLogitNormalGrid},
                                    {"logit-normal-strata", Kind::kLogitNormalStrata},
                                    {"uniform-strata", Kind::kUniformStrata}};
  return names;
}

const Names<DrawScope>& scopes() {
  static const Names<DrawScope> names = {
      {"sample", DrawScope::kSample}, {"prompt", DrawScope::kPrompt}, {"all", DrawScope::kAll}};
  return names;
}

const Names<bool>& noises() {
  static const Names<bool> names = {{"fresh", false}, {"one", true}};
  return names;
}

/// Noise levels low..high of the rollout, of which `times` are drawn.
void read_levels(Settings& settings, int steps, ForwardPlan& plan) {
  auto& rule = plan.rule;
  rule.high = std::min(rule.high > 0 ? rule.high : steps, steps);
  rule.high = whole_or(settings, "time_high", std::max(rule.high, 1));
  rule.low = whole_or(settings, "time_low", std::min(rule.low, rule.high - 1));
  rule.least = number_or(settings, "time_least", rule.least);
  if (rule.high > steps)
    settings.fail("time_high", fmt::format("is {}, but a rollout has {} steps", rule.high, steps));
  if (rule.low >= rule.high)
    settings.fail("time_low", fmt::format("is {}, not below time_high, which is {}", rule.low, rule.high));
  const int levels = rule.high - rule.low;
  plan.times = whole_or(settings, "times", std::min(plan.times, levels));
  if (plan.times > levels) {
    settings.fail("times",
                  fmt::format("is {}, but time_low to time_high are {} noise levels", plan.times, levels),
                  "lower it, or take more sampling_steps");
  }
}

void read_rule(Settings& settings, const MethodContext& context, ForwardPlan& plan) {
  auto& rule = plan.rule;
  rule.kind = named_or(settings, "time_rule", time_rules(), rule.kind);
  if (rule.kind == TimeRule::Kind::kRolloutSubset || rule.kind == TimeRule::Kind::kRolloutStrata)
    return read_levels(settings, context.sampling_steps, plan);
  plan.times = whole_or(settings, "times", plan.times);
  if (rule.kind != TimeRule::Kind::kUniformStrata) {
    rule.shift = number_or(settings, "time_shift", rule.shift);
    return;
  }
  rule.from = number_or(settings, "time_from", rule.from);
  rule.to = number_or(settings, "time_to", rule.to);
  if (rule.from >= rule.to) settings.fail("time_from", "is not below time_to");
}

}  // namespace

Preset read_preset(Settings& settings) {
  return value_of(presets(), settings.choice("preset"));
}

double number_or(Settings& settings, const std::string& name, double otherwise) {
  const double value = settings.number_if_given(name).value_or(otherwise);
  settings.report(name, value);
  return value;
}

int whole_or(Settings& settings, const std::string& name, int otherwise) {
  const double value = settings.number_if_given(name).value_or(otherwise);
  if (value != std::floor(value)) settings.fail(name, "is not a whole number");
  settings.report(name, static_cast<int>(value));
  return static_cast<int>(value);
}

std::string choice_or(Settings& settings, const std::string& name, const std::string& otherwise) {
  const auto given = settings.get<Json>(name);
  const auto value = given.is_null() ? otherwise : given.get<std::string>();
  settings.report(name, value);
  return value;
}

std::vector<Setting> draw_settings() {
  constexpr double kMany = 1000;
  return {
      number(
          "times", 1, kMany,
          "draws (t, eps) that each clean latent is trained at, M; the default depends on the method and its "
          "preset"),
      choice(
          "time_rule", time_rules(),
          "where the flow times t come from: the rollout's own noise levels, a subset of them or one in each "
          "of M parts; or a shifted sigmoid of a normal number, as it is, on a grid of 1000 points or in M "
          "parts; or M equal parts of time_from to time_to"),
      number("time_low", 0, kMany,
             "first of the rollout's noise levels that may be drawn, from 0, the noisiest"),
      number("time_high", 1, kMany, "the noise level behind the last that may be drawn"),
      number("time_least", 0, 1, "least flow time of the rollout's noise levels that may be drawn"),
      number("time_shift", 1e-3, kMany, "shift of logit-normal times: q -> shift q / (1 + (shift - 1) q)"),
      number("time_from", 0, 1, "uniform-strata: least flow time"),
      number("time_to", 0, 1, "uniform-strata: largest flow time"),
      choice(
          "time_scope", scopes(),
          "whose images are trained at the same flow times: each its own, a prompt's, or all of the epoch"),
      choice("noise_scope", scopes(), "whose images are noised with the same eps"),
      choice("noise", noises(), "eps of a sample's M draws: fresh for each, or one for all"),
      number("train_guidance", 0, 100,
             "guidance of the trained velocities and of those that they are compared with; 1: none, as the "
             "public codes train, whatever the rollout's",
             1.0)};
}

ForwardPlan read_draws(Settings& settings, const MethodContext& context, ForwardPlan plan) {
  read_rule(settings, context, plan);
  plan.time_scope = named_or(settings, "time_scope", scopes(), plan.time_scope);
  plan.noise_scope = named_or(settings, "noise_scope", scopes(), plan.noise_scope);
  plan.one_noise = named_or(settings, "noise", noises(), plan.one_noise);
  plan.guidance = settings.number("train_guidance");
  return plan;
}

void require_shared_draws(const Settings& settings, const ForwardPlan& plan) {
  for (const auto& [name, scope] :
       {std::pair("time_scope", plan.time_scope), {"noise_scope", plan.noise_scope}}) {
    if (scope == DrawScope::kSample)
      settings.fail(name, "is sample, but the method compares images of a prompt at the same draws",
                    "give prompt or all");
  }
}

std::vector<Setting> decay_settings(const std::string& name, const std::string& usual) {
  const auto described = [&](const char* what) { return fmt::format("{}; default: {}", what, usual); };
  return {number(name + "_start", 0, 1e9, described("updates before the decay of these weights rises")),
          number(name + "_value", 0, 1, described("their decay until then")),
          number(name + "_slope", 0, 1, described("its rise an update")),
          number(name + "_end", 0, 1, described("its largest value"))};
}

SnapshotRule read_decay(Settings& settings, SnapshotRule rule) {
  rule.start = whole_or(settings, rule.name + "_start", static_cast<int>(rule.start));
  rule.value = number_or(settings, rule.name + "_value", rule.value);
  rule.slope = number_or(settings, rule.name + "_slope", rule.slope);
  rule.end = number_or(settings, rule.name + "_end", rule.end);
  return rule;
}

Setting advantage_range_setting() {
  return number("advantage_range", 1e-3, 1e6,
                "advantages of plus and minus this are the ends of the scale; larger ones count as this",
                5.0);
}

Setting velocity_kl_setting(const std::string& usual) {
  return number("velocity_kl", 0, 1e6,
                "weight of the mean squared distance to the velocity of the base model; default: " + usual);
}

Setting reference_weight_setting() {
  return number(
      "reference_weight", 0, 1e6,
      "weight of the mean squared distance to the velocity of the base model; the public configurations "
      "have 100",
      0.0);
}

}  // namespace harness

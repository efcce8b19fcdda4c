#include "trainers/clip_rule.h"

#include <fmt/format.h>

#include <cmath>

namespace harness {
namespace {

constexpr double kPublicLatent = 65536;    // D of the 512 px latents that the public radii were chosen for
constexpr double kPublicPlainClip = 1e-4;  // flow_grpo config/grpo.py

/// What the public configurations and the paper print for a task.
struct TaskValues {
  std::optional<double> guard_clip;  // flow_grpo config/grpo_guard.py
  std::optional<double> epsilon;     // PPO radius of the lambda methods (E76)
  std::optional<double> retention;   // q (E76)
};

TaskValues task_values(const std::string& task) {
  if (task == "ocr") return {2e-6, 0.2, 0.95};
  // The embedded stand-in of pickscore starts from its values.
  if (task == "pickscore" || task == "glyph-clip") return {4e-6, 0.1, 0.99};
  if (task == "geneval") return {2e-6, {}, {}};
  return {};
}

double known(const std::optional<double>& value, const Settings& settings, const char* setting,
             const std::string& task, const char* hint) {
  if (!value)
    settings.fail(setting, fmt::format("has no published value to start from for task \"{}\"", task), hint);
  return *value;
}

/// What turns a radius of the public latents into one of this latent.
double latent_scale(const MethodContext& context) {
  return std::sqrt(kPublicLatent / static_cast<double>(context.latent_size));
}

ClipRadius public_radius(const Settings& settings, const MethodContext& context, RatioFamily family) {
  constexpr auto kHint = "set clip_rule to absolute and give clip";
  const auto values = task_values(context.task);
  switch (family) {
    case RatioFamily::kPlain:
      return {.constant = public_plain_radius(context)};
    case RatioFamily::kRatioNorm:
      return {.constant =
                  known(values.guard_clip, settings, "clip", context.task, kHint) * latent_scale(context)};
    case RatioFamily::kLambdaNorm:
      break;
  }
  return {.constant = known(values.epsilon, settings, "clip", context.task, kHint)};
}

}  // namespace

double public_plain_radius(const MethodContext& context) {
  return kPublicPlainClip * latent_scale(context);
}

Setting retention_setting() {
  return {.name = "q",
          .minimum = 1e-6,
          .maximum = 1 - 1e-9,
          .help =
              "share of effective samples to retain over the late steps; sets the budget tau = -ln(q) / "
              "|K_late|. "
              "Default: 0.95 for ocr, 0.99 for pickscore and glyph-clip",
          .equation = "E46"};
}

double late_budget(Settings& settings, const MethodContext& context) {
  auto q = settings.number_if_given("q");
  if (!q) q = known(task_values(context.task).retention, settings, "q", context.task, "give q");
  const double tau = -std::log(*q) / context.late_steps;
  settings.report("q", *q);
  settings.report("tau", tau);
  return tau;
}

std::vector<Setting> clip_settings(RatioFamily family) {
  const std::string rule =
      family == RatioFamily::kPlain ? "public: 1e-4 sqrt(65536 / D); one-sigma: sqrt(tau / D)"
      : family == RatioFamily::kRatioNorm
          ? "public: the GRPO-Guard value (2e-6 for ocr and geneval, 4e-6 for "
            "pickscore) times sqrt(65536 / D); "
            "one-sigma: s_k sqrt(tau / D)"
          : "public and one-sigma: the task's epsilon (0.2 for ocr, 0.1 for pickscore and glyph-clip)";
  return {
      {.name = "clip_rule",
       .default_value = "public",
       .choices = {"public", "one-sigma", "absolute"},
       .help = "where the PPO radius comes from; " + rule + "; absolute: clip as given",
       .equation = "E12"},
      {.name = "clip",
       .minimum = 1e-12,
       .maximum = 10,
       .help = "PPO radius: the ratio is clamped to 1 - clip .. 1 + clip; given with clip_rule absolute only",
       .equation = "E12"}};
}

ClipRadius clip_radius(Settings& settings, const MethodContext& context, RatioFamily family) {
  const auto rule = settings.choice("clip_rule");
  ClipRadius radius;
  if (rule == "absolute") {
    radius.constant = settings.number("clip");
  } else if (rule == "public" || family == RatioFamily::kLambdaNorm) {
    radius = public_radius(settings, context, family);
  } else {
    const double sigma = std::sqrt(late_budget(settings, context) / static_cast<double>(context.latent_size));
    (family == RatioFamily::kRatioNorm ? radius.per_s : radius.constant) = sigma;
  }
  if (radius.per_s != 0) {
    settings.report("clip_over_s", radius.per_s);
  } else {
    settings.report("clip", radius.constant);
  }
  return radius;
}

}  // namespace harness

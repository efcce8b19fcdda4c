#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "harness/plan/plan.h"
#include "harness/plan/scorers.h"
#include "results/table/table.h"
#include "results/verdict/guardrails.h"

// Which metrics and scorers a plan uses.

namespace harness {
namespace {

/// The side of a metric that is not its good one; either side of one without a good direction may be harmful.
void require_harmful_side(const GuardrailMetric& metric, const MetricCatalogue& metrics,
                          const std::string& where) {
  const auto* info = metrics.find(metric.name);
  if (info == nullptr || info->better == "none" || better_from_name(info->better) == metric.better) return;
  const char* harmful = metric.better == Better::kUp ? "lower" : "higher";
  throw Error(fmt::format("\"{}\" cannot be the harmful side of {}: {} ({})", harmful, metric.name,
                          direction_text(info->better), info->source),
              where + ": harmful", fmt::format("give \"{}\"", info->better == "lower" ? "higher" : "lower"));
}

/// rules/guardrails.json of $HARNESS_PATH, the share folder or the source tree, as it is. Throws Error with
/// the place of what is wrong in it, also for a harmful side that is the metric's good one.
Json load_guardrail_rule(const MetricCatalogue& metrics) {
  const auto file = find_data_file("rules/guardrails.json");
  auto document = read_json(file);
  const auto rule = read_guardrail_rule(document, file.string());
  for (std::size_t i = 0; i < rule.metrics.size(); ++i)
    require_harmful_side(rule.metrics[i], metrics, fmt::format("{}: metrics[{}]", file.string(), i));
  return document;
}

/// What to do where a required metric cannot run: give its folder, or take another backbone.
std::string hint_for(const Plan& plan, const std::string& metric) {
  if (const auto* evaluator = plan.registry.evaluator_of(metric, plan.backbone.name)) {
    return fmt::format(
        "DIR/{} holds the model of that scorer; `harness list evaluators` shows which files it takes and from where",
        evaluator->name);
  }
  return "choose another --backbone, or another table";
}

/// Optional metrics that cannot run are left out, with the reason that the table prints.
void choose_metrics(Plan& plan, const ScorerFolders& folders) {
  plan.metrics = plan.spec.required_metrics;
  for (const auto& metric : plan.metrics) {
    if (const auto reason = reason_not_to_run(plan.registry, folders, metric, plan.backbone.name)) {
      throw Error(fmt::format("table {} needs the metric {} with backbone {}, and {}", plan.spec.id, metric,
                              plan.backbone.name, *reason),
                  plan.registry.evaluator_of(metric, plan.backbone.name) ? "--scorers" : "--backbone",
                  hint_for(plan, metric));
    }
  }
  for (const auto& metric : plan.spec.optional_metrics) {
    if (const auto reason = reason_not_to_run(plan.registry, folders, metric, plan.backbone.name)) {
      plan.metrics_not_run.emplace_back(metric, *reason);
    } else {
      plan.metrics.push_back(metric);
    }
  }
  if (plan.spec.is_training()) return;
  plan.guardrails = load_guardrail_rule(plan.spec.metric_catalogue);
  for (const auto& evaluator : plan.registry.evaluators) {
    if (!evaluator.guardrail) continue;
    for (const auto& metric : names_of(evaluator.metrics)) {
      if (std::ranges::find(plan.metrics, metric) == plan.metrics.end()) plan.metrics.push_back(metric);
    }
  }
}

/// A folder of --scorers whose metric the table replaces is one that people expect to see at work.
void note_unused_scorers(Plan& plan, const ScorerFolders& folders) {
  const auto changes = plan.spec.backbones.find(plan.backbone.name);
  if (changes == plan.spec.backbones.end()) return;
  for (const auto& [metric, other] : changes->second.stands_in) {
    const auto* evaluator = plan.registry.evaluator_of(metric);
    if (evaluator == nullptr || !folders.find(evaluator->name)) continue;
    plan.scorers_unused.push_back(fmt::format(
        "Scorer {} is present but not used: on backbone {}, table {} is rewarded and judged by {}, which "
        "replaces {}.",
        evaluator->name, plan.backbone.name, plan.spec.id, other, metric));
  }
}

constexpr std::string_view kProfile = "_profile";

/// --set NAME_profile=... of a scorer that this plan does not use would change nothing.
void require_profiles_used(const Plan& plan) {
  std::vector<std::string> used;
  for (const auto& [scorer, _] : plan.scorers.items()) used.push_back(scorer);
  for (const auto& [name, value] : plan.settings.loop) {
    if (value.origin != "--set" || !name.ends_with(kProfile)) continue;
    const auto scorer = name.substr(0, name.size() - kProfile.size());
    if (plan.scorers.contains(scorer) || plan.reward_scorers.contains(scorer)) continue;
    throw Error(fmt::format("setting {} is not used: {} scores nothing here", name, scorer), "--set " + name,
                fmt::format("leave it out; on backbone {} table {} is scored by {}", plan.backbone.name,
                            plan.spec.id, join(used, ", ")));
  }
}

}  // namespace

void choose_scorers(Plan& plan, const ScorerFolders& folders) {
  // A scorer with several profiles takes the one that its setting NAME_profile names.
  for (auto& evaluator : plan.registry.evaluators) {
    const auto setting = plan.settings.loop.find(evaluator.name + std::string(kProfile));
    if (setting != plan.settings.loop.end()) evaluator.identity["profile"] = setting->second.effective;
  }
  note_unused_scorers(plan, folders);
  choose_metrics(plan, folders);
  plan.scorers = scorer_identities(plan.registry, folders, plan.metrics, plan.backbone.name);
  plan.reward_scorers = plan.spec.has_base
                            ? reward_identities(plan.registry, folders, plan.spec.task, plan.backbone.name)
                            : Json::object();
  require_profiles_used(plan);
  plan.scorer_folders = folders_of(plan.scorers, folders);
  plan.scorer_folders.merge(folders_of(plan.reward_scorers, folders));
}

}  // namespace harness

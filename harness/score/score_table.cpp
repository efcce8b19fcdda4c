#include "harness/score/score_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/image.h"
#include "core/text.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

constexpr const char* kSeedText = "{seed}";
constexpr std::uint64_t kSplitSeed = 20260501;  // as of the shipped tables

/// Why the metrics of this evaluator do not apply to these prompts; empty: they do.
std::string unfit_prompts(const EvaluatorInfo& evaluator, const Registry& registry,
                          const PromptSet& prompts) {
  // Another evaluator of a task gives the same metrics, of other images.
  const auto own = names_of(evaluator.metrics);
  const auto rewards = [&](const char* task) {
    return std::ranges::any_of(registry.tasks, [&](const TaskInfo& info) {
      const auto first = std::ranges::find(registry.evaluators, info.evaluator, &EvaluatorInfo::name);
      return info.name == task && first != registry.evaluators.end() &&
             std::ranges::count(own, first->metrics.front().name) > 0;
    });
  };
  const bool are_records = task_of_set(prompts.name) == kGenevalPrompts;
  if (rewards(kGenevalPrompts))
    return are_records ? "" : "is of GenEval's records, and these are lines of text";
  if (!rewards(kOcrPrompts)) return "";
  if (are_records) return "needs text in double quotes, and these are GenEval's records";
  const auto quotes = [](const Prompt& prompt) { return !prompt.target.empty(); };
  const bool some_quote = std::ranges::any_of(prompts.prompts, quotes);
  return some_quote ? "" : "needs text in double quotes, and no prompt has any";
}

/// Whether the metrics of this evaluator apply to these prompts.
bool is_of_prompts(const EvaluatorInfo& evaluator, const Registry& registry, const PromptSet& prompts,
                   const BackboneInfo& like) {
  if (!unfit_prompts(evaluator, registry, prompts).empty()) return false;
  // A CLIP model of this project's own, which knows its pictures of letters alone, and reads quoted texts.
  const auto quotes = [](const Prompt& prompt) { return !prompt.target.empty(); };
  return evaluator.name != "glyph-clip" ||
         (like.images == kGlyphImages && std::ranges::any_of(prompts.prompts, quotes));
}

std::vector<std::string> metrics_of(const EvaluatorInfo& evaluator) {
  std::vector<std::string> names;
  for (const auto& metric : evaluator.metrics) {
    if (metric.restates.empty()) names.push_back(metric.name);
  }
  return names;
}

const MetricInfo* find_metric(const Registry& registry, const std::string& name) {
  for (const auto& evaluator : registry.evaluators) {
    for (const auto& metric : evaluator.metrics) {
      if (metric.name == name) return &metric;
    }
  }
  return nullptr;
}

/// The first metric that has a good direction upwards: what selects, and what stands in front.
std::string leading_metric(const std::vector<std::string>& metrics, const Registry& registry) {
  for (const auto& name : metrics) {
    if (const auto* info = find_metric(registry, name); info != nullptr && info->better == "higher")
      return name;
  }
  return metrics.front();
}

/// Throws Error for a metric that does not apply to these prompts.
void expect_of_prompts(const std::string& metric, const Registry& registry, const PromptSet& prompts) {
  const auto* evaluator = registry.evaluator_of(metric);
  if (evaluator == nullptr) return;
  const auto reason = unfit_prompts(*evaluator, registry, prompts);
  if (reason.empty()) return;
  throw Error(fmt::format("{} {}: {}", metric, reason, prompts.origin), "--metric",
              "leave it out, or give the prompts that these images were generated from");
}

ScoredMetrics asked_metrics(const ScoreRequest& request, const Registry& registry,
                            const ScorerFolders& folders, const PromptSet& prompts,
                            const BackboneInfo& like) {
  ScoredMetrics chosen;
  std::vector<std::string> known;
  for (const auto& evaluator : registry.evaluators) {
    for (const auto& metric : evaluator.metrics) {
      if (std::ranges::count(known, metric.name) == 0) known.push_back(metric.name);
    }
  }
  for (const auto& name : request.metrics) {
    require_choice(name, known, "metric", "--metric");
    expect_of_prompts(name, registry, prompts);
    if (const auto reason = reason_not_to_run(registry, folders, name, like.name))
      throw Error(
          fmt::format("{} cannot be measured: {}", name, *reason), "--metric",
          "give its model or program with --scorers; `harness list evaluators` shows what each takes");
    if (std::ranges::count(chosen.required, name) == 0) chosen.required.push_back(name);
  }
  return chosen;
}

}  // namespace

std::size_t ImageRows::runs() const {
  return places.at(names.front()).size();
}

bool ImageRows::has_steps() const {
  const auto has_several = [](const std::string& place) {
    return harness::has_steps(place) || places_in(place, "/").size() > 1;
  };
  return std::ranges::any_of(places,
                             [&](const auto& row) { return std::ranges::any_of(row.second, has_several); });
}

ImageRows read_image_rows(const std::vector<std::string>& given) {
  ImageRows rows;
  for (const auto& text : given) {
    const auto [name, place] = name_and_place(text, text);
    if (place.find(kSeedText) != std::string::npos)
      throw Error("has {seed} in it", text, "give the folder of each run: NAME=DIR1 NAME=DIR2");
    if (!rows.places.contains(name)) rows.names.push_back(name);
    rows.places[name].push_back(absolute_places(place));
  }
  for (const auto& name : rows.names) {
    if (rows.places.at(name).size() == rows.runs()) continue;
    throw Error(fmt::format("{} has {} and {} has {}", rows.names.front(),
                            counted(static_cast<std::int64_t>(rows.runs()), "folder"), name,
                            rows.places.at(name).size()),
                "harness score", "give each row a folder for every run, in the same order");
  }
  return rows;
}

ScoredMetrics choose_score_metrics(const ScoreRequest& request, const Registry& registry,
                                   const ScorerFolders& folders, const PromptSet& prompts,
                                   const BackboneInfo& like) {
  if (!request.metrics.empty()) return asked_metrics(request, registry, folders, prompts, like);
  ScoredMetrics chosen;
  for (const auto& evaluator : registry.evaluators) {
    if (evaluator.guardrail || !evaluator.belongs_to(like.name) ||
        !is_of_prompts(evaluator, registry, prompts, like))
      continue;
    for (const auto& name : metrics_of(evaluator)) {
      const bool runs = !reason_not_to_run(registry, folders, name, like.name);
      (runs ? chosen.required : chosen.optional).push_back(name);
    }
  }
  if (!chosen.required.empty()) return chosen;
  for (const auto& evaluator : registry.evaluators) {
    if (!evaluator.guardrail) continue;
    for (const auto& name : metrics_of(evaluator)) chosen.required.push_back(name);
  }
  return chosen;
}

Json score_document(const ScoreRequest& request, const ScoreTable& table, const Registry& registry) {
  Json methods = Json::array(), columns = Json::array(), seeds = Json::array();
  for (const auto& name : table.rows.names)
    methods.push_back({{"name", name}, {"images", table.rows.places.at(name)}});
  for (std::size_t i = 1; i <= table.rows.runs(); ++i) seeds.push_back(i);
  for (const auto& name : table.metrics.required) columns.push_back({{"name", name}});
  const Json split =
      table.validation > 0 ? Json{{"seed", kSplitSeed}, {"take", table.validation}} : Json{{"first", 0}};
  return {{"id", request.name},
          {"title", !request.title.empty() ? request.title : "Images of " + join(table.rows.names, ", ")},
          {"task", table.task},
          {"backbone", kImagesBackbone},
          {"starting_weights", false},
          {"methods", std::move(methods)},
          {"baseline", !request.baseline.empty() ? request.baseline : table.rows.names.front()},
          {"seeds", std::move(seeds)},
          {"prompts", {{"first", table.prompts}, {"samples", table.samples}, {"with_images_only", true}}},
          {"split", split},
          {"checkpoints", Json::array({1})},
          {"selection", {{"metric", leading_metric(table.metrics.required, registry)}}},
          {"metrics", {{"required", table.metrics.required}, {"optional", table.metrics.optional}}},
          {"columns", std::move(columns)},
          {"notes", table.notes}};
}

}  // namespace harness

#include "harness/spec/external_scorers.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/file_checksums.h"
#include "harness/spec/reading.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Columns that are no metric, and what else a metric may not be called.
const std::vector<std::string> kTakenNames = {"lambda_late", "lambda_late_last", "clip_fraction"};

std::string metrics_file(const ExternalScorerSpec& scorer) {
  return (scorer.folder / "scorer.json").string() + ": metrics";
}

void require_new_names(const ExternalScorerSpec& scorer, const Registry& registry) {
  const auto evaluators = names_of(registry.evaluators);
  if (std::ranges::count(evaluators, scorer.name) > 0) {
    throw Error(fmt::format("this build has a scorer \"{}\" of its own", scorer.name),
                (scorer.folder / "scorer.json").string(), "rename the folder");
  }
  for (const auto& metric : scorer.metric_names()) {
    const auto* other = registry.evaluator_of(metric);
    const bool is_taken = other != nullptr || std::ranges::count(kTakenNames, metric) > 0 ||
                          find_budget_column(metric) != nullptr ||
                          std::ranges::count(reserved_metrics(), metric) > 0;
    if (!is_taken) continue;
    throw Error(other != nullptr ? fmt::format("\"{}\" is already a metric of {}", metric, other->name)
                                 : fmt::format("\"{}\" means something else in tables", metric),
                metrics_file(scorer), "choose another name");
  }
}

/// "mean of all pixels (brightness 1)": what it is, and whose.
std::string help_of(const ExternalScorerSpec& scorer, const MetricInfo& metric) {
  const auto source = fmt::format("external scorer {} version {}", scorer.name, scorer.version);
  return metric.help.empty() ? source : fmt::format("{} ({})", metric.help, source);
}

EvaluatorInfo evaluator_info(const ExternalScorerSpec& scorer) {
  EvaluatorInfo info{.name = scorer.name,
                     .summary = scorer.summary.empty() ? "external scorer" : scorer.summary,
                     .metrics = scorer.metrics,
                     .identity = external_scorer_identity(scorer, remembered_sha256)};
  for (auto& metric : info.metrics) metric.help = help_of(scorer, metric);
  return info;
}

/// `better`: as the table takes it, whose task may give the metric a side.
Json column_of(const ExternalScorerSpec& scorer, const MetricInfo& metric, const std::string& better) {
  return {{"name", metric.name}, {"title", metric.title},       {"unit", metric.unit},
          {"better", better},    {"decimals", metric.decimals}, {"note", help_of(scorer, metric)}};
}

bool has_column(const Json& columns, const std::string& name) {
  return std::ranges::any_of(columns, [&](const Json& column) { return column.value("name", "") == name; });
}

}  // namespace

std::vector<fs::path> external_scorer_folders(const fs::path& scorers) {
  std::vector<fs::path> folders;
  if (scorers.empty()) return folders;
  for (const auto& entry : fs::directory_iterator(scorers)) {
    if (entry.is_directory() && is_external_scorer(entry.path())) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

std::vector<ExternalScorerSpec> find_external_scorers(const fs::path& scorers) {
  std::vector<ExternalScorerSpec> found;
  for (const auto& folder : external_scorer_folders(scorers)) found.push_back(read_external_scorer(folder));
  return found;
}

void add_to_registry(const std::vector<ExternalScorerSpec>& scorers, Registry& registry) {
  for (const auto& scorer : scorers) {
    require_new_names(scorer, registry);
    registry.evaluators.push_back(evaluator_info(scorer));
    for (const auto& metric : scorer.metric_names()) {
      registry.tasks.push_back({.name = kMaximizeTask + metric,
                                .summary = fmt::format("rewarded by {}", metric),
                                .evaluator = scorer.name});
      registry.tasks.push_back({.name = kMinimizeTask + metric,
                                .summary = fmt::format("rewarded by -{}", metric),
                                .evaluator = scorer.name});
    }
  }
}

TableSpec with_external_metrics(TableSpec spec, const std::vector<ExternalScorerSpec>& scorers,
                                const Registry& registry) {
  if (spec.is_training() || scorers.empty()) return spec;
  spec.metric_catalogue = MetricCatalogue(registry.evaluators).of_task(spec.task);
  auto& columns = spec.document.at("columns");
  for (const auto& scorer : scorers) {
    for (const auto& metric : scorer.metrics) {
      if (!spec.names(metric.name)) {
        spec.document["metrics"]["optional"].push_back(metric.name);
        spec.optional_metrics.push_back(metric.name);
      }
      if (!has_column(columns, metric.name))
        columns.push_back(column_of(scorer, metric, spec.metric_catalogue.find(metric.name)->better));
    }
  }
  check_sizes(spec.document, spec.file.string());
  read_columns(spec, columns);  // those that the table has of these metrics are known only now
  check_whole(spec);
  require_selectable(spec);
  return spec;
}

std::map<std::string, std::string> try_external_scorers(const std::vector<ExternalScorerSpec>& scorers,
                                                        const Json& identities,
                                                        const std::set<std::string>& required) {
  std::map<std::string, std::string> without_value;
  for (const auto& scorer : scorers) {
    if (!identities.contains(scorer.name)) continue;
    for (const auto& [metric, reason] : try_external_scorer(scorer)) {
      if (required.contains(metric)) throw without_trial_value(scorer, metric, reason);
      without_value[metric] =
          fmt::format("scorer {} gives no value of a test image: {}", scorer.name, reason);
    }
  }
  return without_value;
}

}  // namespace harness

#include "harness/compare/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/text.h"
#include "harness/show/comparisons.h"
#include "harness/terminal/output.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// Why an experiment's evaluations have no such metric; empty where they do not tell.
std::string why_not_run(Store& store, const MeasuredExperiment& of, const std::string& metric) {
  for (const auto& checkpoint : of.checkpoints) {
    const Json not_run = store.evaluation(checkpoint.evaluation_id)->not_run;
    if (not_run.contains(metric)) return not_run.at(metric).get<std::string>();
  }
  return "";
}

void require_metric(Store& store, const std::vector<ComparedRow>& rows, const std::string& metric,
                    const std::vector<std::string>& common) {
  const auto& home = *rows.front().of;
  const auto has = [&](const ComparedRow& row) { return holds(row.of->metrics, metric); };
  const auto with = std::ranges::find_if(rows, has), without = std::ranges::find_if_not(rows, has);
  if (with != rows.end() && without != rows.end()) {
    const auto why = why_not_run(store, *without->of, metric);
    throw Error(fmt::format("{} was measured of {}, and not of {}{}", metric, with->name, without->name,
                            why.empty() ? "" : ": " + why),
                "--metric",
                common.empty() ? "they have no metric in common" : "all have " + join(common, ", "));
  }
  if (without != rows.end()) require_measured(home.experiment, metric, "--metric", "--metric");
  if (const auto why = why_not_run(store, home, metric); !why.empty())
    throw Error(fmt::format("{} was not run: {}", metric, why), "--metric",
                "there are " + join(common, ", "));
  require_choice(metric, common, "metric", "--metric");
}

bool has_split(const ComparedRow& row, const std::string& split) {
  return std::ranges::any_of(row.of->checkpoints, [&](const auto& checkpoint) {
    return checkpoint.method == row.row && checkpoint.split == split && checkpoint.selected;
  });
}

}  // namespace

std::vector<std::string> chosen_metrics(Store& store, const std::vector<ComparedRow>& rows,
                                        const CompareQuestion& question) {
  const auto& home = rows.front().experiment();
  auto common = rows.front().of->metrics;
  for (const auto& row : rows)
    std::erase_if(common, [&](const auto& metric) { return !holds(row.of->metrics, metric); });
  if (common.empty())
    throw Error("they have no metric in common", "harness compare",
                "score both with the same scorers (--scorers)");
  if (question.metrics.empty()) return {common.front()};
  if (question.asks_all_metrics()) {
    const auto named = home.is_training() ? common : named_by_table(home.table, common);
    return named.empty() ? common : named;
  }
  for (const auto& metric : question.metrics) require_metric(store, rows, metric, common);
  return distinct_of(question.metrics, std::identity());
}

std::string chosen_split(const std::vector<ComparedRow>& rows, const CompareQuestion& question) {
  const auto& home = *rows.front().of;
  std::vector<std::string> known;
  for (const auto& checkpoint : home.checkpoints) known.push_back(checkpoint.split);
  if (home.experiment.is_training()) known = {kTrainingSplit};
  const auto split = question.split.empty() ? home.experiment.shown_split() : question.split;
  require_choice(split, distinct_of(known, std::identity()), "split", "--split");
  if (are_of_one_experiment(rows)) return split;
  for (const auto& row : rows) {
    if (!has_split(row, split))
      throw Error(fmt::format("{} has no evaluation on the {} split", row.name, split), "--split",
                  "give the other split");
  }
  return split;
}

}  // namespace harness

#include "harness/compare/across_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "core/error.h"
#include "core/text.h"
#include "harness/show/comparisons.h"
#include "harness/show/table_model.h"
#include "harness/terminal/output.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// Why a metric is not there, if the row's evaluations tell.
std::string why_not_run(const ComparedRow& row, const std::string& split, const std::string& metric) {
  for (const auto& checkpoint : row.selected(split)) {
    const Json not_run = row.store->evaluation(checkpoint.evaluation_id)->not_run;
    if (not_run.contains(metric)) return ": " + not_run.at(metric).get<std::string>();
  }
  return "";
}

/// Metrics that all rows have, in the order of the baseline's.
std::vector<std::string> common_metrics(const std::vector<ComparedRow>& rows, const std::string& split) {
  auto common = metrics_of(*rows.front().store, rows.front().selected(split));
  for (const auto& row : rows) {
    const auto known = metrics_of(*row.store, row.selected(split));
    std::erase_if(common, [&](const auto& metric) { return !holds(known, metric); });
  }
  return common;
}

void require_metric(const std::vector<ComparedRow>& rows, const std::string& split, const std::string& metric,
                    const std::vector<std::string>& common) {
  if (holds(common, metric)) return;
  const auto has = [&](const ComparedRow& row) {
    return holds(metrics_of(*row.store, row.selected(split)), metric);
  };
  const auto with = std::ranges::find_if(rows, has), without = std::ranges::find_if_not(rows, has);
  if (with == rows.end()) require_choice(metric, common, "metric", "--metric");
  throw Error(fmt::format("{} was measured of {}, and not of {}{}", metric, with->side.name,
                          without->side.name, why_not_run(*without, split, metric)),
              "--metric",
              common.empty() ? "they have no metric in common" : "all have " + join(common, ", "));
}

}  // namespace

void require_evaluations(const ComparedRow& row) {
  if (!row.experiment->is_training()) return;
  throw Error(fmt::format("experiment {} (table {}) shows statistics of the training, which are compared "
                          "within one experiment",
                          row.side.experiment, row.side.table),
              row.side.name, fmt::format("name rows of experiment {} alone", row.side.experiment));
}

std::vector<std::string> splits_of(const ComparedRow& row) {
  std::vector<std::string> splits;
  for (const auto& checkpoint : row.checkpoints) {
    if (checkpoint.selected) splits.push_back(checkpoint.split);
  }
  return distinct_of(splits, std::identity());
}

std::string split_across(const std::vector<ComparedRow>& rows, const CompareQuestion& question) {
  auto common = splits_of(rows.front());
  const auto split = question.split.empty() ? rows.front().experiment->shown_split() : question.split;
  require_choice(split, {"validation", "test"}, "split", "--split");
  for (const auto& row : rows) {
    const auto known = splits_of(row);
    std::erase_if(common, [&](const auto& name) { return !holds(known, name); });
  }
  for (const auto& row : rows) {
    if (holds(splits_of(row), split)) continue;
    throw Error(fmt::format("{} has no evaluation on the {} split", row.side.name, split), "--split",
                common.empty() ? "no split has evaluations of all of them"
                               : "all of them have " + join(common, ", "));
  }
  return split;
}

std::vector<std::string> metrics_across(const std::vector<ComparedRow>& rows, const std::string& split,
                                        const CompareQuestion& question) {
  const auto common = common_metrics(rows, split);
  if (common.empty())
    throw Error("they have no metric in common", "harness compare",
                "score both with the same scorers (--scorers)");
  if (question.metrics.empty()) return {common.front()};
  if (question.asks_all_metrics()) {
    const auto named = named_by_table(rows.front().experiment->table, common);
    return named.empty() ? common : named;
  }
  for (const auto& metric : question.metrics) require_metric(rows, split, metric, common);
  return distinct_of(question.metrics, std::identity());
}

std::vector<std::string> warnings_across(const std::vector<ComparedRow>& rows, const std::string& split) {
  std::vector<std::string> warnings;
  for (const auto& row : rows) {
    if (chooses_on(*row.experiment, split)) warnings.emplace_back(kChosenHere);
    if (auto scale = scale_warning_of(*row.experiment); !scale.empty()) warnings.push_back(std::move(scale));
    if (auto note = fuller_note(*row.store, *row.experiment); !note.empty())
      warnings.push_back(std::move(note));
    std::ranges::move(copies_notes(row.checkpoints, split), std::back_inserter(warnings));
    ScoreReader scores(*row.store);
    std::ranges::move(runs_alike_notes(scores, *row.experiment, row.checkpoints, split),
                      std::back_inserter(warnings));
  }
  return distinct_of(warnings, std::identity());
}

}  // namespace harness

#include "harness/compare/across.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "harness/compare/across_choice.h"
#include "harness/compare/conditions.h"
#include "harness/compare/effect.h"
#include "harness/compare/row_pairs.h"
#include "harness/compare/within.h"
#include "harness/show/comparisons.h"
#include "results/statistics/crossed.h"
#include "results/statistics/outcomes.h"

namespace harness {
namespace {

constexpr const char* kWhere = "harness compare";

bool has_images(const ComparedRow& row) {
  return is_of_images(*row.experiment, row.side.row);
}

/// One method against the baseline.
class RowPair {
 public:
  RowPair(const ComparedRow& baseline, const ComparedRow& method, const std::string& split)
      : baseline_(baseline),
        method_(method),
        split_(split),
        runs_(run_pairs(baseline, method, split)),
        prompts_(baseline, method, runs_.pairs) {
    prompts_.count(runs_.seeds);
    has_images_ = has_images(baseline) || has_images(method);
    if (has_images_) runs_.seeds.same_noise = 0;
  }

  /// Throws Error where there is nothing to compare.
  void require_pairs() const {
    require_different_runs();
    require_common_prompts();
  }

  SidePairing pairing() const { return runs_.seeds; }

  /// Where a metric cannot tell the two apart (end_note).
  std::string end_note_of(const std::vector<std::string>& metrics) {
    std::vector<std::string> ties;
    for (const auto& metric : metrics) {
      if (baseline_.experiment->better(metric) != Better::kNone)
        ties.push_back(
            end_ties_text(metric, baseline_.side.name, method_.side.name, prompts_.values(metric)));
    }
    return end_note(std::move(ties));
  }

  std::vector<SideDifference> differences(const std::vector<std::string>& metrics) const {
    auto found = differences_of(baseline_, method_, runs_.pairs, metrics);
    const auto& seeds = runs_.seeds;
    if (seeds.seeds.empty())
      found.insert(found.begin(), {.method = method_.side.name,
                                   .what = "seeds",
                                   .baseline_value = seeds.only_baseline_seeds,
                                   .method_value = seeds.only_method_seeds,
                                   .bearing = Bearing::kRefused});
    return found;
  }

  std::vector<ComparisonRecord> compare(const std::vector<std::string>& metrics,
                                        const std::vector<SideDifference>& differences,
                                        const BootstrapSettings& settings) {
    std::vector<PairedMetric> pairs;
    for (const auto& metric : metrics)
      pairs.push_back({.pairs = prompts_.values(metric),
                       .better = baseline_.experiment->better(metric),
                       .runs_are_paired = !has_images_});
    if (has_images_) {
      for (auto& metric : pairs) keep_samples_of_all_runs(metric.pairs);
    }
    auto results = compare_paired(pairs, settings);
    for (std::size_t i = 0; has_images_ && i < pairs.size(); ++i) {
      count_by_cluster(pairs[i], settings.confidence, results[i]);
      for (const auto* row : {&baseline_, &method_}) {
        ScoreReader scores(*row->store);
        heed_runs_alike(scores, *row->experiment, row->checkpoints, row->side.row, split_, metrics[i],
                        results[i]);
      }
    }
    const bool judges = baseline_.experiment->judges_methods() && method_.experiment->judges_methods();
    const auto note =
        movement_note(mean_movement(*baseline_.store, *baseline_.experiment, baseline_.side.row),
                      mean_movement(*method_.store, *method_.experiment, method_.side.row));
    std::vector<ComparisonRecord> records;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      results[i].judges_methods =
          judges && bearing_on(differences, method_.side.name, metrics[i]) == Bearing::kNone;
      records.push_back({.split = split_,
                         .metric = metrics[i],
                         .baseline = baseline_.side.name,
                         .method = method_.side.name,
                         .result = std::move(results[i]),
                         .note = note});
    }
    return records;
  }

 private:
  /// Two experiments may show the same runs.
  void require_different_runs() const {
    const bool are_same = std::ranges::all_of(runs_.pairs, [](const EvaluationPair& pair) {
      return pair.baseline.evaluation_id == pair.method.evaluation_id;
    });
    if (!are_same) return;
    throw Error(fmt::format("{} and {} are the same evaluations of the same runs", baseline_.side.name,
                            method_.side.name),
                kWhere, "name two rows that differ");
  }

  void require_common_prompts() const {
    if (runs_.seeds.prompts > 0) return;
    const auto set = [](const ComparedRow& row) { return row.experiment->effective.prompt_set; };
    throw Error(fmt::format("{} ({}) and {} ({}) have no {} prompt in common", baseline_.side.name,
                            set(baseline_), method_.side.name, set(method_), split_),
                kWhere, "evaluate both on one prompt set: `harness reproduce --prompts DIR`");
  }

  const ComparedRow& baseline_;
  const ComparedRow& method_;
  std::string split_;
  bool has_images_ = false;  ///< that were drawn elsewhere, of either side
  RunPairs runs_;
  PromptPairs prompts_;
};

/// Unless it is asked for anyway, what makes numbers mean different things is refused; the message has every
/// difference.
void require_equal_terms(const std::vector<SideDifference>& differences, const std::string& baseline) {
  std::vector<std::string> refused, others;
  std::string method;
  for (const auto& difference : differences) {
    const bool stops = difference.bearing == Bearing::kRefused;
    if (stops && method.empty()) method = difference.method;
    (stops ? refused : others).push_back(in_words(difference));
  }
  if (refused.empty()) return;
  throw Error(fmt::format("{} and {} were not evaluated alike: {}{}", baseline, method, join(refused, "; "),
                          others.empty() ? "" : ". Also different: " + join(others, "; ")),
              kWhere, "--anyway compares these checkpoints' scores all the same, and marks them");
}

/// Why --claim methods cannot be met; nothing where it is.
void require_methods_claim(const ComparisonReport& report, const std::vector<ComparisonRecord>& asked) {
  for (const auto& record : asked) {
    if (claim_of(record.result) == Claim::kMethods) continue;
    std::vector<std::string> reasons;
    for (const auto& difference : report.differences) {
      if (difference.bearing != Bearing::kNone && difference.concerns(record.method, record.metric))
        reasons.push_back(in_words(difference));
    }
    if (!reasons.empty())
      throw Error(fmt::format("more than the method differs between {} and {}: {}", record.baseline,
                              record.method, join(reasons, "; ")),
                  "--claim", "leave it out");
    if (!record.result.judges_methods)
      throw Error("their scale allows no statement about methods", "--claim", "leave it out");
    throw Error(fmt::format("a statement about methods needs {} training runs of each with seeds that both "
                            "have, and {} and {} have {}",
                            kFewestRuns, record.baseline, record.method, record.result.seeds),
                "--claim", "repeat both experiments with more seeds, the same ones");
  }
}

/// A method of the baseline's own experiment, which its table judges.
void compare_in_table(const ComparedRow& baseline, const ComparedRow& method, ComparisonReport& report,
                      std::vector<ComparisonRecord>& asked) {
  ScoreReader scores(*baseline.store);
  const auto& experiment = *baseline.experiment;
  const auto checkpoints = evaluated_checkpoints(*baseline.store, experiment);
  auto own = compare_methods(scores, experiment, checkpoints, baseline.side.row, method.side.row,
                             report.split, report.metrics, report.bootstrap);
  auto note = end_note(scores, experiment, checkpoints, {{baseline.side.row, method.side.row}}, report.split,
                       report.metrics);
  if (!note.empty()) report.warnings.push_back(std::move(note));
  for (auto& record : own) {
    record.baseline = baseline.side.name;
    record.method = method.side.name;
  }
  std::ranges::move(own, std::back_inserter(asked));
}

/// The families of the baseline's table, under the names that its rows have here.
Families families_here(const ComparedRow& baseline, const std::vector<ComparisonRecord>& asked,
                       const std::string& split, bool of_checkpoints) {
  ScoreReader scores(*baseline.store);
  const auto& experiment = *baseline.experiment;
  const auto checkpoints = evaluated_checkpoints(*baseline.store, experiment);
  auto families = table_families(scores, experiment, checkpoints, split, of_checkpoints);
  const auto prefix = baseline.prefix();
  auto others = questions_of(asked);
  std::erase_if(others, [&](const auto& question) { return !question.method.starts_with(prefix); });
  for (auto& question : others) {
    question.baseline.erase(0, prefix.size());
    question.method.erase(0, prefix.size());
  }
  add_other_families(scores, experiment, checkpoints, split, others, of_checkpoints, families);
  for (auto* questions : {&families.table, &families.leaderboard, &families.panel, &families.pairs}) {
    for (auto& question : *questions) {
      question.baseline.insert(0, prefix);
      question.method.insert(0, prefix);
    }
  }
  for (auto& row : families.rows) row.insert(0, prefix);
  return families;
}

/// A method of another experiment.
void compare_with_another(const ComparedRow& baseline, const ComparedRow& method, bool anyway,
                          ComparisonReport& report, std::vector<ComparisonRecord>& asked) {
  RowPair pair(baseline, method, report.split);
  pair.require_pairs();
  auto differences = pair.differences(report.metrics);
  if (!anyway) require_equal_terms(differences, baseline.side.name);
  std::ranges::move(pair.compare(report.metrics, differences, report.bootstrap), std::back_inserter(asked));
  std::ranges::move(differences, std::back_inserter(report.differences));
  report.pairings.push_back(pair.pairing());
  if (auto note = pair.end_note_of(report.metrics); !note.empty()) report.warnings.push_back(std::move(note));
  const bool both_validated =
      holds(splits_of(baseline), "validation") && holds(splits_of(method), "validation");
  if (report.split == "validation" || !both_validated) return;
  std::ranges::move(RowPair(baseline, method, "validation").compare(report.metrics, {}, {.resamples = 0}),
                    std::back_inserter(report.validation));
}

}  // namespace

ComparisonReport compare_across(const std::vector<ComparedRow>& rows, const CompareQuestion& question,
                                bool anyway) {
  auto report = begin_report(question);
  const auto& baseline = rows.front();
  report.baseline = baseline.side.name;
  for (const auto& row : rows) {
    require_evaluations(row);
    report.sides.push_back(row.side);
  }
  report.has_images = std::ranges::any_of(rows, has_images);
  report.images_only = std::ranges::all_of(rows, has_images);
  report.split = split_across(rows, question);
  report.metrics = metrics_across(rows, report.split, question);
  require_sensible_effect(question.effect, baseline.experiment->table, report.metrics);
  report.warnings = warnings_across(rows, report.split);
  const bool of_checkpoints = question.claim == claim_name(Claim::kCheckpoints);
  std::vector<ComparisonRecord> asked;
  for (const auto& method : rows | std::views::drop(1)) {
    if (are_of_one_experiment(baseline, method)) {
      compare_in_table(baseline, method, report, asked);
      report.table = baseline.side.table;
    } else {
      compare_with_another(baseline, method, anyway, report, asked);
    }
  }
  if (question.claim == claim_name(Claim::kMethods)) require_methods_claim(report, asked);
  if (of_checkpoints) claim_checkpoints_only(asked);
  if (report.table.empty())
    report.families.table = questions_of(asked);
  else
    report.families = families_here(baseline, asked, report.split, of_checkpoints);
  if (!report.families.leaderboard.empty())
    report.warnings.push_back(leaderboard_warning(*baseline.experiment, report.split));
  std::vector<Better> better;
  for (const auto& record : asked) better.push_back(baseline.experiment->better(record.metric));
  add_comparisons(asked, better, report);
  if (!report.table.empty()) {
    ScoreReader scores(*baseline.store);
    heed_leaderboard(scores, *baseline.experiment, baseline.prefix(), report);
  }
  return report;
}

}  // namespace harness

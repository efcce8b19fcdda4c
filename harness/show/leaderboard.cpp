#include "harness/show/leaderboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "harness/show/comparisons.h"
#include "results/table/table_view.h"
#include "results/verdict/multiplicity.h"
#include "results/verdict/run_variance.h"

namespace harness {
namespace {

const Comparison* find_comparison(const std::vector<Comparison>& comparisons, const std::string& baseline,
                                  const std::string& method, const std::string& metric) {
  const auto found = std::ranges::find_if(comparisons, [&](const Comparison& c) {
    return c.baseline == baseline && c.method == method && c.metric == metric;
  });
  return found == comparisons.end() ? nullptr : &*found;
}

std::optional<double> mean_of_row(const TableModel& model, const std::string& method,
                                  const std::string& metric) {
  return mean_over_seeds(model, method, {.key = metric, .title = metric});
}

/// Whether a difference is resolved on this side of the baseline: "better", "worse".
bool is_shown(const Comparison& c, Better better, const char* side) {
  return c.judgement.resolved() && better != Better::kNone && direction_of(*c.values.delta, better) == side;
}

/// Guardrails are the table's other metrics that do not say the same as its own, and the rule's.
std::vector<std::string> guardrails_on(const char* side, const Experiment& experiment,
                                       const TableModel& model, const std::vector<Comparison>& comparisons,
                                       const std::string& method, const std::string& reward) {
  std::vector<std::string> found_on_side;
  for (const auto& c : comparisons) {
    if (c.baseline != model.baseline || c.method != method || c.metric == reward || c.restates == reward)
      continue;
    auto better = experiment.better(c.metric);
    if (const auto& rule = experiment.guardrail_rule; rule && better == Better::kNone) {
      const auto found = std::ranges::find(rule->metrics, c.metric, &GuardrailMetric::name);
      if (found != rule->metrics.end()) better = found->better;
    }
    if (is_shown(c, better, side)) found_on_side.push_back(column_of(model, c.metric).title);
  }
  return found_on_side;
}

std::optional<std::int64_t> tuning_of(const Experiment& experiment, const std::string& row) {
  const auto found = experiment.table.tuning.find(row);
  return found == experiment.table.tuning.end() ? std::nullopt : std::optional(found->second);
}

/// "never clipped", "never clipped in 1 of 6 runs"; empty if every run clipped.
std::string clip_note(const TableModel& model, const std::string& method) {
  const auto is_run = [&](const TableRow& row) { return row.method == method && row.selected; };
  const auto runs = std::ranges::count_if(model.rows, is_run);
  const auto never = std::ranges::count_if(
      model.rows, [&](const TableRow& row) { return is_run(row) && row.never_clipped; });
  if (never == 0) return {};
  return never == runs ? "never clipped" : fmt::format("never clipped in {} of {} runs", never, runs);
}

/// Images of a row's runs by their ends, a mean; nothing where one does not say.
std::optional<double> images_of(Store& store, const Experiment& experiment, const std::string& row) {
  std::vector<std::optional<double>> images;
  for (const auto& run : runs_of(store, experiment)) {
    if (run.row != row) continue;
    const auto budgets = store.budgets(run.id);
    images.push_back(budgets.empty() ? std::nullopt : budgets.back().images);
  }
  const auto summary = summarize(images);
  return summary.n_missing == 0 ? summary.mean : std::nullopt;
}

bool have_a_measure_in_common(const Movement& a, const Movement& b) {
  return (a.lambda_center && b.lambda_center) || (a.velocity && b.velocity);
}

/// What a row's training came to.
struct Training {
  Movement movement;
  std::optional<double> images;

  static Training of(Store& store, const Experiment& experiment, const std::string& row) {
    return {mean_movement(store, experiment, row), images_of(store, experiment, row)};
  }
};

/// What stands with a verdict.
std::vector<std::string> notes_of(const Experiment& experiment, const TableModel& model,
                                  const Comparison* comparison, const std::string& method,
                                  const Training& training, const Training& of_baseline) {
  std::vector<std::string> notes;
  if (comparison != nullptr && comparison->moved_unequally()) notes.emplace_back(kUnequalMovement);
  if (method != model.baseline && !have_a_measure_in_common(training.movement, of_baseline.movement))
    notes.emplace_back("movement not comparable");
  if (training.images && of_baseline.images && *training.images != *of_baseline.images)
    notes.push_back(fmt::format("images {:.0f} and {:.0f}", *training.images, *of_baseline.images));
  if (auto note = clip_note(model, method); !note.empty()) notes.push_back(std::move(note));
  const auto ours = tuning_of(experiment, method), theirs = tuning_of(experiment, model.baseline);
  if (ours != theirs && method != model.baseline) {
    const auto text = [](const std::optional<std::int64_t>& runs) {
      return runs ? fmt::format("{}", *runs) : std::string("unknown");
    };
    notes.push_back(fmt::format("tuning runs {} and {}", text(ours), text(theirs)));
  }
  return notes;
}

/// All pairs of `rows` in the metric of selection, without the interval over prompts. Empty where the
/// leaderboard has no letters, or where a pair says nothing of methods: checkpoints that differ form no
/// groups.
std::vector<Comparison> row_pairs(ScoreReader& scores, const Experiment& experiment, const std::string& split,
                                  const std::vector<std::string>& rows) {
  const auto& spec = experiment.table;
  if (!spec.leaderboard || !spec.leaderboard->groups || !experiment.judges_methods()) return {};
  std::vector<Comparison> pairs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      pairs.push_back(compare_methods(scores, experiment, rows[i], rows[j], split, {spec.selection.metric},
                                      {.resamples = 0})
                          .front());
      if (claim_of(pairs.back().values) != Claim::kMethods) return {};
    }
  }
  return pairs;
}

/// What the letters of a leaderboard show, Holm over all pairs: no plan asks them, so that they are
/// exploratory. The interval over prompts is made where Holm leaves something for
/// it to decide.
std::vector<LeaderboardPair> judged_pairs(ScoreReader& scores, const Experiment& experiment,
                                          const std::string& split, const std::vector<std::string>& rows,
                                          double confidence) {
  auto compared = row_pairs(scores, experiment, split, rows);
  if (compared.empty()) return {};
  std::vector<std::optional<double>> p_values;
  for (const auto& pair : compared) p_values.push_back(p_value_of(pair.values));
  const auto adjusted = holm(p_values);
  std::vector<LeaderboardPair> pairs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) pairs.push_back({.first = i, .second = j});
  }
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    if (adjusted[at].value_or(1) >= 1 - confidence) continue;
    add_intervals(scores, experiment, compared[at]);
    pairs[at].differs = judge(compared[at].values, experiment.better(compared[at].metric),
                              {.confidence = confidence, .adjusted = AdjustedP{adjusted[at], pairs.size()}})
                            .differs;
  }
  return pairs;
}

/// Compares rows of a leaderboard with its baseline at equal evaluations.
class Comparer {
 public:
  /// metric: that of selection, or one that restates it. claims: a plan asks for the first view, so that
  /// variances between runs are raised here as there.
  Comparer(ScoreReader& scores, const Experiment& experiment, std::string split, std::string metric,
           bool claims)
      : scores_(scores),
        metric_(std::move(metric)),
        experiment_(experiment),
        split_(std::move(split)),
        checkpoints_(scores.checkpoints(experiment)) {
    if (experiment.table.has_second_view()) second_ = second_view(scores.store(), experiment, checkpoints_);
    for (const auto& [method, cut] : second_.cuts) {
      if (const auto values = compare(baseline(), method))
        seconds_.push_back({.metric = metric_, .baseline = baseline(), .method = method, .values = *values});
    }
    if (!claims) return;
    variances_ = RunVariances(seconds_);
    for (auto& second : seconds_) variances_.raise(second);
  }

  const SecondView& view() const { return second_; }

  /// Where it and the baseline are cut; null where they are not.
  const SecondView::Cut* cut(const std::string& method) const {
    const auto found = second_.cuts.find(method);
    return found == second_.cuts.end() ? nullptr : &found->second;
  }

  /// At equal evaluations, against the baseline; nothing unless every seed of both was tested there.
  std::optional<PairedComparison> second(const std::string& method) const {
    const auto* found = find_comparison(seconds_, baseline(), method, metric_);
    return found ? std::optional(found->values) : std::nullopt;
  }

  /// The same of two rows, one of which is the baseline.
  std::optional<PairedComparison> second(const std::string& first, const std::string& other) const {
    if (first == baseline()) return second(other);
    auto values = compare(first, other);
    if (!values) return values;
    Comparison comparison{.metric = metric_, .baseline = first, .method = other, .values = *values};
    variances_.raise(comparison);
    return comparison.values;
  }

  std::optional<double> second_mean(const std::string& method) {
    const auto* cut = second_cut(method);
    if (cut == nullptr) return std::nullopt;
    std::vector<std::optional<double>> means;
    for (const auto& checkpoint : cut->checkpoints) {
      if (checkpoint.method != method) continue;
      std::vector<std::optional<double>> values;
      for (const auto& value : scores_.values(checkpoint.evaluation_id, metric_))
        values.push_back(value.value);
      means.push_back(summarize(values).mean);
    }
    const auto summary = summarize(means);
    return summary.n_missing == 0 ? summary.mean : std::nullopt;
  }

 private:
  const std::string& baseline() const { return experiment_.effective.baseline; }

  std::optional<PairedComparison> compare(const std::string& first, const std::string& other) const {
    const auto* cut = second_cut(other == baseline() ? first : other);
    if (cut == nullptr) return std::nullopt;
    auto values = compare_paired(paired_values(scores_, cut->checkpoints, first, other, split_, metric_),
                                 experiment_.better(metric_), {.resamples = 0});
    values.judges_methods = experiment_.judges_methods();
    return values;
  }

  const SecondView::Cut* second_cut(const std::string& method) const {
    const auto* found = cut(method);
    if (found == nullptr) return nullptr;
    for (const auto& row : {method, baseline()}) {
      const auto is_of_row = [&](const auto& of) { return of.method == row; };
      const auto is_selected = [&](const auto& of) {
        return is_of_row(of) && of.split == split_ && of.selected;
      };
      if (std::ranges::count_if(found->checkpoints, is_of_row) !=
          std::ranges::count_if(checkpoints_, is_selected))
        return nullptr;
    }
    return found;
  }

  ScoreReader& scores_;
  std::string metric_;
  const Experiment& experiment_;
  std::string split_;
  const std::vector<EvaluatedCheckpoint>& checkpoints_;
  SecondView second_;
  std::vector<Comparison> seconds_;  ///< with the baseline
  RunVariances variances_;
};

}  // namespace

std::string leaderboard_split(ScoreReader& scores, const Experiment& experiment,
                              const Comparison& comparison) {
  Comparer compare(scores, experiment, comparison.split, comparison.metric,
                   !comparison.judgement.is_exploratory);
  return split_verdict({.method = comparison.method,
                        .at_images = comparison.values,
                        .judgement = comparison.judgement,
                        .at_evaluations = compare.second(comparison.baseline, comparison.method)},
                       experiment.better(comparison.metric));
}

std::optional<Leaderboard> leaderboard_of(ScoreReader& scores, const Experiment& experiment,
                                          const TableModel& model,
                                          const std::vector<Comparison>& comparisons) {
  const auto& spec = experiment.table;
  if (!spec.leaderboard) return std::nullopt;
  const auto& metric = spec.selection.metric;
  Leaderboard board{.metric = metric, .baseline = model.baseline, .better = experiment.better(metric)};
  Comparer compare(scores, experiment, model.split, metric, !model.families.methods.empty());
  if (spec.has_second_view()) {
    board.has_second_view = true;
    board.cut_too_early = compare.view().cut_too_early;
    board.second_tests = compare.view().tested_alone;
  }
  std::vector<LeaderboardEvidence> evidence;
  const auto rows = methods_of(model);
  const auto of_baseline = Training::of(scores.store(), experiment, model.baseline);
  for (const auto& row : rows) {
    const auto* cut = compare.cut(row);
    const auto* at_images = find_comparison(comparisons, model.baseline, row, metric);
    evidence.push_back(
        {.method = row,
         .mean = mean_of_row(model, row, metric),
         .at_images = at_images ? std::optional(at_images->values) : std::nullopt,
         .judgement = at_images ? at_images->judgement : Judgement(),
         .equal_evaluations = cut ? std::optional(cut->nfe_total) : std::nullopt,
         .spent_within = cut ? std::optional(cut->spent) : std::nullopt,
         .baseline_spent_within = cut ? std::optional(cut->spent_by_baseline) : std::nullopt,
         .at_evaluations_mean = compare.second_mean(row),
         .at_evaluations = compare.second(row),
         .worse_guardrails = guardrails_on("worse", experiment, model, comparisons, row, metric),
         .better_guardrails = guardrails_on("better", experiment, model, comparisons, row, metric),
         .notes = notes_of(experiment, model, at_images, row, Training::of(scores.store(), experiment, row),
                           of_baseline)});
  }
  return leaderboard(std::move(board), evidence,
                     judged_pairs(scores, experiment, model.split, rows, model.confidence));
}

}  // namespace harness

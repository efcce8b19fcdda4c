#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "core/score_limit.h"
#include "core/text.h"
#include "results/statistics/statistics.h"
#include "results/statistics/verdict.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"
#include "results/verdict/multiplicity.h"

namespace harness {
namespace {

using Notes = std::vector<std::string>;

std::string row_name(const TableModel& model, const TableRow& row) {
  const bool several = std::ranges::any_of(model.rows, [&](const TableRow& other) {
    return other.method == row.method && other.seed != row.seed;
  });
  const auto name = several && row.seed ? fmt::format("{} (seed {})", row.method, *row.seed) : row.method;
  return model.every_checkpoint ? fmt::format("{} at {}", name, row.checkpoint) : name;
}

/// Names of the rows for which `holds`, joined; empty if there is none.
template <class Predicate>
std::string names_where(const TableModel& model, Predicate holds) {
  std::vector<std::string> names;
  for (const auto& row : model.rows) {
    if (holds(row)) names.push_back(row_name(model, row));
  }
  return join(names, ", ");
}

void add_column_notes(const TableModel& model, Notes& notes) {
  for (const auto& column : model.columns) {
    if (!column.note.empty()) notes.push_back(fmt::format("{}: {}.", column.title, column.note));
  }
}

/// "0.05" for 95 % intervals.
std::string significance_text(const TableModel& model) {
  return fmt::format("{:g}", std::round(1e6 * (1 - model.confidence)) / 1e6);
}

/// Only what occurs is explained.
void add_emphasis_notes(const TableModel& model, Notes& notes) {
  bool bold = false, dagger = false;
  for (const auto& column : model.columns) {
    const auto best = best_of_column(model, column);
    bold = bold || (best && best->resolved);
    dagger = dagger || std::ranges::any_of(methods_of(model), [&](const std::string& method) {
               return differs_from_baseline(model, method, column);
             });
  }
  if (bold) {
    notes.push_back(fmt::format(
        "Bold: the best mean of its column, where its difference to {} is resolved (for {} itself: "
        "where every other method's is). It need not differ from the other methods.",
        model.baseline, model.baseline));
  }
  if (dagger) {
    notes.push_back(fmt::format(
        "{} The difference to {} is resolved: its {} % interval over training runs{}, and Holm's p "
        "is below {}.",
        kDiffersMark, model.baseline, format_percent(model.confidence),
        model.over_training ? " excludes 0" : " and prompts excludes 0, as does that over prompts alone",
        significance_text(model)));
  }
}

bool has_rates(const TableModel& model) {
  return std::ranges::any_of(model.comparisons, [](const TableComparison& comparison) {
    return comparison.values.test == "mcnemar-exact";
  });
}

/// "Holm's p, over the table's 8 differences (one that restates another counts once), is below 0.05".
std::string holm_text(const TableModel& model) {
  std::vector<TableQuestion> questions;
  for (const auto& c : model.comparisons) {
    if (const auto p_value = p_value_of(c.values))
      questions.push_back({c.baseline, c.method, c.metric, p_value, c.restates});
  }
  const auto count = family_size(questions);
  return fmt::format(
      "Holm's p, over {}{}, is below {}",
      count == 1 ? "the table's one difference" : fmt::format("all {} differences of the table", count),
      count < questions.size() ? " (one that restates another counts once)" : "", significance_text(model));
}

void add_pairing_note(const TableModel& model, Notes& notes) {
  notes.push_back(fmt::format(
      "Differences are method \u2212 baseline, paired by {}. W / T / L: {} that the method wins, ties, "
      "loses.{}",
      model.over_training ? "seed (same starting weights, prompts and noise)" : "prompt, sample and seed",
      model.over_training ? "seeds" : "pairs",
      std::ranges::any_of(model.comparisons,
                          [](const TableComparison& c) { return c.validation_delta.has_value(); })
          ? " \u0394 validation: the same checkpoints on the prompts that chose them."
          : ""));
}

/// The fewest and the most runs of the comparisons that make this claim.
PairedRuns runs_with(const TableModel& model, Claim claim) {
  TableModel part;
  std::ranges::copy_if(model.comparisons, std::back_inserter(part.comparisons),
                       [&](const TableComparison& comparison) { return comparison.claim == claim; });
  return paired_runs(part);
}

bool has_claim(const TableModel& model, Claim claim) {
  return std::ranges::count(model.comparisons, claim, &TableComparison::claim) > 0;
}

/// What the table can say of its methods, and by which interval.
void add_methods_note(const TableModel& model, Notes& notes) {
  if (!has_claim(model, Claim::kMethods)) return;
  const auto runs = runs_text(runs_with(model, Claim::kMethods));
  notes.push_back(fmt::format(
      "{}, {} runs a method. Better, worse: the interval excludes 0{}, and {}.",
      model.over_training ? "Intervals and p: over training runs (Student's t)"
                          : "Intervals and p: training runs and prompts both drawn (crossed analysis of "
                            "variance, `results/STATISTICS.md`)",
      runs, model.over_training ? "" : ", as does that over prompts alone", holm_text(model)));
}

/// What it can say of its checkpoints alone.
void add_checkpoints_note(const TableModel& model, Notes& notes) {
  if (!has_claim(model, Claim::kCheckpoints)) return;
  const auto runs = runs_with(model, Claim::kCheckpoints);
  const bool one = runs.most == 1;
  if (model.over_training) {
    notes.push_back(fmt::format(
        "{} training run{} a method (fewer than {}): differences are shown and not judged. A statement about "
        "methods needs at least {} runs (`--seeds 42,43,44`).",
        one ? "One" : runs_text(runs), one ? "" : "s", kFewestRuns, kFewestRuns));
    return;
  }
  notes.push_back(fmt::format(
      "{} training run{} a method (fewer than {}): {} are between these checkpoints, over {} (percentile "
      "bootstrap, {} resamples). They say nothing about the methods: {} may turn them round. A statement "
      "about methods needs at least {} runs (`--seeds 42,43,44`).",
      one ? "One" : runs_text(runs), one ? "" : "s", kFewestRuns,
      has_claim(model, Claim::kMethods) ? "such differences" : "differences",
      one ? "prompts" : "prompts, the runs pooled", model.resamples, one ? "another run" : "other runs",
      kFewestRuns));
  notes.push_back(fmt::format(
      "These checkpoints differ: the interval excludes 0, and {}. p: two-sided paired t{}{}; with few pairs "
      "it and the interval can disagree near {}.",
      holm_text(model), one ? "" : ", clustered by prompt",
      has_rates(model) ? ", for rates McNemar's exact test" : "", significance_text(model)));
}

/// Prompts that some run lacks: the interval over runs leaves them out, W / T / L does not.
void add_unbalanced_note(const TableModel& model, Notes& notes) {
  std::vector<std::string> found;
  for (const auto& c : model.comparisons) {
    if (c.claim != Claim::kMethods || !c.values.crossed || c.values.crossed->clusters_left_out == 0) continue;
    found.push_back(fmt::format("{} \u2212 {}: {} {}", c.method, c.baseline, c.metric,
                                c.values.crossed->clusters_left_out));
  }
  if (found.empty()) return;
  notes.push_back(fmt::format(
      "Prompts without a complete pair in every run, which the intervals over training runs leave out. {}.",
      join(found, ", ")));
}

/// Where a difference that is shown hangs on a few prompts.
void add_influence_note(const TableModel& model, Notes& notes) {
  std::vector<std::string> found;
  for (const auto& c : model.comparisons) {
    const auto few = few_that_carry(c.values);
    if (!c.differs || !few) continue;
    found.push_back(
        fmt::format("{} \u2212 {}, {}: {} of {}", c.method, c.baseline, c.metric, *few, c.values.clusters));
  }
  if (found.empty()) return;
  notes.push_back(
      fmt::format("A few prompts carry more than half of a difference: look at them before quoting it. {}.",
                  join(found, "; ")));
}

/// The smallest p-value that a rank test of this many units has; with few it can never be small.
double smallest_rank_p(std::int64_t units) {
  return std::exp2(1 - static_cast<double>(units));
}

/// Where a rank test over prompts comes to another conclusion than the t does.
void add_disagreement_note(const TableModel& model, Notes& notes) {
  std::vector<std::string> found;
  const double level = 1 - model.confidence;
  for (const auto& c : model.comparisons) {
    const auto tests = disagreement(c.values.tests, level);
    if (!tests.any() || smallest_rank_p(c.values.clusters) >= level) continue;
    std::vector<std::string> names;
    if (tests.wilcoxon) names.push_back(fmt::format("Wilcoxon {:.2g}", c.values.tests.wilcoxon->p_value));
    if (tests.sign) names.push_back(fmt::format("sign test {:.2g}", *c.values.tests.sign_p));
    found.push_back(fmt::format("{} \u2212 {}, {}: t {:.2g}, {}", c.method, c.baseline, c.metric,
                                c.values.tests.t->p_value, join(names, ", ")));
  }
  if (found.empty()) return;
  notes.push_back(fmt::format(
      "Tests over {} lie on both sides of p = {} (not adjusted), so a few large differences may decide. {}.",
      model.over_training ? "seeds" : "prompts", significance_text(model), join(found, "; ")));
}

/// Nobody shall quote a difference on the prompts that chose the checkpoints.
void add_choice_note(const TableModel& model, Notes& notes) {
  if (!model.chosen_on_split) return;
  notes.emplace_back(kChosenHere);
}

void add_movement_note(const TableModel& model, Notes& notes) {
  std::vector<std::string> pairs;
  for (const auto& comparison : model.comparisons) {
    auto pair = fmt::format("{} and {}", comparison.method, comparison.baseline);
    if (comparison.unequal_movement && std::ranges::find(pairs, pair) == pairs.end()) {
      pairs.push_back(std::move(pair));
    }
  }
  if (pairs.empty()) return;
  notes.push_back(
      fmt::format("{} Unequal movement: the mean lambda_center of {} differs by more than a factor of 3, so "
                  "the policies have "
                  "moved by different amounts.",
                  kUnequalMovementMark, join(pairs, "; ")));
}

void add_not_run_notes(const TableModel& model, Notes& notes) {
  for (const auto& [metric, reason] : model.not_run) {
    notes.push_back(fmt::format("{} {} was not run: {}.", kDash, metric, reason));
  }
}

/// Samples of a row that a metric has no value for because their prompt quotes no text.
std::int64_t without_target(const TableRow& row, const std::string& metric) {
  const auto found = row.without_target.find(metric);
  return found == row.without_target.end() ? 0 : found->second;
}

/// Pairs of a comparison whose prompt quotes no text: there was nothing to measure.
std::int64_t without_target(const TableModel& model, const TableComparison& comparison) {
  std::int64_t sum = 0;
  for (const auto& row : model.rows) {
    if (row.method == comparison.method && row.selected) sum += without_target(row, comparison.metric);
  }
  return sum;
}

/// One note for all comparisons: which pairs of methods lost how many pairs of images in which metrics.
void add_incomplete_pairs_note(const TableModel& model, Notes& notes) {
  std::vector<std::string> arms;
  std::map<std::string, std::vector<std::string>> losses;
  for (const auto& comparison : model.comparisons) {
    auto values = comparison.values;
    values.n_missing -= without_target(model, comparison);
    if (values.n_missing <= 0) continue;
    auto arm = fmt::format("{} \u2212 {}", comparison.method, comparison.baseline);
    if (!losses.contains(arm)) arms.push_back(arm);
    losses[arm].push_back(
        fmt::format("{} {} of {}", comparison.metric, values.n_missing, values.n + values.n_missing));
  }
  if (arms.empty()) return;
  for (auto& arm : arms) arm += ": " + join(losses[arm], ", ");
  notes.push_back(fmt::format("Pairs that lack a side and are left out. {}.", join(arms, "; ")));
}

/// Text metrics are of the prompts that quote a text, and of no other.
void add_target_note(const TableModel& model, Notes& notes) {
  for (const auto* rows : {&model.reference, &model.rows}) {
    for (const auto& row : *rows) {
      std::int64_t most = 0;
      for (const auto& [_, samples] : row.without_target) most = std::max(most, samples);
      if (most == 0) continue;
      notes.push_back(
          fmt::format("Text metrics are of the {} prompts that quote a text; the other {} have none "
                      "to read and are left out.",
                      row.n - most, most));
      return;
    }
  }
}

/// What is left out though it is no failure.
std::string beyond_text(std::int64_t values) {
  if (values == 0) return {};
  return fmt::format(" {} of them {} a number beyond {:g} either way, of which no spread can be computed.",
                     values, values == 1 ? "is" : "are each", kLargestScore);
}

void add_missing_notes(const TableModel& model, Notes& notes) {
  const auto add = [&](const TableRow& row) {
    std::vector<std::string> parts;
    std::int64_t beyond = 0;
    for (const auto& [metric, summary] : row.metrics) {
      beyond += summary.n_beyond;
      const auto failed = summary.n_missing - without_target(row, metric);
      if (failed <= 0) continue;
      parts.push_back(fmt::format("{} {} of {}", metric, failed, summary.n + failed));
    }
    if (parts.empty()) return;
    notes.push_back(
        fmt::format("Missing values of {}: {}. A scorer failed there; the reasons are in the DB.{}",
                    row_name(model, row), join(parts, ", "), beyond_text(beyond)));
  };
  for (const auto& row : model.reference) add(row);
  for (const auto& row : model.rows) add(row);
  add_target_note(model, notes);
}

/// The selected rows of a method.
std::vector<const TableRow*> selected_rows(const TableModel& model, const std::string& method) {
  std::vector<const TableRow*> rows;
  for (const auto& row : model.rows) {
    if (row.method == method && row.selected) rows.push_back(&row);
  }
  return rows;
}

/// Of the damping of lambda_controlled (E44), what the norm clip left.
void add_norm_clip_note(const TableModel& model, Notes& notes) {
  std::vector<std::string> parts;
  for (const auto& method : methods_of(model)) {
    std::int64_t damped = 0, undone = 0;
    for (const auto* row : selected_rows(model, method)) {
      damped += row->damped_updates;
      undone += row->undone_updates;
    }
    if (damped > 0) parts.push_back(fmt::format("of {} damped updates of {}, {}", damped, method, undone));
  }
  if (parts.empty()) return;
  notes.push_back(fmt::format("Norm clip: {} had the same length without the damping.", join(parts, "; ")));
}

/// A smaller lag than this is none that anybody would see.
constexpr double kSmallestLag = 0.5;  // updates

/// How old the evaluated weights are: the average of checkpoint 80 may be about the policy of update 42.
void add_lag_note(const TableModel& model, Notes& notes) {
  std::vector<std::string> parts;
  for (const auto& method : methods_of(model)) {
    std::vector<double> lags;
    std::optional<std::int64_t> seed;
    for (const auto* row : selected_rows(model, method)) {
      if (row->ema_lag.value_or(0) <= kSmallestLag) continue;
      lags.push_back(*row->ema_lag);
      seed = row->seed;
    }
    if (lags.empty()) continue;
    const auto [low, high] = std::ranges::minmax(lags);
    const auto first = fmt::format("{:.1f}", low), last = fmt::format("{:.1f}", high);
    const auto range = first == last ? first : fmt::format("{} to {}", first, last);
    const auto which = lags.size() > 1 ? fmt::format(" ({} seeds)", lags.size())
                       : seed          ? fmt::format(" (seed {})", *seed)
                                       : std::string();
    parts.push_back(fmt::format("{} {}{}", method, range, which));
  }
  if (parts.empty()) return;
  notes.push_back(
      fmt::format("The evaluated average lags the policy, in updates at the selected checkpoints: {}.",
                  join(parts, ", ")));
}

void add_training_notes(const TableModel& model, Notes& notes) {
  const auto peeked = names_where(model, [](const TableRow& row) { return row.peeked; });
  if (!peeked.empty()) {
    notes.push_back(
        fmt::format("{} Tested at a checkpoint that selection did not choose (--allow-test-peek): {}.",
                    kPeekMark, peeked));
  }
  const auto unclipped =
      names_where(model, [](const TableRow& row) { return row.never_clipped && row.selected; });
  if (!unclipped.empty()) {
    notes.push_back(fmt::format(
        "Never clipped: {} (no ratio left the clip range in any off-policy update of the run).", unclipped));
  }
  std::vector<std::string> shares;
  for (const auto& row : model.rows) {
    if (row.damp_share && row.selected) {
      shares.push_back(fmt::format("{} {:.1f} %", row_name(model, row), *row.damp_share * 100));
    }
  }
  if (!shares.empty()) {
    notes.push_back(fmt::format(
        "Damped (weight below 1), share of the off-policy pairs of shard and step: {}.", join(shares, ", ")));
  }
  add_norm_clip_note(model, notes);
  add_lag_note(model, notes);
}

/// How many of the printed figures ours come near to, a method.
void add_agreement_note(const TableModel& model, Notes& notes) {
  for (const auto& method : methods_of(model)) {
    const auto printed = paper_values(model, paper_row_of(model, method));
    int near = 0, same_order = 0, all = 0;
    for (const auto& column : model.columns) {
      const auto paper = printed.find(column.key);
      const auto ours = mean_over_seeds(model, method, column);
      if (paper == printed.end() || !ours || !column.stands_for.empty()) continue;
      ++all;
      const double distance = std::abs(std::log(*ours / paper->second));
      near += distance <= std::log(2.0) ? 1 : 0;
      same_order += distance <= std::log(10.0) ? 1 : 0;
    }
    if (all == 0) continue;
    notes.push_back(
        fmt::format("Against the print, {}: {} of {} figures within a factor of 2, {} within a factor of 10.",
                    method, near, all, same_order));
  }
}

/// Another metric in a column of the paper's: nobody shall take one for the other.
void add_stand_in_notes(const TableModel& model, Notes& notes) {
  for (const auto& column : model.columns) {
    if (column.stands_for.empty() || !column.std_of.empty()) continue;
    notes.push_back(fmt::format(
        "{} stands here in the place of the paper's {}: it is another scorer, and its numbers are "
        "not {}. The paper's figures beside it are its {}; the two are not comparable.",
        column.title, column.paper_metric, column.paper_metric, column.paper_metric));
  }
}

/// What a share of the budget is a share of.
void add_budget_note(const TableModel& model, Notes& notes) {
  const bool shown =
      std::ranges::any_of(model.columns, [](const TableColumn& column) { return column.key == "tau_share"; });
  const auto known =
      std::ranges::find_if(model.rows, [](const TableRow& row) { return row.tau.has_value(); });
  if (!shown || known == model.rows.end()) return;
  notes.push_back(fmt::format(
      "Share of tau: Lambda_late at that checkpoint over the late budget tau = {:.4g} (tau = -ln(q) "
      "over the number of late steps). A method without a budget of its own is held against the "
      "same one.",
      *known->tau));
}

void add_selected_note(const TableModel& model, Notes& notes) {
  if (!model.every_checkpoint) return;
  notes.push_back(
      fmt::format("{} The checkpoint of its run that selection chose; differences and the best of a "
                  "column are of these alone.",
                  kSelectedMark));
}

void add_paper_note(const TableModel& model, Notes& notes) {
  const bool has_paper_row =
      model.paper && std::ranges::any_of(methods_of(model), [&](const std::string& method) {
        return paper_row_of(model, method) != nullptr;
      });
  if (!model.backbone_note.empty()) {
    notes.push_back(fmt::format(
        "{}{}.", model.backbone_note,
        has_paper_row ? "; the paper's rows are for orientation, and levels do not compare" : ""));
  }
  if (has_paper_row && model.paper->task == "ocr") {
    notes.emplace_back(
        "The paper reads text with PaddleOCR, and here Tesseract reads it; training prompts are this "
        "project's own unless others were given: compare differences between methods, not levels.");
  }
  if (has_paper_row && model.levels_compare) add_agreement_note(model, notes);
  if (has_paper_row) {
    notes.push_back(fmt::format("\u21b3 paper: as printed in \"{}\" ({}, {}).", model.paper->paper,
                                model.paper->label, model.paper->backbone));
  }
}

}  // namespace

std::vector<std::string> result_notes(const TableModel& model) {
  Notes notes;
  add_paper_note(model, notes);
  add_stand_in_notes(model, notes);
  add_selected_note(model, notes);
  add_column_notes(model, notes);
  add_budget_note(model, notes);
  add_emphasis_notes(model, notes);
  add_not_run_notes(model, notes);
  add_missing_notes(model, notes);
  add_training_notes(model, notes);
  notes.insert(notes.end(), model.notes.begin(), model.notes.end());
  return notes;
}

std::vector<std::string> difference_notes(const TableModel& model) {
  Notes notes;
  if (model.comparisons.empty()) return notes;
  add_choice_note(model, notes);
  add_pairing_note(model, notes);
  add_methods_note(model, notes);
  add_checkpoints_note(model, notes);
  std::ranges::move(noise_notes(model), std::back_inserter(notes));
  add_unbalanced_note(model, notes);
  add_influence_note(model, notes);
  add_disagreement_note(model, notes);
  add_movement_note(model, notes);
  add_incomplete_pairs_note(model, notes);
  return notes;
}

std::vector<std::string> table_notes(const TableModel& model) {
  auto notes = result_notes(model);
  auto differences = difference_notes(model);
  std::ranges::move(differences, std::back_inserter(notes));
  return notes;
}

}  // namespace harness

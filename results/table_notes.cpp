#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "core/score_limit.h"
#include "core/text.h"
#include "results/table_format.h"
#include "results/table_view.h"
#include "results/verdict.h"

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

void add_emphasis_notes(const TableModel& model, Notes& notes) {
  bool bold = false, dagger = false;
  for (const auto& column : model.columns) {
    if (const auto best = best_of_column(model, column)) (best->resolved ? bold : dagger) = true;
  }
  const auto level = format_percent(model.confidence);
  if (bold) {
    notes.push_back(
        fmt::format("Bold: best of the methods in its column, and its difference to {} is resolved (the {} % "
                    "interval excludes 0, and Holm's p is below {}; for {} itself: every other method's is).",
                    model.baseline, level, significance_text(model), model.baseline));
  }
  if (dagger) {
    notes.push_back(fmt::format(
        "{} Best of its column, but its difference to {} is not resolved (for {} itself: some other "
        "method's is not).",
        kUnresolvedMark, model.baseline, model.baseline));
  }
}

bool has_rates(const TableModel& model) {
  return std::ranges::any_of(model.comparisons, [](const TableComparison& comparison) {
    return comparison.values.test == "mcnemar-exact";
  });
}

std::string resolution_text(const TableModel& model) {
  return fmt::format(
      "Holm: p adjusted over the metrics shown of the two, one that restates another counted once. Better, "
      "worse: resolved, the interval excludes 0 and Holm's p is below {}.",
      significance_text(model));
}

void add_interval_note(const TableModel& model, Notes& notes) {
  if (model.comparisons.empty()) return;
  std::set<std::int64_t> seeds;
  for (const auto& row : model.rows) {
    if (row.seed) seeds.insert(*row.seed);
  }
  if (model.over_training) {
    notes.push_back(
        fmt::format("Differences are method \u2212 baseline, paired by seed (same starting weights, prompts "
                    "and noise), {}. "
                    "Intervals: percentile bootstrap over seeds, {} resamples; with few seeds they are "
                    "narrow. W / T / L: seeds on "
                    "which the method is better, equal, worse. p: two-sided paired t. {}",
                    seeds.size() == 1 ? "one seed" : fmt::format("{} seeds", seeds.size()), model.resamples,
                    resolution_text(model)));
    return;
  }
  const auto scope = seeds.size() > 1
                         ? fmt::format("over prompts, {} training runs a method pooled", seeds.size())
                         : std::string(
                               "over prompts, one training run a method: they say nothing about the "
                               "spread between training runs");
  notes.push_back(fmt::format(
      "Differences are method \u2212 baseline, paired by prompt, sample and seed. Intervals: percentile "
      "bootstrap, {} "
      "resamples, {}. W / T / L: pairs in which the method is better, equal, worse. p: two-sided paired "
      "t{}{}; "
      "with few "
      "pairs it and the interval can disagree near 0.05. {}",
      model.resamples, scope, seeds.size() > 1 ? ", clustered by prompt" : "",
      has_rates(model) ? ", for rates McNemar's exact test" : "", resolution_text(model)));
}

/// What several training runs say about runs that were not made.
void add_seeds_note(const TableModel& model, Notes& notes) {
  std::int64_t seeds = 0;
  bool only_these = false;
  for (const auto& comparison : model.comparisons) {
    if (comparison.values.ci_seeds) seeds = std::max(seeds, comparison.values.seeds);
    only_these = only_these || (comparison.resolved && only_for_these_runs(comparison.values));
  }
  if (seeds == 0) return;
  auto note = fmt::format(
      "Seeds drawn too: the interval with training runs and prompts both drawn (percentile); with {} seeds a "
      "rough guide.",
      seeds);
  if (only_these) {
    note += fmt::format(
        " On these {} runs: resolved on these training runs, not where runs are drawn too, as that interval "
        "includes 0.",
        seeds);
  }
  notes.push_back(std::move(note));
}

/// Nobody shall quote a difference on the prompts that chose the checkpoints.
void add_choice_note(const TableModel& model, Notes& notes) {
  if (!model.chosen_on_split || model.comparisons.empty()) return;
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

bool is_text_metric(const std::string& metric) {
  static const std::set<std::string> names = {"ocr_reward", "cer", "cer_paper", "exact_match",
                                              "substring_match"};
  return names.contains(metric);
}

/// Pairs of a comparison whose prompt quotes no text: there was nothing to measure.
std::int64_t without_target(const TableModel& model, const TableComparison& comparison) {
  std::int64_t sum = 0;
  for (const auto& row : model.rows) {
    if (row.method == comparison.method && row.selected) sum += row.without_target;
  }
  return sum;
}

/// One note for all comparisons: which pairs of methods lost how many pairs of images in which metrics.
void add_incomplete_pairs_note(const TableModel& model, Notes& notes) {
  std::vector<std::string> arms;
  std::map<std::string, std::vector<std::string>> losses;
  for (const auto& comparison : model.comparisons) {
    auto values = comparison.values;
    if (is_text_metric(comparison.metric)) values.n_missing -= without_target(model, comparison);
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
      if (row.without_target == 0) continue;
      notes.push_back(
          fmt::format("Text metrics are of the {} prompts that quote a text; the other {} have none "
                      "to read and are left out.",
                      row.n - row.without_target, row.without_target));
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
      const auto failed = summary.n_missing - (is_text_metric(metric) ? row.without_target : 0);
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
    notes.push_back(fmt::format("Share of trained steps with damp weight below 1: {}.", join(shares, ", ")));
  }
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
  if (model.backbone == "glyph") {
    notes.push_back(fmt::format(
        "These are the embedded glyph backbone's numbers, not SD3.5's{}.",
        has_paper_row ? "; the paper's rows stand here for orientation, and levels do not compare" : ""));
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
  add_choice_note(model, notes);
  add_interval_note(model, notes);
  add_seeds_note(model, notes);
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

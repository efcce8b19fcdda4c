#include <fmt/format.h>

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

// A function that has nothing to say gives an empty text, or none.

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

/// The items between `before` and `after`.
std::string listed(const std::string& before, const Notes& items, const char* separator = ", ",
                   const char* after = ".") {
  return items.empty() ? "" : before + join(items, separator) + after;
}

std::string arm_of(const TableComparison& c) {
  return fmt::format("{} \u2212 {}", c.method, c.baseline);
}

Notes column_notes(const TableModel& model) {
  return texts_of(model.columns, [&](const TableColumn& column) {
    const bool is_hidden =
        !model.show.with_restated && model.show.columns.empty() && is_restated(model, column);
    return column.note.empty() || is_hidden ? "" : fmt::format("{}: {}.", column.title, column.note);
  });
}

/// Only what occurs is explained.
Notes emphasis_notes(const TableModel& model) {
  Notes notes;
  const bool bold = std::ranges::any_of(model.columns, [&](const TableColumn& column) {
    const auto best = best_of_column(model, column);
    return best && best->resolved;
  });
  if (bold) {
    notes.push_back(fmt::format(
        "Bold: best mean of its column, where its difference to {} is resolved (if {} is best, those of all "
        "other methods to it). It need not differ from the other methods.",
        model.baseline, model.baseline));
  }
  const auto methods = methods_of(model);
  const bool dagger = std::ranges::any_of(model.columns, [&](const TableColumn& column) {
    return std::ranges::any_of(
        methods, [&](const std::string& method) { return differs_from_baseline(model, method, column); });
  });
  if (dagger) {
    notes.push_back(fmt::format(
        "{} The difference to {} is resolved: its {} % interval over training runs{}, and Holm's p is below {}.",
        kDiffersMark, model.baseline, format_percent(model.confidence),
        model.over_training ? " excludes 0" : " and prompts excludes 0, as does the one over prompts alone",
        format_significance(model.confidence)));
  }
  return notes;
}

/// "Holm's p, over the table's 8 differences (one that restates another counts once), is below 0.05"
std::string holm_text(const TableModel& model) {
  auto questions = model.family.empty() ? questions_of(model.comparisons) : model.family;
  std::erase_if(questions, [](const TableQuestion& question) { return !question.p_value; });
  const auto count = family_size(questions);
  return fmt::format(
      "Holm's p, over {}{}, is below {}",
      count == 1 ? "the table's one difference" : fmt::format("all {} differences of the table", count),
      count < questions.size() ? " (one that restates another counts once)" : "",
      format_significance(model.confidence));
}

std::string pairing_note(const TableModel& model) {
  const bool validated = std::ranges::any_of(
      model.comparisons, [](const TableComparison& c) { return c.validation_delta.has_value(); });
  return fmt::format(
      "Differences are method \u2212 baseline, paired by {}. W / T / L: {} that the method won, tied and "
      "lost.{}",
      model.over_training      ? "seed (same starting weights, prompts and noise)"
      : model.images_are_given ? "prompt and sample"
                               : "prompt, sample and seed",
      model.over_training ? "seeds"
      : model.images_are_given
          ? "prompts (each by its mean, as no image or run of one row belongs to one of another)"
          : "pairs",
      validated ? " \u0394 validation: the same checkpoints on the prompts that selected them." : "");
}

/// Which of the differences the leaderboard judges.
std::string board_text(const TableModel& model) {
  if (!model.leaderboard) return {};
  return fmt::format(" Those to {} in {} are the leaderboard's, with its p and its verdict.",
                     model.leaderboard->baseline, column_of(model, model.leaderboard->metric).title);
}

/// What the table can say of its methods, and by which interval.
Notes methods_notes(const TableModel& model) {
  if (!has_claim(model, Claim::kMethods)) return {};
  const auto runs = runs_text(paired_runs(model, Claim::kMethods));
  const bool has_few = std::ranges::any_of(model.comparisons, [](const TableComparison& c) {
    return c.claim == Claim::kMethods && !c.values.crossed->of_runs_alone &&
           c.values.crossed->clusters < kFewestPrompts;
  });
  return {
      model.over_training
          ? fmt::format("Intervals and p: over training runs (Student's t), {} runs per method.", runs)
          : fmt::format("Intervals and p: over training runs and prompts (crossed analysis of variance{}), "
                        "{} runs per method.",
                        for_operator(", `results/STATISTICS.md`"), runs),
      fmt::format(
          "{} mean: the interval excludes 0{}, and {}.{}{}",
          model.leaderboard ? "Among the differences \"better\" and \"worse\"" : "\"Better\" and \"worse\"",
          model.over_training ? "" : ", as does the one over prompts alone", holm_text(model),
          board_text(model),
          has_few ? fmt::format(" Over fewer than {} prompts a difference is not resolved, whatever it is.",
                                kFewestPrompts)
                  : std::string())};
}

/// What it can say of its checkpoints alone.
Notes checkpoints_notes(const TableModel& model) {
  if (!has_claim(model, Claim::kCheckpoints)) return {};
  const auto runs = paired_runs(model, Claim::kCheckpoints);
  const bool one = runs.most == 1;
  const auto head =
      fmt::format("{} training run{} per method{}", one ? "One" : runs_text(runs), one ? "" : "s",
                  model.images_are_given ? " (each given folder counts as one)" : "");
  const auto need = model.scale_warning.empty()
                        ? for_operator(fmt::format(" Statements about methods need at least {} runs (`{}`).",
                                                   kFewestRuns, model.more_runs))
                        : fmt::format(" Scale {} allows no statement about methods.", model.scale);
  if (model.over_training) return {fmt::format("{}: differences are shown, not judged.{}", head, need)};
  const bool has_rates = std::ranges::any_of(
      model.comparisons, [](const TableComparison& c) { return c.values.test == "mcnemar-exact"; });
  return {
      in_its_words(
          model,
          fmt::format("{}: {} are between these checkpoints and say nothing about the methods.{}", head,
                      has_claim(model, Claim::kMethods) ? "such differences" : "differences", need)),
      fmt::format("Intervals: over {} (percentile bootstrap, {} resamples). p: two-sided paired t{}{}.",
                  one ? "prompts" : "prompts, runs pooled", model.resamples,
                  one ? "" : ", clustered by prompt", has_rates ? "; for rates McNemar's exact test" : ""),
      in_its_words(model, fmt::format("\"These checkpoints differ\" means: the interval excludes 0, and {}.",
                                      holm_text(model)))};
}

/// Prompts that some run lacks: the interval over runs leaves them out, W / T / L does not.
std::string unbalanced_note(const TableModel& model) {
  const auto found = texts_of(model.comparisons, [&](const TableComparison& c) -> std::string {
    const auto left_out = c.values.crossed ? c.values.crossed->clusters_left_out : 0;
    if (c.claim != Claim::kMethods || left_out == 0) return {};
    return fmt::format("{}: {} {}", arm_of(c), column_of(model, c.metric).title, left_out);
  });
  return listed(
      "Prompts without a complete pair in every run, left out of the intervals over training runs. ", found);
}

/// Where a difference that is shown hangs on a few prompts.
std::string influence_note(const TableModel& model) {
  const auto found = texts_of(model.comparisons, [&](const TableComparison& c) -> std::string {
    const auto few = few_that_carry(c.values);
    if (!c.differs || !few || !c.restates.empty()) return {};
    return fmt::format("{}, {}: {} of {}", arm_of(c), column_of(model, c.metric).title, *few,
                       c.values.clusters);
  });
  return listed("A few prompts carry more than half of a difference. ", found, "; ");
}

/// Where a rank test over prompts comes to another conclusion than the t does.
std::string disagreement_note(const TableModel& model) {
  const double level = 1 - model.confidence;
  const auto found = texts_of(model.comparisons, [&](const TableComparison& c) -> std::string {
    const auto& tests = c.values.tests;
    const auto differ = disagreement(tests, level);
    // With few units no rank test has a small p.
    const double smallest_rank_p = std::exp2(1 - static_cast<double>(c.values.clusters));
    if (!differ.any() || smallest_rank_p >= level || !c.restates.empty()) return {};
    return fmt::format("{}, {}: t {:.2g}{}{}", arm_of(c), column_of(model, c.metric).title, tests.t->p_value,
                       differ.wilcoxon ? fmt::format(", Wilcoxon {:.2g}", tests.wilcoxon->p_value) : "",
                       differ.sign ? fmt::format(", sign test {:.2g}", *tests.sign_p) : "");
  });
  const auto head =
      fmt::format("Tests over {} disagree at p = {} (not adjusted): a few large differences may decide. ",
                  model.over_training ? "seeds" : "prompts", format_significance(model.confidence));
  return listed(head, found, "; ");
}

std::string movement_note(const TableModel& model) {
  const auto pairs = distinct_of(model.comparisons, [](const TableComparison& c) {
    return c.unequal_movement ? fmt::format("{} and {}", c.method, c.baseline) : "";
  });
  const bool all_have_steps = std::ranges::all_of(model.rows, &TableRow::has_steps);
  const char* other = all_have_steps ? "" : " (of methods without recorded steps mean ||v \u2212 v_ref||^2)";
  return listed(fmt::format("{} Unequal movement: the mean lambda_center{} of ", kUnequalMovementMark, other),
                pairs, "; ",
                " differs by more than a factor of 3, so the policies have moved by different amounts.");
}

/// Samples of a row that a metric has no value for because their prompt quotes no text.
std::int64_t without_target(const TableRow& row, const std::string& metric) {
  const auto found = row.without_target.find(metric);
  return found == row.without_target.end() ? 0 : found->second;
}

/// Of the pairs of a comparison that lack a side, those whose prompt quotes a text: something is missing
/// there.
std::int64_t pairs_missing(const TableModel& model, const TableComparison& comparison) {
  auto missing = comparison.values.n_missing;
  for (const auto& row : model.rows) {
    if (row.method == comparison.method && row.selected) missing -= without_target(row, comparison.metric);
  }
  return missing;
}

/// One note for all comparisons: which pairs of methods lost how many pairs of images in which metrics.
std::string incomplete_pairs_note(const TableModel& model) {
  std::vector<TableComparison> incomplete;
  std::ranges::copy_if(model.comparisons, std::back_inserter(incomplete),
                       [&](const TableComparison& c) { return pairs_missing(model, c) > 0; });
  auto arms = distinct_of(incomplete, arm_of);
  for (auto& arm : arms) {
    const auto losses = texts_of(incomplete, [&](const TableComparison& c) {
      const auto missing = pairs_missing(model, c);
      return arm_of(c) == arm ? fmt::format("{} {} of {}", c.metric, missing, c.values.n + missing) : "";
    });
    arm += ": " + join(losses, ", ");
  }
  return listed("Incomplete pairs, left out. ", arms, "; ");
}

/// What is left out though it is no failure.
std::string beyond_text(std::int64_t values) {
  if (values == 0) return {};
  return fmt::format(" {} of them {} beyond \u00b1{:g}: no standard deviation can be computed.", values,
                     values == 1 ? "is" : "are", kLargestScore);
}

std::string missing_note(const TableModel& model, const TableRow& row) {
  std::vector<std::string> parts;
  std::int64_t beyond = 0;
  for (const auto& [metric, summary] : row.metrics) {
    beyond += summary.n_beyond;
    const auto failed = missing_values(row, metric);
    if (failed > 0)
      parts.push_back(
          fmt::format("{} {} of {} (mean over {})", metric, failed, summary.n + failed, summary.n));
  }
  if (parts.empty()) return {};
  return fmt::format(
      "{} Missing values of {}: {}. {}{}.{}", kIncompleteMark, row_name(model, row), join(parts, ", "),
      model.images_are_given ? "There was no image, or a scorer failed" : "A scorer failed there",
      for_operator("; reasons: `harness query failures`"), beyond_text(beyond));
}

/// Text metrics are of the prompts that quote a text, and of no other.
std::string target_note(const TableRow& row) {
  std::int64_t most = 0;
  for (const auto& [_, samples] : row.without_target) most = std::max(most, samples);
  if (most == 0) return {};
  return fmt::format("Text metrics: over the {} prompts that quote a text; the other {} quote none.",
                     row.n - most, most);
}

Notes missing_notes(const TableModel& model) {
  auto rows = model.reference;
  rows.insert(rows.end(), model.rows.begin(), model.rows.end());
  auto notes = texts_of(rows, [&](const TableRow& row) { return missing_note(model, row); });
  if (const auto targets = texts_of(rows, target_note); !targets.empty()) notes.push_back(targets.front());
  return notes;
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
std::string norm_clip_note(const TableModel& model) {
  const auto parts = texts_of(methods_of(model), [&](const std::string& method) {
    std::int64_t damped = 0, undone = 0;
    for (const auto* row : selected_rows(model, method)) {
      damped += row->damped_updates;
      undone += row->undone_updates;
    }
    return damped > 0 ? fmt::format("{} of {} damped updates of {}", undone, damped, method) : "";
  });
  return listed("Gradient clipping: ", parts, "; ", " had the same length as without damping.");
}

/// How old the evaluated weights are: the average of checkpoint 80 may be about the policy of update 42.
std::string lag_note(const TableModel& model) {
  constexpr double kSmallestLag = 0.5;  // updates; nobody would see a smaller one
  const auto parts = texts_of(methods_of(model), [&](const std::string& method) -> std::string {
    std::vector<double> lags;
    std::optional<std::int64_t> seed;
    for (const auto* row : selected_rows(model, method)) {
      if (row->ema_lag.value_or(0) <= kSmallestLag) continue;
      lags.push_back(*row->ema_lag);
      seed = row->seed;
    }
    if (lags.empty()) return {};
    const auto [low, high] = std::ranges::minmax(lags);
    const auto first = fmt::format("{:.1f}", low), last = fmt::format("{:.1f}", high);
    return fmt::format("{} {}{}{}", method, first, first == last ? "" : " to " + last,
                       lags.size() > 1 ? fmt::format(" ({} seeds)", lags.size())
                       : seed          ? fmt::format(" (seed {})", *seed)
                                       : "");
  });
  const auto note = listed(
      "Lag of the evaluated EMA weights behind the policy at the selected checkpoints, in updates: ", parts);
  return note.empty() ? note : for_operator(note);
}

/// "0.2", "3.9 to 4.6 (3 runs)".
std::string range_text(const std::vector<double>& values) {
  const auto [low, high] = std::ranges::minmax(values);
  const auto first = fmt::format("{:.1f}", low), last = fmt::format("{:.1f}", high);
  return first + (first == last ? "" : " to " + last) + " %" +
         (values.size() > 1 ? fmt::format(" ({} runs)", values.size()) : "");
}

std::string damping_note(const TableModel& model) {
  const auto parts = texts_of(methods_of(model), [&](const std::string& method) -> std::string {
    std::vector<double> shares;
    for (const auto* row : selected_rows(model, method)) {
      if (row->damp_share) shares.push_back(*row->damp_share * 100);
    }
    return shares.empty() ? "" : method + " " + range_text(shares);
  });
  return listed("Share of off-policy steps damped (weight below 1), by shard: ", parts);
}

/// By method: "dual", or "dual in 2 of 8 runs".
std::vector<std::string> never_clipped(const TableModel& model) {
  return texts_of(methods_of(model), [&](const std::string& method) -> std::string {
    const auto runs = selected_rows(model, method);
    const auto those = std::ranges::count_if(runs, [](const TableRow* row) { return row->never_clipped; });
    if (those == 0) return {};
    return those == std::ssize(runs) ? method
                                     : fmt::format("{} in {} of {} runs", method, those, runs.size());
  });
}

Notes training_notes(const TableModel& model) {
  return {listed("Never clipped: ", never_clipped(model), ", ",
                 " (no ratio left the clip range in any off-policy update of the run)."),
          damping_note(model), norm_clip_note(model), lag_note(model)};
}

/// That rows are means over runs.
std::string pooled_note(const TableModel& model) {
  if (!is_pooled(model)) return {};
  return fmt::format("\u00b1: standard deviation over training runs{}.{}",
                     model.reference.empty() ? "" : "; for the starting weights, over the noise of each seed",
                     for_operator(" One row per run: --per-seed."));
}

/// How many of the printed figures ours come near to, a method.
std::string agreement_note(const TableModel& model, const std::string& method) {
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
  if (all == 0) return {};
  return fmt::format(
      "Agreement with the paper, {}: {} of {} figures within a factor of 2, {} within a factor of 10.",
      method, near, all, same_order);
}

/// Another metric in a column of the paper's: nobody shall take one for the other.
std::string stand_in_note(const TableColumn& column) {
  if (column.stands_for.empty() || !column.std_of.empty()) return {};
  return fmt::format(
      "{0} replaces the paper's {1} here. It is a different scorer: its numbers do not compare with the "
      "paper's {1}, which is printed beside it.",
      column.title, column.paper_metric);
}

/// Methods whose training recorded no steps, with what stands in the place of Lambda_late.
std::string no_steps_note(const TableModel& model) {
  std::map<std::string, std::vector<std::optional<double>>> movements;
  for (const auto& row : model.rows) {
    if (!row.has_steps && row.selected) movements[row.method].push_back(row.velocity_movement);
  }
  Notes methods;
  for (const auto& method : methods_of(model)) {
    const auto found = movements.find(method);
    if (found == movements.end()) continue;
    const auto mean = summarize(found->second).mean;
    methods.push_back(mean ? fmt::format("{} {:.3g}", method, *mean) : method);
  }
  return listed(
      "No recorded steps (trained on the forward process), so no Lambda_late and no law audit; mean "
      "||v \u2212 v_ref||^2 at the checkpoint in its place: ",
      methods);
}

/// What a share of the budget is a share of.
std::string budget_note(const TableModel& model) {
  const bool is_shown = std::ranges::count(model.columns, "tau_share", &TableColumn::key) > 0;
  const auto known =
      std::ranges::find_if(model.rows, [](const TableRow& row) { return row.tau.has_value(); });
  if (!is_shown || known == model.rows.end()) return {};
  return fmt::format(
      "Share of tau: Lambda_late at that checkpoint divided by the late budget tau = {:.4g} (-ln(q) / number "
      "of late steps), for methods without a budget too.",
      *known->tau);
}

std::string selected_note(const TableModel& model) {
  if (!model.every_checkpoint) return {};
  return fmt::format("{} Selected checkpoint of its run. Differences and bold concern only these.",
                     kSelectedMark);
}

Notes paper_notes(const TableModel& model) {
  Notes notes;
  const auto methods = methods_of(model);
  const bool has_paper_row = std::ranges::any_of(
      methods, [&](const std::string& method) { return paper_row_of(model, method) != nullptr; });
  if (!model.backbone_note.empty()) {
    notes.push_back(fmt::format("{}{}.", model.backbone_note,
                                has_paper_row ? "; levels do not compare with the paper's" : ""));
  }
  if (!has_paper_row) return notes;
  if (model.paper->task == "ocr") {
    notes.emplace_back(
        "The paper reads text with PaddleOCR, this table with Tesseract; training prompts are this project's "
        "own unless given. Compare differences between methods, not levels.");
  }
  if (model.levels_compare) {
    for (const auto& method : methods) notes.push_back(agreement_note(model, method));
  }
  notes.push_back(fmt::format("\u21b3 paper: as printed in \"{}\" ({}, {}).", model.paper->paper,
                              model.paper->label, model.paper->backbone));
  return notes;
}

Notes noted(const std::vector<Notes>& parts) {
  Notes notes;
  for (const auto& part : parts)
    std::ranges::move(texts_of(part, std::identity()), std::back_inserter(notes));
  return notes;
}

/// What is said of every part once, of the others with their task.
Notes of_parts(const TableModel& model, Notes (*notes_of)(const TableModel&)) {
  std::vector<Notes> all;
  for (const auto& part : model.parts) all.push_back(notes_of(part));
  const auto is_of_all = [&](const std::string& note) {
    return std::ranges::all_of(all, [&](const Notes& notes) { return std::ranges::count(notes, note) > 0; });
  };
  Notes shared, single;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const auto& note : all[i]) {
      if (!is_of_all(note)) {
        single.push_back(fmt::format("{}: {}", model.parts[i].task, note));
      } else if (i == 0) {
        shared.push_back(note);
      }
    }
  }
  return noted({shared, single});
}

/// What a heading stands for, where that is something else in each part.
Notes heading_notes(const TableModel& model) {
  Notes notes;
  for (std::size_t i = 0; i < model.columns.size(); ++i) {
    const auto titles =
        texts_of(model.parts, [&](const TableModel& part) { return title_of(part.columns.at(i)); });
    if (std::ranges::count(titles, titles.front()) == std::ssize(titles)) continue;
    std::size_t next = 0;
    const auto each = texts_of(model.parts, [&](const TableModel& part) {
      return fmt::format("{} for {}", titles[next++], part.task);
    });
    notes.push_back(fmt::format("{}: {}.", model.columns[i].title, join(each, ", ")));
  }
  return notes;
}

}  // namespace

std::vector<std::string> result_notes(const TableModel& model) {
  if (!model.parts.empty()) return noted({of_parts(model, result_notes), heading_notes(model), model.notes});
  const auto not_run = texts_of(model.not_run, [](const auto& entry) {
    return for_operator(fmt::format("{} {} was not run: {}.", kDash, entry.first, entry.second));
  });
  return noted({paper_notes(model),
                texts_of(model.columns, stand_in_note),
                {selected_note(model)},
                column_notes(model),
                {by_tag_note(model), budget_note(model), no_steps_note(model), pooled_note(model)},
                emphasis_notes(model),
                not_run,
                missing_notes(model),
                training_notes(model),
                model.notes,
                {model.fuller_note}});
}

std::vector<std::string> general_difference_notes(const TableModel& model) {
  if (!model.parts.empty()) return of_parts(model, general_difference_notes);
  if (model.comparisons.empty()) return {};
  // Where the results above say so, it is not said again.
  const bool has_results = model.show.parts.empty() || std::ranges::count(model.show.parts, "results") > 0;
  return noted({{has_results ? "" : model.fuller_note},
                {model.chosen_on_split ? kChosenHere : "", pairing_note(model)},
                methods_notes(model),
                checkpoints_notes(model),
                noise_notes(model)});
}

std::vector<std::string> row_notes(const TableModel& model) {
  if (!model.parts.empty()) return of_parts(model, row_notes);
  return noted({{unbalanced_note(model), influence_note(model), disagreement_note(model),
                 movement_note(model), incomplete_pairs_note(model)}});
}

std::vector<std::string> difference_notes(const TableModel& model) {
  return noted({general_difference_notes(model), row_notes(model)});
}

}  // namespace harness

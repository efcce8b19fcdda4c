#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "results/statistics/statistics.h"
#include "results/statistics/verdict.h"
#include "results/statistics/verdict_words.h"
#include "results/table/table_format.h"
#include "results/table/table_notes.h"
#include "results/table/table_view.h"
#include "results/verdict/multiplicity.h"

namespace harness {
namespace {

std::string arm_of(const Comparison& c) {
  return fmt::format("{} \u2212 {}", c.method, c.baseline);
}

/// "Holm's p, over the table's 8 differences (one that restates another counts once), is below 0.05"
std::string holm_text(const TableModel& model) {
  const auto count = model.family.size();
  const auto with_p = std::ranges::count_if(
      model.family.questions(), [](const TableQuestion& question) { return question.p_value.has_value(); });
  return fmt::format(
      "Holm's p, over {}{}, is below {}",
      count == 1 ? "the table's one difference" : fmt::format("all {} differences of the table", count),
      static_cast<std::ptrdiff_t>(count) < with_p ? " (one that restates another counts once)" : "",
      format_significance(model.confidence));
}

std::string pairing_note(const TableModel& model) {
  const bool validated = std::ranges::any_of(
      model.comparisons, [](const Comparison& c) { return c.validation_delta.has_value(); });
  return fmt::format(
      "Differences are method \u2212 baseline, paired by {}. W / T / L: {} that the method won, tied and "
      "lost.{}",
      model.over_training      ? "seed (same base model, prompts and noise)"
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
std::string methods_note(const TableModel& model) {
  if (!has_claim(model, Claim::kMethods)) return {};
  const auto runs = runs_text(paired_runs(model, Claim::kMethods));
  const bool has_few = std::ranges::any_of(model.comparisons, [](const Comparison& c) {
    return c.judgement.of_methods() && !c.values.crossed->of_runs_alone &&
           c.values.crossed->clusters < kFewestPrompts;
  });
  return fmt::format(
      "Intervals and p: over training runs{}, {} runs per method. {} mean: the interval excludes 0{}, and "
      "{}.{}{}",
      model.over_training ? " (Student's t)" : " and prompts (crossed analysis of variance)", runs,
      model.leaderboard ? "Among the differences \"better\" and \"worse\"" : "\"Better\" and \"worse\"",
      model.over_training ? "" : kPromptsToo, holm_text(model), board_text(model),
      has_few ? fmt::format(" Over fewer than {} prompts a difference is not resolved, whatever it is.",
                            kFewestPrompts)
              : std::string());
}

/// That the runs are too few for more than a statement about checkpoints.
TableNote few_runs_note(const TableModel& model) {
  if (!has_claim(model, Claim::kCheckpoints)) return {};
  const auto runs = paired_runs(model, Claim::kCheckpoints);
  const auto head = fmt::format("{} training run{} per method{}", runs.most == 1 ? "One" : runs_text(runs),
                                runs.most == 1 ? "" : "s",
                                model.images_are_given ? " (each given folder counts as one)" : "");
  const auto says = model.over_training
                        ? std::string("differences are shown, not judged.")
                        : fmt::format("{} are between these checkpoints and say nothing about the methods.",
                                      has_claim(model, Claim::kMethods) ? "such differences" : "differences");
  const bool is_of_scale = !model.scale_warning.empty();
  return {
      .text = in_its_words(model, fmt::format("{}: {}", head, says)) +
              (is_of_scale ? fmt::format(" Scale {} allows no statement about methods.", model.scale) : ""),
      .for_operator = is_of_scale ? std::string()
                                  : fmt::format("Statements about methods need at least {} runs (`{}`).",
                                                kFewestRuns, model.more_runs)};
}

/// By which interval checkpoints are judged.
std::string checkpoints_note(const TableModel& model) {
  if (!has_claim(model, Claim::kCheckpoints) || model.over_training) return {};
  const bool one = paired_runs(model, Claim::kCheckpoints).most == 1;
  const bool has_rates = std::ranges::any_of(
      model.comparisons, [](const Comparison& c) { return c.values.test == "mcnemar-exact"; });
  return fmt::format("Intervals: over {} (percentile bootstrap, {} resamples). p: two-sided paired t{}{}. ",
                     one ? "prompts" : "prompts, runs pooled", model.resamples,
                     one ? "" : ", clustered by prompt",
                     has_rates ? "; for rates McNemar's exact test" : "") +
         in_its_words(model,
                      fmt::format("\"These checkpoints differ\" means: the interval excludes 0, and {}.",
                                  holm_text(model)));
}

/// Samples of a row that a metric has no value for because their prompt quotes no text.
std::int64_t without_target(const TableRow& row, const std::string& metric) {
  const auto found = row.without_target.find(metric);
  return found == row.without_target.end() ? 0 : found->second;
}

/// Of the pairs of a comparison that lack a side, those whose prompt quotes a text: something is missing
/// there.
std::int64_t pairs_missing(const TableModel& model, const Comparison& comparison) {
  auto missing = comparison.values.n_missing;
  for (const auto& row : model.rows) {
    if (row.method == comparison.method && row.selected) missing -= without_target(row, comparison.metric);
  }
  return missing;
}

/// Prompts that some run lacks: the interval over runs leaves them out, W / T / L does not.
std::int64_t prompts_left_out(const Comparison& c) {
  return c.judgement.of_methods() && c.values.crossed ? c.values.crossed->clusters_left_out : 0;
}

/// "ocr_reward 3 of 40 (4 prompts)"
std::string incomplete_text(const TableModel& model, const Comparison& c) {
  const auto missing = pairs_missing(model, c), left_out = prompts_left_out(c);
  if (missing <= 0 && left_out == 0) return {};
  return c.metric + (missing > 0 ? fmt::format(" {} of {}", missing, c.values.n + missing) : "") +
         (left_out > 0 ? fmt::format(" ({})", counted(left_out, "prompt")) : "");
}

/// Which pairs of methods lost how many pairs of images in which metrics.
std::string incomplete_pairs_note(const TableModel& model) {
  const auto arms = texts_of(distinct_of(model.comparisons, arm_of), [&](const std::string& arm) {
    return listed(
        arm + ": ",
        texts_of(model.comparisons,
                 [&](const Comparison& c) { return arm_of(c) == arm ? incomplete_text(model, c) : ""; }),
        ", ", "");
  });
  const bool has_left_out =
      std::ranges::any_of(model.comparisons, [](const Comparison& c) { return prompts_left_out(c) > 0; });
  return listed(
      fmt::format("Incomplete pairs, left out{}. ",
                  has_left_out ? " (and prompts without a complete pair in every run, left out of the "
                                 "intervals over training runs)"
                               : ""),
      arms, "; ");
}

/// Where a few prompts carry more than half of a difference that is shown, or a rank test comes to another
/// conclusion than the t does.
std::string influence_text(const TableModel& model, const Comparison& c) {
  if (!c.restates.empty()) return {};
  std::vector<std::string> parts;
  if (const auto few = few_that_carry(c.values); c.judgement.differs && few)
    parts.push_back(fmt::format("{} of {}", *few, c.values.clusters));
  const double level = 1 - model.confidence;
  const auto& tests = c.values.tests;
  const auto differ = disagreement(tests, level);
  // With few units no rank test has a small p.
  if (differ.any() && std::exp2(1 - static_cast<double>(c.values.clusters)) < level)
    parts.push_back(
        fmt::format("t {:.2g}{}{}", tests.t->p_value,
                    differ.wilcoxon ? fmt::format(", Wilcoxon {:.2g}", tests.wilcoxon->p_value) : "",
                    differ.sign ? fmt::format(", sign test {:.2g}", *tests.sign_p) : ""));
  return listed(fmt::format("{}, {}: ", arm_of(c), column_of(model, c.metric).title), parts, ", ", "");
}

std::string influence_note(const TableModel& model) {
  return listed(
      fmt::format(
          "A few {} may decide: so many carry more than half of the difference, or tests disagree at p "
          "= {} (not adjusted). ",
          model.over_training ? "seeds" : "prompts", format_significance(model.confidence)),
      texts_of(model.comparisons, [&](const Comparison& c) { return influence_text(model, c); }), "; ");
}

std::string movement_note(const TableModel& model) {
  const auto pairs = distinct_of(model.comparisons, [](const Comparison& c) {
    return c.moved_unequally() ? fmt::format("{} and {}", c.method, c.baseline) : "";
  });
  const bool all_have_steps = std::ranges::all_of(model.rows, &TableRow::has_steps);
  const char* other = all_have_steps ? "" : " (of methods without recorded steps mean ||v \u2212 v_ref||^2)";
  return listed(fmt::format("{} Unequal movement: the mean lambda_center{} of ", kUnequalMovementMark, other),
                pairs, "; ",
                " differs by more than a factor of 3, so the policies have moved by different amounts.");
}

}  // namespace

std::vector<TableNote> difference_notes(const TableModel& model) {
  constexpr auto kGeneral = NotePlace::kDifferences, kSingle = NotePlace::kSingleDifferences;
  if (model.comparisons.empty()) return {};
  auto few_runs = few_runs_note(model);
  few_runs.place = kGeneral;
  return {{.text = model.chosen_on_split ? kChosenHere : "", .place = kGeneral},
          {.text = pairing_note(model), .place = kGeneral},
          {.text = methods_note(model), .place = kGeneral},
          few_runs,
          {.text = checkpoints_note(model), .place = kGeneral},
          {.text = incomplete_pairs_note(model), .place = kSingle},
          {.text = influence_note(model), .place = kSingle},
          {.text = movement_note(model), .place = kSingle}};
}

}  // namespace harness

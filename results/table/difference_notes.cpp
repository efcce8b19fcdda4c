#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

/// "the adjusted p, in the family of all 8 questions of plan 1a2b3c4d5e6f (one that restates another counts
/// once), is below 0.05"
std::string family_text(const TableModel& model, Claim claim) {
  const auto& family = model.families.of(claim);
  const auto& digest = model.families.plan.digest;
  const auto of = claim == Claim::kMethods && !digest.empty() ? "plan " + digest : std::string("the table");
  return fmt::format(
      "the adjusted p, in the family of {} of {}{}, is below {}",
      family.size() == 1 ? "the one question" : fmt::format("all {} questions", family.size()), of,
      family.size() < family.questions().size() ? " (one that restates another counts once)" : "",
      format_significance(model.confidence));
}

/// How the family of methods shares its level, where its questions are not equal.
std::string shares_text(const TableModel& model) {
  const auto& questions = model.families.methods.questions();
  const auto find = [&](QuestionRole role) {
    return std::ranges::find(questions, role, &TableQuestion::role);
  };
  const auto primary = find(QuestionRole::kPrimary), of_base = find(QuestionRole::kOfBase);
  if (primary == questions.end() ||
      (find(QuestionRole::kOther) == questions.end() && of_base == questions.end()))
    return {};
  return fmt::format(
      " {} is tested first{}; other metrics of a row are tested once its difference in it is resolved. "
      "Confidence: of the interval, at the level that tested it.",
      column_of(model, primary->hypothesis()).title,
      of_base == questions.end()
          ? ""
          : fmt::format(", with .9 of the level (questions about the base model have .1)"));
}

/// The plan behind the claims about methods, with its looks and what came before it, or why there are none.
std::string plan_note(const TableModel& model) {
  const auto& plan = model.families.plan;
  if (!plan.why_exploratory.empty()) return plan.why_exploratory;
  if (plan.digest.empty()) return {};
  auto text = fmt::format("Plan {}, recorded {} before any of its test scores: {} of {} planned runs per row",
                          plan.digest, plan.recorded.substr(0, std::string("2026-01-01").size()), plan.runs,
                          plan.planned);
  if (plan.looks.size() > 1) text += fmt::format(", looks at {}", fmt::join(plan.looks, ", "));
  if (plan.runs < plan.planned || plan.looks.size() > 1)
    text += plan.level ? fmt::format("; this look has {:.2g} of the level {}", *plan.level,
                                     format_significance(model.confidence))
                       : std::string("; no look is planned at this number, and nothing new is claimed");
  text += ".";
  if (!plan.earlier.empty())
    text += fmt::format(" Study {} of some of these rows; before it: {}.", plan.earlier.size() + 1,
                        join(plan.earlier, ", "));
  return text;
}

/// Where a claim rests on fewer prompts than skewed differences take.
std::string few_prompts_note(const TableModel& model) {
  constexpr std::int64_t kEnough = 250;
  const auto is_on_few = [](const Comparison& c) {
    return c.judgement.resolved() && !c.values.crossed->of_runs_alone && c.values.crossed->clusters < kEnough;
  };
  if (std::ranges::none_of(model.comparisons, is_on_few)) return {};
  return fmt::format(
      "Fewer than {} prompts: where a few of them carry large differences (skew), false claims are more frequent than "
      "the level (results/STATISTICS.md).",
      kEnough);
}

/// What so many runs cannot show: a method that fails now and then.
std::string failures_note(const TableModel& model) {
  const auto is_claim = [](const Comparison& c) { return c.judgement.resolved(); };
  if (std::ranges::none_of(model.comparisons, is_claim)) return {};
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const auto& c : model.comparisons)
    if (is_claim(c)) fewest = std::min(fewest, c.values.crossed->runs);
  return fmt::format(
      "{} runs do not rule out that a method fails in up to {:.0f} % of its runs (1 - 0.05^(1/{})).", fewest,
      100 * (1 - std::pow(0.05, 1 / static_cast<double>(fewest))), fewest);
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

/// Which of the differences have the leaderboard's verdict.
std::string board_text(const TableModel& model) {
  if (!model.leaderboard) return {};
  return fmt::format(" Those to {} in {} have the leaderboard's verdict.", model.leaderboard->baseline,
                     column_of(model, model.leaderboard->metric).title);
}

/// What the table can say of its methods, and by which interval.
std::string methods_note(const TableModel& model) {
  if (!has_claim(model, Claim::kMethods)) return {};
  if (model.families.methods.empty())
    return "Intervals and p: over training runs" + std::string(model.over_training ? "" : " and prompts") +
           ", not adjusted; nothing is claimed.";
  const auto runs = runs_text(paired_runs(model, Claim::kMethods));
  const bool has_few = std::ranges::any_of(model.comparisons, [](const Comparison& c) {
    return c.judgement.of_methods() && !c.values.crossed->of_runs_alone &&
           c.values.crossed->clusters < kFewestPrompts;
  });
  return fmt::format(
      "Intervals and p: over training runs{}, {} runs per method. {} mean: the interval excludes 0{}, and "
      "{}.{}{}{}",
      model.over_training ? " (Student's t)" : " and prompts (crossed analysis of variance)", runs,
      model.leaderboard ? "Among the differences \"better\" and \"worse\"" : "\"Better\" and \"worse\"",
      model.over_training ? "" : kPromptsToo, family_text(model, Claim::kMethods), shares_text(model),
      board_text(model),
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
  if (!has_claim(model, Claim::kCheckpoints) || model.over_training || model.families.checkpoints.empty())
    return {};
  const bool one = paired_runs(model, Claim::kCheckpoints).most == 1;
  const bool has_rates = std::ranges::any_of(
      model.comparisons, [](const Comparison& c) { return c.values.test == "mcnemar-exact"; });
  return fmt::format("Intervals: over {} (percentile bootstrap, {} resamples). p: two-sided paired t{}{}. ",
                     one ? "prompts" : "prompts, runs pooled", model.resamples,
                     one ? "" : ", clustered by prompt",
                     has_rates ? "; for rates McNemar's exact test" : "") +
         in_its_words(model,
                      fmt::format("\"These checkpoints differ\" means: the interval excludes 0, and {}.",
                                  family_text(model, Claim::kCheckpoints)));
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
          {.text = plan_note(model), .place = kGeneral},
          {.text = methods_note(model), .place = kGeneral},
          few_runs,
          {.text = checkpoints_note(model), .place = kGeneral},
          {.text = failures_note(model), .place = kGeneral},
          {.text = few_prompts_note(model), .place = kGeneral},
          {.text = incomplete_pairs_note(model), .place = kSingle},
          {.text = influence_note(model), .place = kSingle},
          {.text = movement_note(model), .place = kSingle}};
}

}  // namespace harness

#include "results/table/table.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "results/table/markup.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"
#include "tests/error_of.h"
#include "tests/programs.h"
#include "tests/results/table_fixture.h"

namespace harness {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A change to a table whose questions have these roles, and what it then shows and does not.
struct Shown {
  const char* claim;
  std::function<void(TableModel&)> change;
  std::vector<std::string> has, lacks = {};
  FamilyRoles roles = {};
};

template <class Text>
void expect_shown(const std::vector<Shown>& cases, TableModel (*fixture)(), Text text_of) {
  for (const auto& [claim, change, has, lacks, roles] : cases) {
    auto model = fixture();
    change(model);
    if (model.chosen_on_split)
      judge_as_exploratory(model);
    else
      judge_as_planned(model, roles);
    const std::string shown = text_of(model);
    for (const auto& text : has) EXPECT_THAT(shown, HasSubstr(text)) << claim;
    for (const auto& text : lacks) EXPECT_THAT(shown, Not(HasSubstr(text))) << claim;
  }
}

std::string notes_of(const TableModel& model) {
  return join(table_view(model).all_notes(), "\n");
}

TEST(TableFormat, PercentColumnsShowTheFractionOfTheDbTimesAHundred) {
  const TableColumn percent{"exact_match", "Exact", Unit::kPercent, 2, Better::kUp, ""};
  EXPECT_EQ(format_value(99.0 / 762, percent), "12.99");
  EXPECT_EQ(format_delta(11.0 / 762, percent), "+1.44");
  EXPECT_EQ(format_interval(Interval{-0.01, 0.0389}, percent), "[-1.00, +3.89]");
}

TEST(TableFormat, NothingIsADashADifferenceKeepsItsSideOfZeroAndSmallPValuesAreBounded) {
  const TableColumn column{"x", "X", Unit::kFraction, 4, Better::kUp, ""};
  EXPECT_EQ(format_value(std::nullopt, column), "\u2014");
  EXPECT_EQ(format_interval(std::nullopt, column), "\u2014");
  EXPECT_EQ(format_p_value(std::nullopt), "\u2014");
  EXPECT_EQ(format_value(std::numeric_limits<double>::quiet_NaN(), column), "\u2014");
  EXPECT_EQ(format_delta(-0.00001, column), "-0.0000");
  EXPECT_EQ(format_interval(Interval{-0.0002, -0.00001}, column), "[-0.0002, -0.0000]") << "it excludes 0";
  EXPECT_EQ(format_delta(-0.0, column), "+0.0000");
  EXPECT_EQ(format_value(-0.00001, column), "0.0000");
  EXPECT_EQ(format_p_value(0.0401), "0.0401");
  EXPECT_EQ(format_p_value(1e-9), "<0.0001");
}

TEST(TableFormat, AConfidenceHasTheDigitsThatTellItFromAHundredPercent) {
  EXPECT_EQ(format_confidence(0.05), "95 %");
  EXPECT_EQ(format_confidence(1 - 0.95), "95 %");
  EXPECT_EQ(format_confidence(0.0225), "97.75 %");
  EXPECT_EQ(format_confidence(0.05 * 0.9 / 7), "99.36 %");
  EXPECT_EQ(format_confidence(1.5e-5), "99.9985 %");
}

TEST(TableFormat, AColumnInWhichANumberWouldVanishIsScientificThroughout) {
  auto model = fixture_table();
  auto column = with_notation(model, model.columns[2]);
  EXPECT_EQ(format_value(3.8e-7, column), "3.80e-7");
  EXPECT_EQ(format_value(0.000217, column), "2.17e-4");
  EXPECT_EQ(format_value(9.999e-5, column), "1.00e-4");
  EXPECT_EQ(format_value(0.0, column), "0");
  model.rows[0].lambda_late = 3.8e-5;
  column = with_notation(model, model.columns[2]);
  EXPECT_EQ(format_value(3.8e-5, column), "0.000038");
  EXPECT_EQ(format_value(0.0, column), "0.000000");
}

TEST(TableFormat, ADifferenceAndItsIntervalHaveTheDecimalsOfTheirColumn) {
  auto model = fixture_table();
  model.columns[0].unit = Unit::kNumber;
  model.comparisons = {fixture_comparison("ocr_reward", -2.25e-4, -0.0018, 0.0014)};
  judge_as_planned(model);
  auto column = column_of(model, "ocr_reward");
  EXPECT_EQ(format_delta(-2.25e-4, column), "-0.0002");
  EXPECT_EQ(format_interval(Interval{-0.003, 1.33e-4}, column), "[-0.0030, +0.0001]");
  model.comparisons = {fixture_comparison("ocr_reward", -2.25e-7, -1.8e-6, 1.4e-6)};
  judge_as_planned(model);
  column = column_of(model, "ocr_reward");
  EXPECT_EQ(format_delta(-2.25e-7, column), "-2.25e-7") << "where all would vanish, all are scientific";
  EXPECT_EQ(format_interval(Interval{-1.8e-6, 1.4e-6}, column), "[-1.80e-6, +1.40e-6]");
}

TEST(TableFormat, ThePapersFiguresTakeTheColumnsNotationAndKeepTheirDigits) {
  TableColumn column{"lambda_late", "L", Unit::kNumber, 6, Better::kDown, ""};
  EXPECT_EQ(format_printed({3.8e-5, "3.8e-5"}, column), "0.000038");
  EXPECT_EQ(format_printed({6.8e-3, "6.80e-3"}, column), "0.00680");
  EXPECT_EQ(format_printed({0.000217, "0.000217"}, column), "0.000217");
  EXPECT_EQ(format_printed({0, "0.0"}, column), "0.0");
  column.scientific = true;
  EXPECT_EQ(format_printed({3.8e-5, "3.8e-5"}, column), "3.8e-5");
  EXPECT_EQ(format_printed({0.000217, "0.000217"}, column), "2.17e-4");
}

CrossedComparison& reward_over_runs(TableModel& model) {
  return *model.comparisons[0].values.crossed;
}

const std::vector<Shown> kBest = {
    {"bold where the interval excludes 0 alone: of exact matches it does not",
     [](TableModel&) {},
     {"**0.9012** \u2020", " 57.50 |", "Bold: best mean"}},
    {"where lower is better the baseline is, if every other method is worse",
     [](TableModel& model) { model.columns[0].better = Better::kDown; },
     {" 0.9012 \u2020 |", "**0.8900** |",
      "\u2020 The difference to ratio-norm is resolved: its interval over training runs and prompts"}},
    {"an interval on the wrong side does not resolve",
     [](TableModel& model) {
       model.comparisons[0].values.delta = -0.01;
       model.comparisons[0].values.ci = Interval{-0.02, -0.001};
       set_interval(reward_over_runs(model), {-0.02, -0.001});
     },
     {" 0.9012 \u2020 |"},
     {"**"}},
    {"of two metrics with these p the adjusted p is 0.07",
     [](TableModel& model) {
       reward_over_runs(model).p_value = 0.035;
       model.comparisons[1].values.crossed->p_value = 0.04;
     },
     {},
     {"**", kDiffersMark, "Bold"}},
    {"over training runs 0 is not excluded, though over prompts alone it is",
     [](TableModel& model) {
       set_interval(reward_over_runs(model), {-0.02, 0.05});
       reward_over_runs(model).p_value = 0.39;
     },
     {"| [-0.0200, +0.0500] |       95 % |"},
     {"**"}},
    {"two runs are as good as one",
     [](TableModel& model) {
       for (auto& comparison : model.comparisons) comparison.values.crossed->runs = 2;
     },
     {"2 training runs per method: differences are between these checkpoints",
      "Intervals: over prompts, runs pooled"},
     {"**"}},
    {"the checkpoints of one run differ, which says nothing of methods",
     [](TableModel& model) { model = fixture_table(); },
     {"these checkpoints differ"},
     {"**", kDiffersMark, "| better"}},
    {"of what no family asks nothing is claimed",
     [](TableModel& model) { model.chosen_on_split = true; },
     {"| exploratory "},
     {"**", kDiffersMark, "Bold", "| better"}}};

TEST(BestOfColumn, IsMarkedWhereItsDifferenceIsResolved) {
  expect_shown(kBest, fixture_of_runs, table_markdown);
  EXPECT_THAT(table_html(fixture_table()), Not(HasSubstr("<strong>")));
  EXPECT_THAT(table_latex(fixture_table()), Not(HasSubstr("\\mathbf")));
}

TEST(BestOfColumn, IsNobodyWhereTwoShareItOrNothingWasCompared) {
  auto model = fixture_table();
  model.rows[0].metrics["ocr_reward"].mean = model.rows[1].metrics["ocr_reward"].mean;
  EXPECT_FALSE(best_of_column(model, model.columns[0]).has_value());
  EXPECT_FALSE(best_of_column(model, model.columns[2]).has_value()) << "lambda_late is never compared";
}

TEST(TableMarkdown, ReadsAsWritten) {
  EXPECT_EQ(table_markdown(fixture_table()), R"(## tiny: a small table

Backbone glyph · scale smoke · test split · n = 40 · seed 42

| Method            | Ckpt | OCR reward ↑ | Exact (%) ↑ | Lambda_late ↓ | PickScore ↑ |
|:------------------|-----:|-------------:|------------:|--------------:|------------:|
| base              |    0 |       0.7350 |       40.00 |             — |           — |
| ratio-norm        |   40 |       0.8900 |       55.00 |       3.80e-7 |           — |
| lambda-controlled |   80 |       0.9012 |       57.50 |       3.32e-4 |           — |
| ↳ paper           |   80 |       0.5831 |       14.40 |               |             |

| Comparison                     | Metric         |       Δ |           Interval | Confidence |   W / T / L |      p | Adjusted p |   n | Verdict                  |
|:-------------------------------|:---------------|--------:|-------------------:|-----------:|------------:|-------:|-----------:|----:|:-------------------------|
| lambda-controlled − ratio-norm | OCR reward     | +0.0112 | [+0.0021, +0.0203] |       95 % | 20 / 8 / 12 | 0.0167 |     0.0334 |  40 | these checkpoints differ |
| lambda-controlled − ratio-norm | Exact (points) |   +2.50 |    [-5.00, +10.00] |       95 % | 20 / 8 / 12 | 0.0167 |     1.0000 |  40 | no difference shown      |
| ↳ paper                        | Exact (points) |   +1.44 |                    |            |             |        |            | 762 |                          |

- These are the embedded glyph backbone's numbers, not SD3.5's; levels do not compare with the paper's.
- ↳ paper: as printed in "A Paper" (tab:tiny, sd3.5-medium-lora).
- — pickscore was not run: its files are absent (--scorers DIR).
- Share of off-policy steps damped (weight below 1), by shard: lambda-controlled 12.5 %.
- Differences are method − baseline, paired by prompt, sample and seed. W / T / L: pairs that the method won, tied and lost.
- One training run per method: differences are between these checkpoints and say nothing about the methods. Statements about methods need at least 3 runs (`--seeds 42..44`).
- Intervals: over prompts (percentile bootstrap, 10000 resamples). p: two-sided paired t. "These checkpoints differ" means: the interval excludes 0, and the adjusted p, in the family of all 2 questions of the table, is below 0.05.

Signature: `tiny v1; seed 42`
)");
}

TEST(TableMarkdown, ABarInATitleStaysInItsCell) {
  auto model = fixture_table();
  model.columns[0].title = "a|b";
  EXPECT_THAT(table_markdown(model), HasSubstr("| a\\|b"));
}

TEST(TableMarkdown, NamesAndTitlesAreShownAsTheyAreWrittenAndCommandNoMarkup) {
  const std::map<std::string, std::string> written = {{"<b>x</b>", "&lt;b>x&lt;/b>"},
                                                      {"*a* `ls` ~b~", "\\*a\\* \\`ls\\` \\~b\\~"},
                                                      {"_my_row_", "\\_my_row\\_"},
                                                      {"[here](http://x)", "[here\\](http://x)"},
                                                      {"<!-- x", "&lt;!-- x"},
                                                      {"a&lt;b \\", "a&amp;lt;b \\\\"},
                                                      {"R&D", "R&D"},
                                                      {"p < 0.05 [-0.1, 0.2]", "p < 0.05 [-0.1, 0.2]"},
                                                      {"lambda_late", "lambda_late"}};
  for (const auto& [name, shown] : written) {
    EXPECT_EQ(markdown_text(name), shown);
    auto model = fixture_table();
    model.columns[0].title = name;
    EXPECT_THAT(table_markdown(model), HasSubstr("| " + shown + " "));
  }
  EXPECT_EQ(markdown_prose("`ls -l *` lists *all*"), "`ls -l *` lists \\*all\\*");
  EXPECT_EQ(markdown_prose("a ` b"), "a \\` b");
  for (const char* begin : {"# a", "> a", "- a", "+ a"})
    EXPECT_EQ(markdown_prose(begin), std::string("\\") + begin);
  EXPECT_EQ(markdown_prose("1. a"), "1\\. a");
  EXPECT_EQ(markdown_prose("-0.5 a"), "-0.5 a");
  EXPECT_EQ(markdown_code("a `b`` c"), "``` a `b`` c ```");
  auto model = fixture_table();
  model.title = "first\n# second";
  EXPECT_THAT(table_markdown(model), HasSubstr("## tiny: first # second\n"));
}

/// Everything that there can be to say: two seeds a method, a difference of three runs, one of a single run,
/// and one that restates the first.
TableModel noted_table() {
  auto model = fixture_of_runs();
  model.paper->task = "ocr";
  model.columns[0].note = "one minus the edit rate";
  model.notes = {{"A note of a job."}};
  model.rows = {model.rows[0], model.rows[0], model.rows[1], model.rows[1]};
  model.rows[1].seed = model.rows[3].seed = 43;
  model.rows[0].metrics["ocr_reward"] = fixture_summary(0.89, 3);
  model.rows[1].never_clipped = true;
  for (auto* row : {&model.rows[2], &model.rows[3]}) row->damped_updates = 30;
  model.rows[2].undone_updates = 30;
  model.rows[3].undone_updates = 25;
  model.rows[3].without_target["exact_match"] = 2;
  model.rows[3].metrics["exact_match"] = fixture_summary(0.5, 3);
  auto& comparisons = model.comparisons;
  comparisons.push_back(comparisons[0]);
  comparisons[2].metric = "cer_paper";
  comparisons[2].restates = "ocr_reward";
  for (std::size_t i = 0; i < 2; ++i) {
    auto& values = comparisons[i].values;
    comparisons[i].note = kUnequalMovement;
    values.clusters = 40;
    values.carried_by = 4;
    values.tests = {.t = TTest{2.5, 0.0167}, .wilcoxon = RankTest{.w = 0, .p_value = 0.04}, .sign_p = 0.03};
  }
  comparisons[0].validation_delta = 0.02;
  comparisons[0].values.n = 37;
  comparisons[0].values.n_missing = 3;
  comparisons[0].values.crossed->clusters_left_out = 4;
  comparisons[1].values.n_missing = 2;
  comparisons[1].values.tests.sign_p = 0.21;
  comparisons[1].values.crossed.reset();
  comparisons[1].values.seeds = 1;
  judge_as_planned(model);
  return model;
}

const std::vector<std::string> kNotes = {
    "These are the embedded glyph backbone's numbers, not SD3.5's; levels do not compare with the "
    "paper's.",
    "\u21b3 paper: as printed in \"A Paper\" (tab:tiny, sd3.5-medium-lora). It reads text with PaddleOCR, this "
    "table with Tesseract, and training prompts are this project's own unless given: compare differences between "
    "methods, not levels.",
    "OCR reward: one minus the edit rate. \u00b1: standard deviation over training runs; for the base model, over the noise of each seed. "
    "Bold: best mean of its column, where its difference to ratio-norm is resolved (if ratio-norm is best, "
    "those of all other methods to it). It need not differ from the other methods. "
    "\u2020 The difference to ratio-norm is resolved: its interval over training runs and prompts "
    "excludes 0, as does the one over prompts alone, and the adjusted p is below 0.05. One row per run: --per-seed.",
    "\u2014 pickscore was not run: its files are absent (--scorers DIR).",
    "# Missing values of ratio-norm (seed 42): ocr_reward 3 of 40 (mean over 37); lambda-controlled (seed 43): "
    "exact_match 1 of 38 (mean over 37). A scorer failed there. Reasons: `harness query failures`.",
    "Text metrics: over the 38 prompts that quote a text; the other 2 quote none.",
    "Never clipped: ratio-norm in 1 of 2 runs (no ratio left the clip range in any off-policy update of the "
    "run).",
    "Share of off-policy steps damped (weight below 1), by shard: lambda-controlled 12.5 % (2 runs). Gradient "
    "clipping: 55 of 60 damped updates of lambda-controlled had the same length as without damping.",
    "A note of a job.",
    "Differences are method \u2212 baseline, paired by prompt, sample and seed. W / T / L: pairs that the "
    "method won, tied and lost. \u0394 validation: the same checkpoints on the prompts that selected "
    "them.",
    "Plan 1a2b3c4d5e6f, recorded 2026-11-29 before any of its test scores: 3 of 3 planned runs per row.",
    "Intervals and p: over training runs and prompts (crossed analysis of variance), 3 runs per method. "
    "\"Better\" and \"worse\" mean: the interval excludes 0, as does the one over prompts alone, and the adjusted p, in "
    "the family of all 2 questions of plan 1a2b3c4d5e6f (one that restates another counts once), is below 0.05.",
    "One training run per method: such differences are between these checkpoints and say nothing about "
    "the methods. Statements about methods need at least 3 runs (`--seeds 42..44`).",
    "Intervals: over prompts (percentile bootstrap, 10000 resamples). p: two-sided paired t. "
    "\"These checkpoints differ\" means: the interval excludes 0, and the adjusted p, in the family of all 2 "
    "questions of the table (one that restates another counts once), is below 0.05.",
    "3 runs do not rule out that a method fails in up to 63 % of its runs (1 - 0.05^(1/3)).",
    "Fewer than 250 prompts: where a few of them carry large differences (skew), false claims are more frequent than "
    "the level (results/STATISTICS.md).",
    "Incomplete pairs, left out (and prompts without a complete pair in every run, left out of the intervals over "
    "training runs). lambda-controlled \u2212 ratio-norm: ocr_reward 3 of 40 (4 prompts).",
    "A few prompts may decide: so many carry more than half of the difference, or tests disagree at p = 0.05 (not "
    "adjusted). lambda-controlled \u2212 ratio-norm, OCR reward: 4 of 40; lambda-controlled \u2212 ratio-norm, "
    "Exact: t 0.017, sign test 0.21.",
    "\u00a7 Unequal movement: the mean lambda_center of lambda-controlled and ratio-norm differs by "
    "more than a factor of 3, so the policies have moved by different amounts."};

TEST(TableNotes, SayWhatTheTableHoldsInThisOrder) {
  EXPECT_THAT(table_view(noted_table()).all_notes(), testing::ElementsAreArray(kNotes));
  const auto markdown = table_markdown(noted_table());
  EXPECT_THAT(markdown, HasSubstr("lambda-controlled \u2212 ratio-norm \u00a7"));
}

const std::vector<Shown> kOtherNotes = {
    {"without a paper and a word of the backbone nothing is said of them",
     [](TableModel& model) {
       model.backbone_note.clear();
       model.paper.reset();
     },
     {},
     {"glyph", "paper", "PaddleOCR"}},
    {"of three runs each nothing is said of checkpoints",
     [](TableModel& model) { model = fixture_of_runs(); },
     {"3 runs per method.",
      "\"Better\" and \"worse\" mean: the interval excludes 0, as does the one over prompts alone, and the adjusted p, in "
      "the family of all 2 questions of plan 1a2b3c4d5e6f, is below 0.05."},
     {"checkpoints", "is tested first"}},
    {"the metric that decides is said to be tested first",
     [](TableModel& model) { model = fixture_of_runs(); },
     {"is below 0.05. OCR reward is tested first; other metrics of a row are tested once its difference in it is "
      "resolved. Confidence: of the interval, at the level that tested it."},
     {},
     {.primary = "ocr_reward"}},
    {"the base model's differences have a share of their own",
     [](TableModel& model) {
       model = fixture_of_runs();
       model.comparisons.push_back(model.comparisons[0]);
       model.comparisons.back().baseline = "base";
     },
     {"in the family of all 3 questions of plan",
      "OCR reward is tested first, with .9 of the level (questions about the base model have .1); other metrics"},
     {},
     {.primary = "ocr_reward", .base = "base"}},
    {"prompts that chose the checkpoints claim nothing",
     [](TableModel& model) {
       model = fixture_of_runs();
       model.chosen_on_split = true;
     },
     {"These prompts also selected the checkpoints: values and differences are optimistic, and intervals and p do not "
      "allow for the choice. Quote the table on the test split.",
      "Intervals and p: over training runs and prompts, not adjusted; nothing is claimed."},
     {"Better", "adjusted p", "Bold", "rule out", "Fewer than"}},
    {"in tables of the training intervals are over runs",
     [](TableModel& model) {
       model = fixture_of_runs();
       model.over_training = true;
     },
     {"Intervals and p: over training runs (Student's t), 3 runs per method.", "paired by seed"}},
    {"more prompts than five are not few",
     [](TableModel& model) { model.comparisons[0].values.carried_by = 6; },
     {},
     {"OCR reward: 6 of"}},
    {"three units cannot have a small sign p",
     [](TableModel& model) { model.comparisons[1].values.clusters = 3; },
     {},
     {"sign test"}}};

TEST(TableNotes, AreOfWhatOccursAlone) {
  expect_shown(kOtherNotes, noted_table, notes_of);
}

/// lambda-controlled has a second run, of 0.9112.
TableModel table_of_two_seeds() {
  auto model = fixture_of_runs();
  auto other = model.rows[1];
  other.seed = 43;
  other.metrics["ocr_reward"].mean = 0.9112;
  model.rows.push_back(other);
  return model;
}

TEST(TableView, HasARowAMethodWithMeanAndStandardDeviationOverItsRuns) {
  const auto view = table_view(table_of_two_seeds());
  std::vector<std::string> runs;
  for (const auto& row : view.results.rows) runs.push_back(row.cells[1].text);
  EXPECT_THAT(runs, ElementsAre("1", "1", "2", ""));
  EXPECT_EQ(view.results.rows[2].cells[3].text, "0.9062 \u00b1 0.0071") << "0.01 / sqrt(2)";
  EXPECT_TRUE(view.results.rows[2].cells[3].strong);
  EXPECT_EQ(view.results.rows[1].cells[3].text, "0.8900") << "one run has no spread";
}

TEST(TableView, SeedsGetARowEachWhereAskedForAndTheirMeanCarriesTheMarks) {
  auto model = table_of_two_seeds();
  choose({.per_seed = true}, model);
  const auto view = table_view(model);
  std::vector<std::string> seeds;
  for (const auto& row : view.results.rows) seeds.push_back(row.cells[1].text);
  EXPECT_THAT(seeds, ElementsAre("42", "mean", "42", "mean", "42", "43", "mean", ""));
  EXPECT_EQ(view.results.rows[6].cells[3].text, "0.9062");
  EXPECT_TRUE(view.results.rows[6].cells[3].strong);
  EXPECT_EQ(view.results.rows[6].cells[3].marks, kDiffersMark);
  EXPECT_FALSE(view.results.rows[4].cells[3].strong);
}

TEST(TableView, CountsAppearWhereTheyDiffer) {
  auto model = fixture_table();
  model.rows[0].n = 39;
  const auto view = table_view(model);
  EXPECT_EQ(view.results.columns[1].title, "n");
  EXPECT_THAT(view.subtitle, Not(HasSubstr("n =")));
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

TEST(TableJson, IsTheDocumentOfTheContract) {
  const auto document = table_json(fixture_table());
  EXPECT_THAT(keys_of(document),
              ElementsAre("artifacts", "backbone", "comparisons", "experiment", "notes", "plan", "reference",
                          "rows", "scale", "signature", "table", "units", "wall_seconds"));
  EXPECT_EQ(document["units"]["ocr_reward"], "fraction");
  EXPECT_THAT(keys_of(document["rows"][0]), ElementsAre("checkpoint", "lambda_late", "method", "metrics", "n",
                                                        "n_missing", "paper", "seed", "split"));
  EXPECT_THAT(keys_of(document["comparisons"][0]),
              ElementsAre("baseline", "baseline_mean", "ci95", "ci95_seeds", "claim", "clusters", "delta",
                          "differs", "equal", "exploratory", "level", "losses", "method", "method_mean",
                          "metric", "n", "n_missing", "p_adjusted", "p_value", "prompts", "prompts_won",
                          "resolved", "runs", "test", "ties", "validation_delta", "verdict", "wins"));
  EXPECT_THAT(keys_of(document["comparisons"][0]["prompts"]), ElementsAre("ci95", "p_value", "t", "test"));
  EXPECT_THAT(keys_of(document["rows"][0]["metrics"]["ocr_reward"]), ElementsAre("mean", "std"));
}

TEST(TableJson, KeepsTheUnitOfTheDbForThePapersFiguresToo) {
  const auto document = table_json(fixture_table());
  const auto& row = document["rows"][1];
  EXPECT_EQ(row["metrics"]["exact_match"]["mean"], 0.575);
  EXPECT_EQ(row["paper"]["exact_match"], 0.144);
  EXPECT_EQ(row["paper"]["ocr_reward"], 0.5831);
  EXPECT_EQ(document["rows"][0]["paper"], Json::object()) << "the paper has no such row";
}

TEST(TableJson, TellsClaimsAboutMethodsFromThoseAboutCheckpoints) {
  const auto one = table_json(fixture_table())["comparisons"][0];
  EXPECT_EQ(one["claim"], "checkpoints");
  EXPECT_EQ(one["differs"], true);
  EXPECT_EQ(one["resolved"], false);
  EXPECT_TRUE(one["runs"].is_null());
  const auto three = table_json(fixture_of_runs())["comparisons"][0];
  EXPECT_EQ(three["claim"], "methods");
  EXPECT_EQ(three["resolved"], true);
  EXPECT_EQ(three["verdict"], "better");
  const auto& runs = three["runs"];
  EXPECT_EQ(runs["n"], 3);
  EXPECT_EQ(runs["delta_per_run"]["43"], 0.0112);
  EXPECT_EQ(runs["ci95"], Json::parse("[0.0021, 0.0203]"));
  EXPECT_EQ(runs["p_value"], 0.0167);
  EXPECT_DOUBLE_EQ(runs["run_sd"].get<double>(), 0.001);
  EXPECT_DOUBLE_EQ(runs["prompt_sd"].get<double>(), 0.02);
  EXPECT_EQ(runs["freedom"], 2.5);
}

TEST(TableJson, IntervalPAndTestAreTheVerdictsAndThoseOverPromptsStandBesideThem) {
  auto model = fixture_of_runs();
  auto& values = model.comparisons[0].values;
  values = over_three_runs(values, {0.0002, 0.0222}, 0.046);
  auto& of_exact = model.comparisons[1].values;
  of_exact = over_three_runs(fixture_comparison("exact_match", 0.025, 0.005, 0.045).values);
  judge_as_planned(model);
  // exact_match has the smaller p, and passes its half of the level on.
  const auto reward = table_json(model)["comparisons"][0];
  EXPECT_NEAR(reward["level"].get<double>(), 0.05, 1e-12);
  EXPECT_NEAR(reward["ci95"][0].get<double>(), 0.0002, 1e-12);
  EXPECT_NEAR(reward["ci95"][1].get<double>(), 0.0222, 1e-12);
  EXPECT_EQ(reward["p_value"], 0.046);
  EXPECT_EQ(reward["p_adjusted"], 0.046);
  EXPECT_EQ(reward["test"], "crossed");
  EXPECT_EQ(reward["prompts"],
            Json::parse(R"({"ci95": [0.0021, 0.0203], "p_value": 0.0167, "t": 2.5, "test": "paired-t"})"));
  const auto exact = table_json(model)["comparisons"][1];
  EXPECT_NEAR(exact["level"].get<double>(), 0.025, 1e-12);
  // 0.025 +- 0.02 t(0.0125) / t(0.025) with 39 degrees of freedom (scipy.stats.t.isf)
  EXPECT_NEAR(exact["ci95"][0].get<double>(), 0.0019488828810636828, 1e-12);
  EXPECT_NEAR(exact["ci95"][1].get<double>(), 0.04805111711893632, 1e-12);
  const auto of_checkpoints = table_json(fixture_table())["comparisons"][0];
  EXPECT_EQ(of_checkpoints["ci95"], of_checkpoints["prompts"]["ci95"]);
  EXPECT_EQ(of_checkpoints["p_value"], of_checkpoints["prompts"]["p_value"]);
  EXPECT_EQ(of_checkpoints["test"], "paired-t");
}

TEST(TableJson, OnPromptsThatChoseTheCheckpointsEveryDifferenceIsExploratory) {
  auto model = fixture_of_runs();
  model.chosen_on_split = true;
  judge_as_exploratory(model);
  const auto document = table_json(model);
  for (const auto& c : document["comparisons"]) {
    EXPECT_EQ(c["exploratory"], true);
    EXPECT_EQ(c["resolved"], false);
    EXPECT_EQ(c["differs"], false);
    EXPECT_TRUE(c["p_adjusted"].is_null());
    EXPECT_EQ(c["verdict"], "exploratory");
  }
  EXPECT_NEAR(document["comparisons"][0]["ci95"][0].get<double>(), 0.0021, 1e-12) << "at 95 %, not adjusted";
  for (const auto& c : table_json(fixture_of_runs())["comparisons"]) EXPECT_EQ(c["exploratory"], false);
}

TEST(TableJson, WhatIsNotThereIsNull) {
  auto model = fixture_table();
  model.comparisons[0].values = {};
  judge_as_planned(model);
  const auto document = table_json(model);
  EXPECT_TRUE(document["reference"][0]["lambda_late"].is_null());
  EXPECT_TRUE(document["comparisons"][0]["ci95"].is_null());
  EXPECT_TRUE(document["comparisons"][0]["p_value"].is_null());
  EXPECT_NO_THROW(canonical_json(document));
}

TEST(TableCsv, IsRectangularAndUnrounded) {
  const auto lines = split(table_csv(fixture_table()), '\n');
  ASSERT_GT(lines.size(), 5u);
  const auto fields_of = [](const std::string& line) {
    bool is_quoted = false;
    return 1 + std::ranges::count_if(line, [&](char c) {
             is_quoted = is_quoted != (c == '"');
             return c == ',' && !is_quoted;
           });
  };
  for (const auto& line : lines) EXPECT_TRUE(line.empty() || fields_of(line) == fields_of(lines[0])) << line;
  EXPECT_THAT(lines,
              testing::Contains(
                  "method,,lambda-controlled,42,80,test,ocr_reward,40,0,0.9012,0.25,,,,,,,,,,,,,,,,,,,,,,"));
  EXPECT_THAT(lines, testing::Contains(
                         "paper,,lambda-controlled,,80,test,exact_match,762,,0.144,,,,,,,,,,,,,,,,,,,,,,,"));
  EXPECT_THAT(
      lines,
      testing::Contains(testing::AllOf(
          StartsWith(
              "comparison,ratio-norm,lambda-controlled,,,test,exact_match,40,0,0.025,,-0.05,0.1,,,20,8,12,0.0167,paired-t,"
              "1,no difference shown between these checkpoints,checkpoints,,,,,,,0.05"),
          testing::EndsWith(",-0.05,0.1,0.0167"))));
}

TEST(TableCsv, EndsWithWhatTheTrainingRunsAndThePromptsAloneSay) {
  auto model = fixture_of_runs();
  model.comparisons[0].validation_delta = 0.02;
  const auto csv = table_csv(model);
  EXPECT_THAT(
      csv,
      HasSubstr(
          ",p_adjusted,verdict,claim,runs,runs_ci95_low,runs_ci95_high,runs_p_value,validation_delta,task,level,"
          "prompts_ci95_low,prompts_ci95_high,prompts_p_value\n"));
  EXPECT_THAT(csv, HasSubstr(",0.0167,crossed,0.0334,better,methods,3,0.0021,0.0203,0.0167,0.02,,0.025"));
  EXPECT_THAT(csv, HasSubstr(",0.0021,0.0203,0.0167\n"));
}

TEST(TableMarkdown, CommandsNoTerminal) {
  auto model = fixture_table();
  model.title = "\x1b[2J\u009b31m\u202e";
  EXPECT_THAT(table_markdown(model), HasSubstr("\\u001b[2J\\u009b31m\\u202e"));
  EXPECT_THAT(table_markdown(model), Not(HasSubstr("\x1b")));
}

TEST(TableHtml, LoadsNothingFromOutsideAndEscapes) {
  auto model = fixture_of_runs();
  model.title = "<script>alert(1)</script>";
  const auto page = table_html(model);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, HasSubstr("<strong>0.9012</strong><sup>\u2020</sup>"));
}

/// A table whose every text is full of characters that LaTeX would stumble over.
TableModel hostile_table() {
  auto model = fixture_table();
  model.id = "my_table #1";
  model.title = "50% of $x_1$ & {more} \\ ~^ <|> \"quoted\" \u4f60 caf\u00e9 \u03bb";
  model.rows[1].method = model.comparisons[0].method = model.comparisons[1].method = "lambda_ctrl & co";
  model.columns[0].title = "OCR_reward [%]";
  model.not_run["pickscore"] = "C:\\scorers\\{x} & 100 % --scorers #";
  model.notes = {{"[starts with a bracket]"}, {"a very long word: " + std::string(200, 'x')}};
  model.signature = "sha256 " + std::string(64, 'a') + "_b";
  return model;
}

TEST(TableLatex, HasTheShapeOfBooktabsAndAsManyCellsAsColumns) {
  const auto latex = table_latex(fixture_of_runs());
  EXPECT_THAT(latex, HasSubstr("\\begin{tabular}{@{}lrrrr@{}}"));
  EXPECT_THAT(latex, HasSubstr("\\toprule"));
  EXPECT_THAT(latex, HasSubstr("\\bottomrule"));
  EXPECT_THAT(latex, Not(HasSubstr("\\hline")));
  EXPECT_THAT(latex, HasSubstr("$\\Lambda$\\raisebox{-0.35ex}{\\fontsize{6}{7}\\selectfont late}"));
  EXPECT_THAT(latex, HasSubstr("{$\\lambda$-Controlled}"));
  EXPECT_THAT(latex, HasSubstr("$\\mathbf{0.9012}$"));
  EXPECT_THAT(latex, HasSubstr("$3.80\\times10^{-7}$"));
  for (const auto& line : split(latex, '\n')) {
    EXPECT_TRUE(!line.starts_with("{Base}") || std::count(line.begin(), line.end(), '&') == 4) << line;
  }
}

/// What pdflatex says of `document`, which may \input the table.
std::string latex_says(const std::string& name, const TableModel& table, const std::string& document) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("latex-" + name);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "table.tex") << table_latex(table);
  std::ofstream(folder / "document.tex") << document;
  if (const auto error = latex_error(folder / "document.tex"); !error.empty()) return error;
  return std::filesystem::exists(folder / "document.pdf") ? read_file(folder / "document.log") : "no PDF";
}

class TableInPdflatex : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_program("pdflatex")) GTEST_SKIP() << "pdflatex is not installed";
  }
};

TEST_F(TableInPdflatex, CompilesAloneAndInsideAnotherDocument) {
  for (const auto& table : {fixture_table(), hostile_table()})
    EXPECT_THAT(latex_says("alone", table, table_latex(table)), StartsWith("This is"));
  EXPECT_THAT(
      latex_says("inside", hostile_table(),
                 "\\documentclass{article}\\usepackage{booktabs,graphicx}\\begin{document}\\input{table}"
                 "\\input{table}\\end{document}\n"),
      StartsWith("This is"));
}

/// Three seeds of three methods with eight metrics, guardrails and the paper's figures: as much as a table
/// with --scorers shows.
TableModel large_table() {
  auto model = fixture_of_runs();
  const std::vector<std::string> methods = {"ratio-norm", "dual", "lambda-controlled"};
  const std::vector<std::string> metrics = {"ocr_reward", "exact_match", "a_scorer",  "b_scorer",
                                            "c_scorer",   "cer",         "cer_paper", "substring_match"};
  model.columns.resize(3);
  for (const auto& metric : metrics) {
    if (metric != "ocr_reward" && metric != "exact_match")
      model.columns.push_back({metric, "Some " + metric, Unit::kFraction, 4, Better::kUp, ""});
  }
  model.columns.push_back({"pickscore", "PickScore", Unit::kNumber, 4, Better::kUp, ""});
  model.rows.clear();
  model.reference.clear();
  model.comparisons.clear();
  const auto add_seeds = [&](const std::string& method, std::vector<TableRow>& rows) {
    for (const std::int64_t seed : {42, 43, 44}) {
      auto& row = rows.emplace_back(fixture_row(method, 80, 0.9, 0.5));
      row.seed = seed;
      for (const auto& metric : metrics) row.metrics[metric] = fixture_summary(0.5);
    }
  };
  add_seeds("base", model.reference);
  for (const auto& method : methods) add_seeds(method, model.rows);
  std::vector<std::pair<std::string, std::string>> arms = {{"ratio-norm", "dual"},
                                                           {"ratio-norm", "lambda-controlled"}};
  for (const auto& method : methods) arms.emplace_back("base", method);
  for (const auto& [baseline, method] : arms) {
    for (const auto& metric : metrics) {
      auto comparison = fixture_of_runs().comparisons[0];
      comparison.baseline = baseline;
      comparison.method = method;
      comparison.metric = metric;
      comparison.validation_delta = 0.0123;
      model.comparisons.push_back(comparison);
    }
  }
  GuardrailPanel panel;
  panel.reward = "ocr_reward";
  panel.base = "base";
  for (const auto& metric : metrics) panel.metrics.push_back({.name = metric, .title = "Some " + metric});
  for (const auto& comparison : model.comparisons) {
    panel.effects.push_back({comparison});
    panel.effects.back().judgement = {};
  }
  model.guardrails = panel;
  for (int i = 0; i < 6; ++i)
    model.notes.push_back({"A note on run " + std::string(150, 'x').replace(40, 1, " ").replace(90, 1, " ") +
                           " with -6.25 [-14.58, +0.00], 3.8e-5 and `harness check --paper`."});
  model.claims = printed_differences(model);
  return model;
}

/// What pdflatex complained of: floats larger than a page, and lines that stick out by more than 5 pt.
std::vector<std::string> misfits(const std::string& options) {
  const auto said = latex_says(options, large_table(),
                               "\\documentclass[" + options +
                                   "]{article}\\usepackage{booktabs,graphicx}\\begin{document}\\input{table}"
                                   "\\end{document}\n");
  EXPECT_THAT(said, StartsWith("This is"));
  return texts_of(split(said, '\n'), [](const std::string& line) {
    const std::string overfull = "Overfull \\hbox (";
    const bool sticks_out = line.starts_with(overfull) && std::stod(line.substr(overfull.size())) > 5;
    return sticks_out || line.find("Float too large") != std::string::npos ? line : "";
  });
}

TEST_F(TableInPdflatex, EveryFloatFitsThePageWithThreeSeedsAndThreeScorers) {
  EXPECT_THAT(misfits("a4paper,10pt"), ElementsAre());
  EXPECT_THAT(misfits("a4paper,10pt,twocolumn"), ElementsAre());
}

TEST(TableLatex, ColumnsWithoutAnyValueAreLeftOutAndNamed) {
  const auto latex = table_latex(fixture_table());
  EXPECT_THAT(latex, HasSubstr("Left out, as no row has a value: PickScore."));
  EXPECT_THAT(latex, Not(HasSubstr("PickScore $\\uparrow$")));
}

TEST(TableLatex, TheCaptionSaysHowManyTrainingRunsThereAre) {
  EXPECT_THAT(table_latex(fixture_table()),
              HasSubstr("One training run per method: differences are between these checkpoints, not between "
                        "methods.}"));
  EXPECT_THAT(table_latex(large_table()), HasSubstr("3 training runs per method.}"));
}

TEST(TableLatex, SignsAreMathematicsInCellsAndSentences) {
  const auto latex = table_latex(large_table());
  EXPECT_THAT(latex, HasSubstr("with $-6.25$ [$-14.58$, $+0.00$], $3.8\\times10^{-5}$ and "
                               "\\texttt{harness check -{}-paper}."));
  EXPECT_THAT(latex, HasSubstr("{$[{+}0.0007{,}\\,{+}0.0217]$}"));
}

TEST(TableLatex, NotesOnSingleDifferencesAreBelowTheFloatThatHasThem) {
  auto model = noted_table();
  auto to_base = model.comparisons[0];
  to_base.baseline = "base";
  model.comparisons.push_back(to_base);
  const auto latex = table_latex(model);
  const auto begin = latex.find("differences to base");
  ASSERT_NE(begin, std::string::npos);
  const auto first = latex.substr(0, begin), second = latex.substr(begin);
  EXPECT_THAT(first, HasSubstr("-Controlled $-$ RatioNorm, OCR reward: 4 of 40"));
  EXPECT_THAT(first, Not(HasSubstr("$-$ base, OCR reward")));
  EXPECT_THAT(second, HasSubstr("-Controlled $-$ base, OCR reward: 4 of 40"));
  EXPECT_THAT(second, Not(HasSubstr("$-$ RatioNorm, OCR reward")));
}

TEST(TableLatex, TheSignatureIsACommentThatNoReaderSees) {
  EXPECT_THAT(table_latex(fixture_table()), HasSubstr("\n% Signature: "));
}

TEST(TableLatex, SpeaksToReadersAndNotToThoseWhoRunIt) {
  const auto latex = table_latex(noted_table());
  for (const auto* hint : {"-seeds", "-scorers", "-per-seed", "option of early", "query failures"})
    EXPECT_THAT(latex, Not(HasSubstr(hint)));
  EXPECT_THAT(latex, Not(HasSubstr("pickscore"))) << "its column is not there";
}

TEST(TableLatex, AMetricThatRestatesAnotherIsLeftOutUnlessItIsAskedFor) {
  auto model = noted_table();
  model.columns.push_back({"cer_paper", "CER", Unit::kFraction, 4, Better::kDown, ""});
  for (auto& row : model.rows) row.metrics["cer_paper"] = fixture_summary(0.1);
  EXPECT_THAT(table_latex(model), Not(HasSubstr("CER")));
  EXPECT_THAT(table_markdown(model), HasSubstr("| CER"));
  choose({.columns = {"cer_paper"}}, model);
  EXPECT_THAT(table_latex(model), HasSubstr("CER"));
}

TEST(TableShow, PartsColumnsLabelAndNamesAreThoseAskedFor) {
  auto model = fixture_of_runs();
  choose({.with_paper = false,
          .columns = {"exact_match"},
          .parts = {"results"},
          .label = "tab:mine",
          .names = DisplayNames(std::map<std::string, std::string>{{"lambda-controlled", "Ours"}})},
         model);
  const auto latex = table_latex(model);
  EXPECT_THAT(latex, HasSubstr("\\label{tab:mine}"));
  EXPECT_THAT(latex, HasSubstr("{Ours}"));
  EXPECT_THAT(latex, Not(HasSubstr("paper")));
  EXPECT_THAT(latex, Not(HasSubstr("OCR reward")));
  EXPECT_EQ(latex.find("\\caption"), latex.rfind("\\caption")) << "one float";
  EXPECT_THAT(table_markdown(model), Not(HasSubstr("| Comparison")));
}

TEST(TableShow, FurtherPiecesOfALongTableReferToTheChosenLabel) {
  auto model = fixture_of_runs();
  model.rows.resize(60, model.rows.back());
  choose({.parts = {"results"}, .label = "tab:mine"}, model);
  const auto latex = table_latex(model);
  EXPECT_THAT(latex, HasSubstr("\\label{tab:mine}"));
  EXPECT_THAT(latex, HasSubstr("Table~\\ref{tab:mine}, continued."));
}

TEST(TableShow, TheFamilyIsThatOfAllDifferencesWhateverIsShown) {
  auto model = fixture_of_runs();
  const auto adjusted = model.comparisons[1].judgement.adjusted.p;
  choose({.columns = {"exact_match"}}, model);
  ASSERT_EQ(model.comparisons.size(), 1U);
  EXPECT_EQ(model.comparisons[0].judgement.adjusted.p, adjusted);
  EXPECT_THAT(notes_of(model), HasSubstr("in the family of all 2 questions of plan 1a2b3c4d5e6f"));
}

TEST(TableShow, UnknownNamesAreErrorsWithTheNearest) {
  auto model = fixture_table();
  const auto unknown_column = error_of([&] { choose({.columns = {"exact"}}, model); });
  EXPECT_EQ(unknown_column.where(), "--columns");
  const auto unknown_part = error_of([&] { choose({.parts = {"result"}}, model); });
  EXPECT_THAT(unknown_part.hint(), HasSubstr("did you mean \"results\"?"));
}

TEST(TableShow, APartWithoutContentIsRefusedWithThoseThatHaveSome) {
  auto model = fixture_table();
  const auto empty = error_of([&] { choose({.parts = {"results", "tags"}}, model); });
  EXPECT_THAT(empty.what(), HasSubstr("has no part tags"));
  EXPECT_THAT(empty.hint(), HasSubstr("it has results, differences"));
}

TEST(TableSummary, FitsTheTerminalAndItsLines) {
  for (auto make : {fixture_table, fixture_of_runs, noted_table, large_table}) {
    auto model = make();
    model.scale_warning =
        "Scale smoke: it says nothing about the methods, whatever it shows of anything else.";
    for (const int width : {60, 80, 120}) {
      const auto lines = split(table_summary(model, {.width = width}), '\n');
      EXPECT_LE(lines.size(), 26U);  // the last line ends
      for (const auto& line : lines) EXPECT_LE(display_width(line), width) << line;
    }
  }
}

TEST(TableSummary, HasALineAMethodAndOneAComparisonWithItsVerdict) {
  const auto text = table_summary(fixture_of_runs(), {});
  EXPECT_THAT(text, HasSubstr("lambda-controlled    80      0.9012 \u2020"));
  EXPECT_THAT(text, HasSubstr("OCR reward, difference to ratio-norm"));
  EXPECT_THAT(text, HasSubstr("lambda-controlled  +0.0112 [+0.0007, +0.0217]  better"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << "no colour was asked for";
  EXPECT_THAT(text, Not(HasSubstr("PickScore"))) << "no row has a value";
  EXPECT_THAT(table_summary(fixture_of_runs(), {.colour = true}), HasSubstr("\x1b[32m"));
  EXPECT_THAT(table_summary(fixture_table(), {.colour = true}), Not(HasSubstr("\x1b[32m")))
      << "colours speak of methods";
  EXPECT_THAT(table_summary(fixture_table(), {}), HasSubstr("no verdict on the methods"));
}

TEST(TableNames, SpecsNameUnitsAndDirections) {
  EXPECT_EQ(unit_from_name("percent"), Unit::kPercent);
  EXPECT_EQ(better_from_name("lower"), Better::kDown);
  EXPECT_THROW(unit_from_name("furlong"), Error);
  EXPECT_THROW(better_from_name("sideways"), Error);
}

/// The table with another metric in the place of the paper's exact match.
TableModel fixture_with_stand_in() {
  auto model = fixture_table();
  auto& column = model.columns[1];
  column.key = "glyph_clip";
  column.title = "glyph-CLIP score";
  column.unit = Unit::kNumber;
  column.stands_for = "exact_match";
  column.paper_metric = "Exact";
  for (auto* rows : {&model.reference, &model.rows}) {
    for (auto& row : *rows) {
      row.metrics["glyph_clip"] = row.metrics["exact_match"];
      row.metrics.erase("exact_match");
    }
  }
  for (auto& comparison : model.comparisons) {
    if (comparison.metric == "exact_match") comparison.metric = "glyph_clip";
  }
  model.levels_compare = true;
  return model;
}

TEST(StandInColumn, ThePapersFigureSaysWhatItIsOf) {
  const auto text = table_markdown(fixture_with_stand_in());
  EXPECT_THAT(text, HasSubstr("Exact 14.40"));
  EXPECT_THAT(text, HasSubstr("glyph-CLIP score replaces the paper's Exact here"));
}

TEST(StandInColumn, IsHeldAgainstNoFigureOfThePapers) {
  const auto model = fixture_with_stand_in();
  const auto text = table_markdown(model);
  EXPECT_THAT(text, HasSubstr("not comparable"));
  EXPECT_THAT(text, HasSubstr("\u00d71.55")) << "the OCR reward alone";
  for (const auto& claim : printed_differences(model)) {
    EXPECT_FALSE(claim.comparable);
    EXPECT_FALSE(claim.holds.has_value());
  }
  const auto row = table_json(model).at("rows").at(1);
  EXPECT_FALSE(row.at("paper").contains("glyph_clip"));
  EXPECT_TRUE(row.at("paper").contains("exact_match"));
}

TEST(SpreadColumn, ShowsTheStandardDeviationAndHasNoBest) {
  auto model = fixture_table();
  model.columns = {{"ocr_std", "Std.", Unit::kNumber, 3, Better::kNone, "", "", "ocr_reward"}};
  EXPECT_DOUBLE_EQ(*cell_value(model.rows[0], model.columns[0]), 0.25);
  EXPECT_FALSE(best_of_column(model, model.columns[0]).has_value());
}

TEST(BudgetColumn, IsTheSpendOverTheBudgetAndNothingWithoutOne) {
  auto row = fixture_table().rows[1];
  const TableColumn column{
      .key = "tau_share", .title = "Share of tau", .unit = Unit::kPercent, .decimals = 1};
  EXPECT_FALSE(cell_value(row, column).has_value());
  row.tau = 0.00332;
  EXPECT_EQ(format_value(cell_value(row, column), column), "10.0");
}

TEST(EveryCheckpoint, OnlyTheSelectedOneCountsForMarksAndMeans) {
  auto model = fixture_of_runs();
  model.every_checkpoint = true;
  auto other = fixture_row("lambda-controlled", 40, 0.99, 0.9);
  other.selected = false;
  model.rows.insert(model.rows.begin() + 1, other);
  EXPECT_DOUBLE_EQ(*mean_over_seeds(model, "lambda-controlled", model.columns[0]), 0.9012);
  const auto text = table_markdown(model);
  EXPECT_THAT(text, HasSubstr(std::string("80 ") + kSelectedMark));
  EXPECT_THAT(text, HasSubstr("**0.9012**"));
  EXPECT_THAT(text, Not(HasSubstr("**0.9900**")));
}

/// What becomes of the paper's +1.44 points of exact matches, which is all that it prints.
TableClaim claim_on(const PairedComparison& values) {
  auto model = fixture_table();
  model.comparisons[0].metric = "lambda_late";
  for (auto& comparison : model.comparisons) comparison.values = values;
  judge_as_planned(model);
  const auto claims = printed_differences(model);
  EXPECT_EQ(claims.size(), 1u);
  return claims.at(0);
}

PairedComparison exact(double delta, double low, double high) {
  return fixture_comparison("exact_match", delta, low, high).values;
}

TEST(PrintedDifferences, AreDecidedByTheIntervalOverTrainingRuns) {
  EXPECT_EQ(claim_on(over_three_runs(exact(0.02, 0.01, 0.03))).holds, true);
  EXPECT_EQ(claim_on(over_three_runs(exact(-0.02, -0.03, -0.01))).holds, false);
  const auto open = claim_on(over_three_runs(exact(0.02, -0.01, 0.05)));
  EXPECT_EQ(open.holds, std::nullopt);
  EXPECT_EQ(open.text, "Exact (points): lambda-controlled above ratio-norm (printed: +1.44)");
  EXPECT_EQ(open.detail, "+2.00 [-1.00, +5.00], not resolved");
}

TEST(PrintedDifferences, AreUndecidedWithOneRunAMethodAndWhereOnlyTheIntervalExcludesZero) {
  const auto one = claim_on(exact(0.02, 0.01, 0.03));
  EXPECT_STREQ(claim_verdict(one), "undecided");
  EXPECT_EQ(one.detail,
            "these checkpoints: +2.00 [+1.00, +3.00]; needs at least 3 training runs per method, 1 here");
  const Interval alone{-0.0398, -0.0002};
  const auto three = claim_on(over_three_runs(exact(-0.02, alone.low, alone.high), alone, 0.0478));
  EXPECT_EQ(three.holds, std::nullopt);
  EXPECT_EQ(three.detail, "-2.00 [-3.98, -0.02], not resolved (adjusted p 0.096)");
}

TEST(PrintedDifferences, AreNotJudgedAtAScaleThatShowsNothing) {
  const TableClaim claim{.text = "a", .holds = {}, .detail = {}, .judged = false};
  EXPECT_STREQ(claim_verdict(claim), "not judged at this scale");
  EXPECT_STREQ(claim_verdict({.text = "a", .holds = false, .detail = {}}), "does not hold");
}

TEST(ScaleWarning, StandsAboveTheTableInEveryFormat) {
  auto model = fixture_table();
  model.scale_warning = "Scale smoke: it says nothing about the methods.";
  const auto markdown = table_markdown(model);
  EXPECT_LT(markdown.find("> **Scale smoke: it says nothing"), markdown.find("| Method"));
  EXPECT_THAT(table_html(model), HasSubstr("<p class=\"warning\">Scale smoke: it says nothing"));
  EXPECT_THAT(table_latex(model), HasSubstr("\\textbf{Scale smoke: it says nothing about the methods.}}"));
}

TEST(SeveralRuns, TheIntervalThatDecidesAndItsVerdictAreInEveryFormat) {
  auto model = fixture_of_runs();
  auto& values = model.comparisons[0].values;
  values = over_three_runs(values, Interval{0.0031, 0.0193}, 0.0083);
  values.ci_seeds = Interval{-0.0059, 0.0842};
  judge_as_planned(model);
  const auto markdown = table_markdown(model);
  EXPECT_THAT(
      markdown,
      HasSubstr(
          "| +0.0112 | [+0.0019, +0.0205] |     97.5 % | 20 / 8 / 12 | 0.0083 |     0.0166 |  40 | better "));
  EXPECT_THAT(markdown, Not(HasSubstr("eeds drawn too"))) << "an interval that decides nothing";
  EXPECT_THAT(table_html(model), HasSubstr("<td>better</td>"));
  EXPECT_THAT(table_latex(model), HasSubstr("{better}"));
  EXPECT_THAT(table_csv(model), HasSubstr(",-0.0059,0.0842,"));
  EXPECT_EQ(table_json(model).at("comparisons").at(0).at("ci95_seeds"), Json::parse("[-0.0059, 0.0842]"));
}

TEST(ValidationDifference, IsBesideThatOfTheTestWhereThereIsOne) {
  auto model = fixture_table();
  EXPECT_THAT(table_markdown(model), Not(HasSubstr("\u0394 validation")));
  model.comparisons[1].validation_delta = 0.0475;
  const auto view = table_view(model);
  EXPECT_EQ(view.comparisons.columns[3].title, "\u0394 validation");
  EXPECT_EQ(view.comparisons.rows[0].cells[3].text, "\u2014");
  EXPECT_EQ(view.comparisons.rows[1].cells[3].text, "+4.75");
  EXPECT_EQ(view.comparisons.rows[2].cells.size(), view.comparisons.columns.size()) << "the paper's row";
  EXPECT_EQ(table_json(model).at("comparisons").at(1).at("validation_delta"), 0.0475);
}

/// Two small tables of another task each, under one.
TableModel fixture_of_tasks() {
  std::vector<TableModel> parts;
  for (const char* task : {"ocr", "pickscore"}) {
    auto part = fixture_table();
    part.id = fmt::format("tiny-{}", task);
    part.task = task;
    part.columns = {part.columns.front()};
    std::erase_if(part.comparisons, [](const Comparison& c) { return c.metric != "ocr_reward"; });
    if (part.task == "pickscore") part.comparisons[0].values.p_value = 0.03;
    judge_as_planned(part);
    parts.push_back(std::move(part));
  }
  parts[1].columns[0].title = "PickScore";
  parts[1].notes = {{"Of the second alone."}};
  TableModel whole;
  whole.id = "tiny";
  whole.title = "two tasks";
  whole.backbone = "glyph";
  whole.scale = "smoke";
  whole.split = "test";
  whole.baseline = "ratio-norm";
  whole.columns = {{.key = "Score", .title = "Score"}};
  whole.notes = {{"Of both."}};
  put_together(whole, std::move(parts));
  return whole;
}

TEST(TableOfTasks, HasTheirRowsBelowOneAnotherUnderItsOwnHeadings) {
  EXPECT_THAT(table_markdown(fixture_of_tasks()), HasSubstr(R"(## tiny: two tasks

Backbone glyph · scale smoke · test split · n = 40 · seed 42

| Task      | Method            | Ckpt | Score ↑ |
|:----------|:------------------|-----:|--------:|
| ocr       | base              |    0 |  0.7350 |
| ocr       | ratio-norm        |   40 |  0.8900 |
| ocr       | lambda-controlled |   80 |  0.9012 |
|           | ↳ paper           |   80 |  0.5831 |
| pickscore | base              |    0 |  0.7350 |
)"));
  const auto latex = table_latex(fixture_of_tasks());
  EXPECT_THAT(latex, HasSubstr("{ocr} & {$\\lambda$-Controlled} & {OCR reward}"));
  EXPECT_THAT(latex, HasSubstr("\\midrule\n{pickscore} & {Base}"));
  EXPECT_THAT(table_csv(fixture_of_tasks()), HasSubstr(",pickscore,,,,\n"));
}

TEST(TableOfTasks, SaysOnceWhatIsTrueOfAllAndOfTheOthersWhichTaskIsMeant) {
  const auto notes = table_view(fixture_of_tasks()).all_notes();
  const auto count = [&](const std::string& text) { return std::ranges::count(notes, text); };
  EXPECT_EQ(count("pickscore: Of the second alone."), 1);
  EXPECT_EQ(count("Of both."), 1);
  EXPECT_EQ(count("Score: OCR reward for ocr, PickScore for pickscore."), 1);
  EXPECT_EQ(
      std::ranges::count_if(notes, [](const auto& note) { return note.starts_with("Differences are"); }), 1);
}

TEST(TableOfTasks, AdjustsOverTheDifferencesOfAllTasks) {
  const auto whole = fixture_of_tasks();
  ASSERT_EQ(whole.parts.size(), 2u);
  EXPECT_DOUBLE_EQ(whole.parts[0].comparisons[0].judgement.adjusted.p.value(), 2 * 0.0167);
  EXPECT_DOUBLE_EQ(whole.parts[1].comparisons[0].judgement.adjusted.p.value(), 2 * 0.0167)
      << "they never fall";
  EXPECT_THAT(table_markdown(whole), HasSubstr("in the family of all 2 questions"));
  const auto document = table_json(whole);
  EXPECT_EQ(document.at("parts").at(1).at("table"), "tiny-pickscore");
  EXPECT_EQ(document.at("comparisons").at(1).at("task"), "pickscore");
  EXPECT_EQ(document.at("rows").size(), 4u);
}

TEST_F(TableInPdflatex, ATableOfSeveralTasksCompiles) {
  const auto whole = fixture_of_tasks();
  EXPECT_THAT(latex_says("tasks", whole, table_latex(whole)), StartsWith("This is"));
}

/// A table with figures by tag: two tags, of 10 and 30 images.
TableModel fixture_by_tag() {
  auto model = fixture_table();
  model.by_tag = "exact_match";
  const auto share = [](double mean, std::int64_t n) { return Summary{.n = n, .mean = mean, .std = 0.5}; };
  model.reference[0].by_tag = {{"counting", share(0.1, 10)}, {"single_object", share(0.5, 30)}};
  model.rows[0].by_tag = {{"counting", share(0.3, 10)}, {"single_object", share(0.6, 30)}};
  model.rows[1].by_tag = {{"counting", share(0.2, 10)}, {"single_object", share(0.7, 30)}};
  return model;
}

TEST(TableByTag, StandsBelowTheResultsInTheBenchmarksOrder) {
  const auto markdown = table_markdown(fixture_by_tag());
  EXPECT_THAT(markdown, HasSubstr(R"(
| Exact (%) by tag  | single_object (30) | counting (10) | overall of 2 tags |
|:------------------|-------------------:|--------------:|------------------:|
| base              |              50.00 |         10.00 |             30.00 |
| ratio-norm        |              60.00 |         30.00 |             45.00 |
| lambda-controlled |              70.00 |         20.00 |             45.00 |

| Comparison )"));
  EXPECT_THAT(markdown, HasSubstr("The paper prints no figures by tag."));
  EXPECT_THAT(table_markdown(fixture_table()), Not(HasSubstr("by tag")));
}

TEST(TableByTag, IsInEveryFormat) {
  const auto model = fixture_by_tag();
  EXPECT_THAT(table_latex(model), HasSubstr("results by tag of the prompts"));
  EXPECT_THAT(table_latex(model), HasSubstr("{$60.00$} & {$30.00$} & {$45.00$}"));
  EXPECT_THAT(table_html(model), HasSubstr("<th class=\"num\">single_object (30)</th>"));
  EXPECT_THAT(table_csv(model), HasSubstr("exact_match:counting,10,0,0.3,0.5"));
  EXPECT_THAT(table_csv(model), HasSubstr("base,42,0,test,exact_match:overall,,,0.3,"));
  const auto row = table_json(model).at("rows").at(0).at("by_tag");
  EXPECT_EQ(row.at("metric"), "exact_match");
  EXPECT_EQ(row.at("tags").at("counting"), (Json{{"mean", 0.3}, {"n", 10}, {"n_missing", 0}}));
  EXPECT_DOUBLE_EQ(row.at("overall"), 0.45) << "the tags count alike, whatever their number of images";
}

TEST(TableByTag, ATagWithoutAValueLeavesNoOverallFigure) {
  auto model = fixture_by_tag();
  Summary nothing;
  nothing.n_missing = 10;
  model.rows[0].by_tag["counting"] = nothing;
  EXPECT_THAT(table_markdown(model), ContainsRegex("ratio-norm +\\| +60.00 \\| +— \\| +— \\|"));
  EXPECT_TRUE(table_json(model).at("rows").at(0).at("by_tag").at("overall").is_null());
}

TEST(TableByTag, PoolsTheSeedsOfAMethod) {
  auto model = fixture_by_tag();
  auto second = model.rows[0];
  second.seed = 43;
  second.by_tag["counting"].mean = 0.5;
  model.rows.insert(model.rows.begin() + 1, second);
  const auto view = table_view(model).by_tag;
  ASSERT_EQ(view.rows.size(), 3u);
  EXPECT_EQ(view.rows[1].cells[2].text, "40.00");
}

TEST(TableOfTasks, NamesTheBackboneOfEachTask) {
  auto whole = fixture_of_tasks();
  whole.parts[1].backbone = "shapes";
  EXPECT_THAT(table_markdown(whole), HasSubstr("Backbones glyph (ocr), shapes (pickscore) ·"));
  EXPECT_EQ(table_json(whole).at("parts").at(1).at("backbone"), "shapes");
}

TEST(TableOfTasks, ShowsByTagWhatOneOfThemHas) {
  auto whole = fixture_of_tasks();
  whole.parts[1].by_tag = "ocr_reward";
  for (auto& row : whole.parts[1].rows) row.by_tag = {{"colors", fixture_summary(0.25)}};
  EXPECT_THAT(table_markdown(whole), HasSubstr("| pickscore | ratio-norm        |      0.2500 |"));
}

}  // namespace
}  // namespace harness

#include "results/verdict/leaderboard.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "results/table/table_judgement.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// A method whose values are the baseline's plus `delta` and what each run and prompt add to it.
PairedComparison comparison(double delta, int runs = 3, double noise = 0.02) {
  std::vector<PairedValue> pairs;
  for (int run = 0; run < runs; ++run) {
    for (int prompt = 0; prompt < 60; ++prompt) {
      const double baseline = 0.5 + 0.1 * ((prompt * 7 + run) % 5);
      const double moved = noise * (((prompt * 13 + run * 5) % 11) - 5) / 5.0;
      pairs.push_back(
          {.baseline = baseline, .method = baseline + delta + moved, .cluster = prompt, .seed = run});
    }
  }
  return compare_paired(pairs, Better::kUp);
}

Leaderboard empty_board() {
  return {.metric = "ocr_reward", .baseline = "flow-grpo", .has_second_view = true};
}

/// Its difference at equal images is judged as the only question of its family, or at this share of the
/// level.
LeaderboardEvidence evidence(const std::string& method, double mean, std::optional<PairedComparison> images,
                             std::optional<PairedComparison> evaluations, double share = 1) {
  LeaderboardEvidence row{.method = method, .mean = mean};
  if (images) {
    const AdjustedP adjusted{.p = *p_value_of(*images) / share, .over = 1, .share = share};
    row.judgement = judge(*images, Better::kUp, {.adjusted = adjusted});
  }
  row.at_images = std::move(images);
  row.at_evaluations = std::move(evaluations);
  return row;
}

LeaderboardRow decided(const LeaderboardEvidence& row) {
  const auto board = leaderboard(empty_board(), {evidence("flow-grpo", 0.5, {}, {}), row}, {});
  return board.rows.back();
}

TEST(Leaderboard, CallsAMethodBetterThatIsSoAtBothViews) {
  const auto row = decided(evidence("dual", 0.6, comparison(0.1), comparison(0.1)));
  EXPECT_EQ(row.standing, Standing::kBetter);
  EXPECT_EQ(row.verdict, "better");
  EXPECT_EQ(decided(evidence("dual", 0.4, comparison(-0.1), comparison(-0.1))).verdict, "worse");
}

TEST(Leaderboard, SplitsTheVerdictWhereTheSecondViewTurnsItRound) {
  EXPECT_EQ(decided(evidence("dual", 0.6, comparison(0.1), comparison(-0.1))).verdict,
            "better per image, worse per evaluation");
  EXPECT_EQ(decided(evidence("dual", 0.4, comparison(-0.1), comparison(0.1))).verdict,
            "worse per image, better per evaluation");
}

TEST(Leaderboard, NothingShownAtEqualEvaluationsIsLessThanBetterOrWorse) {
  const auto row = decided(evidence("dual", 0.6, comparison(0.1), comparison(0)));
  EXPECT_EQ(row.standing, Standing::kBetterPerImage);
  EXPECT_EQ(row.verdict, "better per image, no difference shown at equal evaluations");
  EXPECT_EQ(decided(evidence("dual", 0.4, comparison(-0.1), comparison(0))).verdict,
            "worse per image, no difference shown at equal evaluations");
}

TEST(Leaderboard, TheSecondViewIsHeardAtTheLevelThatTestedTheFirst) {
  const auto second = comparison(0.001);  // p 0.017
  ASSERT_TRUE(interval_of(second)->excludes_zero());
  EXPECT_EQ(decided(evidence("dual", 0.6, comparison(0.1), second)).verdict, "better");
  EXPECT_EQ(decided(evidence("dual", 0.6, comparison(0.1), second, 0.1)).verdict,
            "better per image, no difference shown at equal evaluations");
}

TEST(Leaderboard, SaysSoWhereThereIsNoSecondView) {
  EXPECT_EQ(decided(evidence("dual", 0.6, comparison(0.1), std::nullopt)).verdict,
            "better per image, not compared at equal evaluations");
}

TEST(Leaderboard, HearsNoSecondViewOfTooFewRuns) {
  EXPECT_EQ(decided(evidence("dual", 0.6, comparison(0.1), comparison(-0.1, 2))).verdict,
            "better per image, not compared at equal evaluations");
}

TEST(Leaderboard, ShowsNoDifferenceWhereNoneIs) {
  EXPECT_EQ(decided(evidence("dual", 0.5, comparison(0.0005), comparison(0.1))).verdict,
            "no difference shown");
  EXPECT_EQ(decided(evidence("dual", 0.5, std::nullopt, std::nullopt)).verdict, "not compared");
}

TEST(Leaderboard, SpeaksOfCheckpointsBelowThreeRunsAndWhereAScaleJudgesNoMethods) {
  EXPECT_EQ(decided(evidence("dual", 0.6, comparison(0.1, 2), comparison(0.1, 2))).standing,
            Standing::kCheckpointsDiffer);
  auto values = comparison(0.1);
  values.judges_methods = false;
  EXPECT_EQ(decided(evidence("dual", 0.6, values, values)).verdict, "these checkpoints differ");
}

TEST(Leaderboard, NamesTheGuardrailsThatAreWorse) {
  auto row = evidence("dual", 0.6, comparison(0.1), comparison(0.1));
  row.worse_guardrails = {"CER", "PickScore"};
  EXPECT_EQ(decided(row).verdict, "better; worse: CER, PickScore");
}

TEST(Leaderboard, NamesThoseOfTheWinnerAloneAndNoneWhereNobodyWins) {
  auto row = evidence("dual", 0.5, comparison(0.0005), comparison(0.1));
  row.worse_guardrails = {"CER"};
  EXPECT_EQ(decided(row).verdict, "no difference shown");
  row = evidence("dual", 0.4, comparison(-0.1), comparison(-0.1));
  row.worse_guardrails = {"CER"};
  row.better_guardrails = {"PickScore"};
  EXPECT_EQ(decided(row).verdict, "worse; flow-grpo is worse: PickScore");
}

TEST(Leaderboard, ShowsNoDifferenceThatItsFamilyDoesNotResolveThoughItsIntervalExcludesZero) {
  auto row = evidence("dual", 0.6, comparison(0.1), comparison(0.1));
  row.judgement =
      judge(*row.at_images, Better::kUp, {.adjusted = AdjustedP{.p = 0.06, .over = 9, .share = 0.001}});
  EXPECT_EQ(decided(row).verdict, "no difference shown");
  EXPECT_EQ(decided(row).standing, Standing::kNoDifference);
}

TEST(Leaderboard, SaysEqualWithinTheMarginOfThePlan) {
  auto row = evidence("dual", 0.5, comparison(0.001), comparison(0.001));
  row.judgement = judge(*row.at_images, Better::kUp,
                        {.adjusted = AdjustedP{.p = 0.9, .over = 9, .share = 0.5}, .equal_within = 0.2});
  EXPECT_EQ(decided(row).verdict, "equal within 0.2 at equal images");
  EXPECT_EQ(standing_name(decided(row).standing), "equal");
}

TEST(Leaderboard, OfAQuestionOfNoFamilyIsExploratory) {
  auto row = evidence("dual", 0.6, comparison(0.1), comparison(0.1));
  row.judgement = judge(*row.at_images, Better::kUp, {});
  row.worse_guardrails = {"CER"};
  EXPECT_EQ(decided(row).standing, Standing::kExploratory);
  EXPECT_EQ(decided(row).verdict, "exploratory") << "there is no winner who could be worse";
  EXPECT_EQ(standing_name(Standing::kExploratory), "exploratory");
}

TEST(Leaderboard, OrdersByGroupsAndWithinThemAsTheTable) {
  const std::vector<LeaderboardEvidence> rows{evidence("flow-grpo", 0.5, {}, {}),
                                              evidence("low", 0.3, comparison(-0.2), {}),
                                              evidence("high", 0.52, comparison(0.02), {})};
  const auto board = leaderboard(empty_board(), rows, {{0, 1, true}, {0, 2, false}, {1, 2, true}});
  ASSERT_EQ(board.rows.size(), 3U);
  EXPECT_EQ(board.rows[0].method, "flow-grpo");
  EXPECT_EQ(board.rows[0].groups, "a");
  EXPECT_EQ(board.rows[1].method, "high");
  EXPECT_EQ(board.rows[1].groups, "a");
  EXPECT_EQ(board.rows[2].groups, "b");
  EXPECT_TRUE(board.has_groups);
}

// Letters beyond z and noisy rows with many letters must not pull a row up.
TEST(Leaderboard, OrdersManyGroupsByTheHighestMeanAmongRowsOfTheSameLetters) {
  constexpr std::size_t kRows = 60;
  std::vector<LeaderboardEvidence> rows;
  std::vector<LeaderboardPair> pairs;
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto name = i == 0 ? "flow-grpo" : fmt::format("m{}", i);
    rows.push_back(evidence(name, 1 - 0.01 * static_cast<double>(i), {}, {}));
    for (std::size_t j = 0; j < i; ++j)
      pairs.push_back({j, i, i + 1 < kRows && i - j > 1});  // the last is noisy
  }
  const auto board = leaderboard(empty_board(), rows, pairs);
  for (std::size_t i = 0; i < kRows; ++i)
    EXPECT_EQ(*board.rows[i].mean, 1 - 0.01 * static_cast<double>(i)) << board.rows[i].groups;
}

/// A table of this difference and of two thousand in other metrics.
TableModel table_with(const PairedComparison& difference) {
  TableModel model;
  model.baseline = "flow-grpo";
  model.columns = {{"ocr_reward", "OCR reward", Unit::kFraction, 4, Better::kUp, ""}};
  const auto add = [&](const std::string& metric, const PairedComparison& values) {
    model.comparisons.push_back(
        {.metric = metric, .baseline = model.baseline, .method = "dual", .values = values});
  };
  add("ocr_reward", difference);
  const auto nothing = comparison(0);
  for (int i = 0; i < 2000; ++i) add(fmt::format("metric-{}", i), nothing);
  return model;
}

/// Its leaderboard, from verdicts of the table's family.
Leaderboard board_of(const TableModel& model, const PairedComparison& at_evaluations) {
  const auto& c = model.comparisons.front();
  auto row = evidence("dual", 0.6, c.values, at_evaluations);
  row.judgement = c.judgement;
  return leaderboard(empty_board(), {evidence("flow-grpo", 0.5, {}, {}), row}, {});
}

TEST(Leaderboard, HasTheVerdictOfTheTablesOneFamily) {
  // Shown among few questions, not among two thousand that are tested alike.
  const auto difference = comparison(0.003);
  auto model = table_with(difference);
  ask_all({}, model);
  judge_comparisons(model);
  EXPECT_FALSE(model.comparisons[0].judgement.resolved());
  EXPECT_EQ(board_of(model, difference).rows.back().standing, Standing::kNoDifference);
  ask_all({.primary = "ocr_reward"}, model);
  judge_comparisons(model);
  model.leaderboard = board_of(model, difference);
  heed_leaderboard(model);
  EXPECT_EQ(model.leaderboard->rows.back().standing, Standing::kBetter);
  EXPECT_TRUE(model.comparisons[0].judgement.resolved());
  EXPECT_EQ(model.comparisons[0].judgement.text, "better");
  EXPECT_FALSE(model.comparisons[1].judgement.resolved());
}

TEST(Leaderboard, ADifferenceThatIsReversedOrNotShownAtEqualEvaluationsIsResolvedNowhere) {
  const std::map<double, std::string> texts = {
      {-0.1, "better per image, worse per evaluation"},
      {0, "better per image, no difference shown at equal evaluations"}};
  for (const auto& [at_evaluations, text] : texts) {
    auto model = table_with(comparison(0.1));
    ask_all({.primary = "ocr_reward"}, model);
    judge_comparisons(model);
    ASSERT_TRUE(model.comparisons[0].judgement.resolved());
    model.leaderboard = board_of(model, comparison(at_evaluations));
    heed_leaderboard(model);
    EXPECT_FALSE(model.comparisons[0].judgement.resolved());
    EXPECT_EQ(model.comparisons[0].judgement.text, text);
  }
}

TEST(Leaderboard, CsvHoldsBothViews) {
  auto row = evidence("dual", 0.6, comparison(0.1), comparison(0.05));
  TableModel model;
  model.leaderboard = leaderboard(empty_board(), {evidence("flow-grpo", 0.5, {}, {}), row}, {});
  const auto csv = table_csv(model);
  for (const char* line :
       {"\nleaderboard,flow-grpo,dual,", "\nleaderboard-difference,flow-grpo,dual,,,,ocr_reward,180,,",
        "\nleaderboard-difference,flow-grpo,dual,,,,ocr_reward:equal_evaluations,180,,"})
    EXPECT_NE(csv.find(line), std::string::npos) << line << csv;
}

TEST(Leaderboard, HtmlSetsItInTwoTablesThatFitAPage) {
  std::vector<LeaderboardEvidence> rows{evidence("flow-grpo", 0.5, {}, {}),
                                        evidence("dual", 0.6, comparison(0.1), comparison(0.05))};
  rows.back().notes = {"never clipped"};
  TableModel model;
  model.id = "board";
  model.show.parts = {"leaderboard"};
  model.leaderboard = leaderboard(empty_board(), rows, {});
  const auto html = table_html(model);
  const auto verdicts = html.find("<table>"), costs = html.find("<table>", verdicts + 1);
  ASSERT_NE(costs, std::string::npos);
  EXPECT_LT(html.find(">Verdict<"), costs);
  EXPECT_GT(html.find(">Remarks<"), costs);
}

// One of 12 columns and 35 rows would be shrunk to letters of 3 points.
TEST(Leaderboard, LatexSetsItInTwoFloatsWhoseWordsWrap) {
  std::vector<LeaderboardEvidence> rows{evidence("flow-grpo", 0.5, {}, {})};
  for (int i = 0; i < 34; ++i) {
    rows.push_back(evidence(fmt::format("m{}", i), 0.6, comparison(0.1), comparison(0.05)));
    rows.back().notes = {"movement not comparable", "never clipped in 3 of 8 runs", "images 400 and 384"};
  }
  TableModel model;
  model.id = "board";
  model.show.parts = {"leaderboard"};
  model.leaderboard = leaderboard(empty_board(), rows, {});
  const auto latex = table_latex(model);
  EXPECT_NE(latex.find("\\label{tab:board-leaderboard}"), std::string::npos);
  const auto second = latex.find("\\label{tab:board-leaderboard-costs}");
  ASSERT_NE(second, std::string::npos);
  EXPECT_EQ(latex.substr(0, second).find("Remarks"), std::string::npos);
  EXPECT_EQ(latex.find("Notes on Table"), std::string::npos) << "there is room on the page";
  EXPECT_LT(latex.rfind("Verdict against"), second);
  EXPECT_NE(latex.find("p{4.6cm}", second), std::string::npos);
  EXPECT_NE(latex.find("\\raggedright movement not comparable", second), std::string::npos);
  EXPECT_NE(latex.find("\\label{tab:board-leaderboard-costs-2}"), std::string::npos)
      << "35 rows of two lines are more than a page";
}

}  // namespace
}  // namespace harness

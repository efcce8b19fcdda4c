#include "results/verdict/leaderboard.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

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

LeaderboardEvidence evidence(const std::string& method, double mean, std::optional<PairedComparison> images,
                             std::optional<PairedComparison> evaluations) {
  return {.method = method,
          .mean = mean,
          .at_images = std::move(images),
          .at_evaluations = std::move(evaluations)};
}

LeaderboardRow decided(const LeaderboardEvidence& row) {
  const auto board = leaderboard(empty_board(), {evidence("flow-grpo", 0.5, {}, {}), row}, {});
  return board.rows.back();
}

TEST(Leaderboard, CallsAMethodBetterThatIsSoAtBothViews) {
  const auto row = decided(evidence("dual", 0.6, comparison(0.1), comparison(0.1)));
  EXPECT_EQ(row.standing, Standing::kBetter);
  EXPECT_EQ(row.verdict, "better");
  EXPECT_EQ(decided(evidence("dual", 0.6, comparison(0.1), comparison(0))).verdict, "better")
      << "nothing shown at equal evaluations is no reversal";
  EXPECT_EQ(decided(evidence("dual", 0.4, comparison(-0.1), comparison(-0.1))).verdict, "worse");
}

TEST(Leaderboard, SplitsTheVerdictWhereTheSecondViewTurnsItRound) {
  EXPECT_EQ(decided(evidence("dual", 0.6, comparison(0.1), comparison(-0.1))).verdict,
            "better per image, worse per evaluation");
  EXPECT_EQ(decided(evidence("dual", 0.4, comparison(-0.1), comparison(0.1))).verdict,
            "worse per image, better per evaluation");
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

TEST(Leaderboard, AdjustsOverTheComparisonsWithTheBaseline) {
  std::vector<LeaderboardEvidence> rows{evidence("flow-grpo", 0.5, {}, {})};
  const auto alone = leaderboard(empty_board(), {rows[0], evidence("m", 0.6, comparison(0.01), {})}, {});
  for (int i = 0; i < 4; ++i) rows.push_back(evidence("m" + std::to_string(i), 0.6, comparison(0.01), {}));
  const auto all = leaderboard(empty_board(), rows, {});
  EXPECT_EQ(all.compared, 4U);
  EXPECT_NEAR(*all.rows[1].judgement.adjusted.p, std::min(1.0, 4 * *alone.rows[1].judgement.adjusted.p),
              1e-12);
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

/// A table whose differences in other metrics make its own family large.
TableModel table_with(const Leaderboard& board, const PairedComparison& difference) {
  TableModel model;
  model.baseline = board.baseline;
  const auto add = [&](const std::string& metric, const PairedComparison& values) {
    model.comparisons.push_back(
        {.metric = metric, .baseline = board.baseline, .method = "dual", .values = values});
  };
  add(board.metric, difference);
  for (int i = 0; i < 2000; ++i) add(fmt::format("metric-{}", i), comparison(0));
  model.leaderboard = board;
  return model;
}

TEST(Leaderboard, JudgesItsDifferencesOnceForTheWholeTable) {
  // Shown among few comparisons, not among two thousand.
  const auto difference = comparison(0.003);
  const auto board = leaderboard(
      empty_board(), {evidence("flow-grpo", 0.5, {}, {}), evidence("dual", 0.6, difference, difference)}, {});
  ASSERT_EQ(board.rows.back().standing, Standing::kBetter);
  auto model = table_with(board, difference);
  model.leaderboard.reset();
  judge_comparisons(model);
  ASSERT_FALSE(model.comparisons[0].judgement.resolved());
  model.leaderboard = board;
  judge_comparisons(model);
  EXPECT_TRUE(model.comparisons[0].judgement.resolved());
  EXPECT_EQ(model.comparisons[0].judgement.adjusted.p, board.rows.back().judgement.adjusted.p);
  EXPECT_FALSE(model.comparisons[1].judgement.resolved());
}

TEST(Leaderboard, ADifferenceThatIsReversedAtEqualEvaluationsIsResolvedNowhere) {
  const auto difference = comparison(0.1);
  const auto board = leaderboard(
      empty_board(),
      {evidence("flow-grpo", 0.5, {}, {}), evidence("dual", 0.6, difference, comparison(-0.1))}, {});
  auto model = table_with(board, difference);
  judge_comparisons(model);
  EXPECT_FALSE(model.comparisons[0].judgement.resolved());
  EXPECT_EQ(model.comparisons[0].judgement.text, "better per image, worse per evaluation");
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

// One of 11 columns and 35 rows would be shrunk to letters of 3 points.
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

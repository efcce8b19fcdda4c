#include "results/yardstick.h"

#include <gmock/gmock.h>

#include <cmath>

#include "results/table_view.h"
#include "tests/results/table_fixture.h"

namespace harness {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kPrompts = 40;
constexpr BootstrapSettings kSettings{.resamples = 2000};

/// Two equal rows: run s differs by shifts[s] on the mean of the prompts, each prompt by 0.1 more or less.
EqualPair equal_pair(const std::string& first, const std::string& second, const std::vector<double>& shifts,
                     const std::string& metric = "ocr_reward") {
  EqualPair pair{.first = first, .second = second, .metric = metric};
  for (std::size_t run = 0; run < shifts.size(); ++run) {
    for (int prompt = 0; prompt < kPrompts; ++prompt) {
      pair.pairs.push_back({.baseline = 0.5,
                            .method = 0.5 + shifts[run] + (prompt % 2 == 0 ? 0.1 : -0.1),
                            .cluster = prompt,
                            .seed = static_cast<std::int64_t>(run) + 42});
    }
  }
  return pair;
}

TEST(Yardstick, IsTheSpreadOfRunsAboutZero) {
  const std::vector<EqualPair> pairs = {equal_pair("a", "b", {0.5, 0.51, 0.49, 0.3, -0.3, 0, 0, 0})};
  const auto metrics = yardstick_metrics(pairs, kSettings);
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].differences, 8);
  EXPECT_NEAR(metrics[0].run_sd, std::sqrt(0.9302 / 8), 1e-12);
}

TEST(Yardstick, JudgesEachRunAndEachThreeRunsOnce) {
  const std::vector<EqualPair> pairs = {equal_pair("a", "b", {0.5, 0.51, 0.49, 0.3, -0.3, 0, 0, 0})};
  const auto metric = yardstick_metrics(pairs, kSettings).at(0);
  EXPECT_EQ(metric.checkpoints.comparisons, 8);
  EXPECT_EQ(metric.checkpoints.called, 5) << "a standard error over prompts of 0.016";
  EXPECT_EQ(metric.methods.comparisons, 2) << "runs 1 to 3 and 4 to 6; two are left over";
  EXPECT_EQ(metric.methods.called, 1) << "the runs of the first three agree";
}

TEST(Yardstick, PoolsAllPairsOfRows) {
  const std::vector<EqualPair> pairs = {equal_pair("a", "b", {0.1, 0}), equal_pair("a", "c", {0, 0.1}),
                                        equal_pair("b", "c", {-0.1, 0.1})};
  const auto metric = yardstick_metrics(pairs, kSettings).at(0);
  EXPECT_EQ(metric.differences, 6);
  EXPECT_NEAR(metric.run_sd, std::sqrt(0.04 / 6), 1e-12);
  EXPECT_EQ(metric.checkpoints.comparisons, 6);
  EXPECT_EQ(metric.methods.comparisons, 0) << "two runs make no claim about methods";
}

TEST(Yardstick, OfAMetricThatNothingMeasuredIsNone) {
  auto empty = equal_pair("a", "b", {0.1, 0.2}, "pickscore");
  for (auto& pair : empty.pairs) pair.method.reset();
  const std::vector<EqualPair> pairs = {empty, equal_pair("a", "b", {0, 0}, "cer")};
  const auto metrics = yardstick_metrics(pairs, kSettings);
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].metric, "cer");
  EXPECT_NEAR(metrics[0].run_sd, 0, 1e-15);
  EXPECT_TRUE(yardstick_metrics({}).empty());
}

Yardstick fixture_yardstick() {
  return {.experiment = 3,
          .table = "aa",
          .method = "ratio-norm",
          .rows = {"ratio-norm", "twin"},
          .seeds = {42, 43, 44},
          .split = "test",
          .metrics = {{.metric = "ocr_reward", .run_sd = 0.0063, .differences = 9},
                      {.metric = "exact_match",
                       .run_sd = 0.012,
                       .differences = 9,
                       .methods = {.comparisons = 3, .called = 1},
                       .checkpoints = {.comparisons = 9, .called = 4}}}};
}

TEST(Yardstick, StandsUnderATableInTheUnitsOfItsColumns) {
  auto model = fixture_table();
  EXPECT_THAT(difference_notes(model), Not(Contains(HasSubstr("Yardstick"))));
  model.yardstick = fixture_yardstick();
  EXPECT_THAT(
      difference_notes(model),
      AllOf(Contains("Yardstick: two runs of one method (ratio-norm; experiment 3, table aa) differ by "
                     "0.0063 in OCR reward, 1.20 in Exact (points) (standard deviation of a paired "
                     "difference between two runs, 9 differences)."),
            Not(Contains(HasSubstr("equal rows")))));
  const auto document = table_json(model).at("yardstick");
  EXPECT_EQ(document.at("experiment"), 3);
  EXPECT_EQ(document.at("metrics").at("ocr_reward").at("run_sd"), 0.0063);
  EXPECT_DOUBLE_EQ(document.at("metrics").at("exact_match").at("methods").at("share"), 1.0 / 3);
  EXPECT_TRUE(document.at("metrics").at("ocr_reward").at("methods").at("share").is_null());
}

TEST(Yardstick, UnderItsOwnTableSaysHowOftenEqualRowsWereCalledDifferent) {
  auto model = fixture_table();
  model.yardstick = fixture_yardstick();
  model.yardstick->is_own = true;
  EXPECT_THAT(
      difference_notes(model),
      AllOf(Contains(HasSubstr("(ratio-norm; rows ratio-norm; twin)")),
            Contains("Verdicts between these equal rows, in 2 metrics: better or worse, each time "
                     "falsely, in 1 of 3 comparisons of 3 runs a row; these checkpoints differ in 4 of 9 "
                     "comparisons of one run a row, as checkpoints of one method do.")));
}

TEST(Yardstick, OfItsOwnTableIsABlockInEveryFormat) {
  auto model = fixture_table();
  model.yardstick = fixture_yardstick();
  EXPECT_TRUE(table_view(model).yardstick.rows.empty()) << "another table's is a note";
  model.yardstick->is_own = true;
  const auto rows = table_view(model).yardstick.rows;
  ASSERT_EQ(rows.size(), 2u);
  std::vector<std::string> cells;
  for (const auto& cell : rows[1].cells) cells.push_back(cell.text);
  EXPECT_THAT(cells, ::testing::ElementsAre("Exact (points)", "1.20", "9", "1 of 3", "4 of 9"));
  for (const auto& text : {table_markdown(model), table_html(model), table_latex(model)})
    EXPECT_THAT(text, AllOf(HasSubstr("Runs of one method"), HasSubstr("4 of 9")));
}

/// fixture_of_runs with the rows of its three runs.
TableModel fixture_of_rows() {
  auto model = fixture_of_runs();
  model.rows.clear();
  for (const int run : {0, 1, 2}) {
    for (const auto& [method, mean] : {std::pair("ratio-norm", 0.89), std::pair("lambda-controlled", 0.95)}) {
      model.rows.push_back(fixture_row(method, 40, mean + 0.01 * run, 0.5));
      model.rows.back().seed = 42 + run;
    }
  }
  return model;
}

TEST(Discriminability, OfATableOfThreeRunsIsSaidOnceAndGivenForEveryMetric) {
  const auto model = fixture_of_rows();
  const auto entries = discriminability_of(model);
  ASSERT_EQ(entries.size(), 2u);
  // By hand: MS_B = 3 * 2 * 0.03^2, MS_W = 4 * 0.01^2 / 4
  EXPECT_NEAR(*entries[0].intraclass_correlation, (0.0054 - 0.0001) / (0.0054 + 2 * 0.0001), 1e-12);
  EXPECT_NEAR(*entries[0].largest, 0.0112 / (0.001 / std::sqrt(3.0)), 1e-9);
  EXPECT_EQ(entries[0].method, "lambda-controlled");
  EXPECT_FALSE(entries[1].intraclass_correlation.has_value()) << "all rows are equal";
  EXPECT_THAT(difference_notes(model),
              Contains(AllOf(HasSubstr("Rows by method: intraclass correlation 0.95 in OCR reward"),
                             HasSubstr("largest difference to ratio-norm 19.4 standard errors over runs"))));
  const auto document = table_json(model).at("discriminability");
  ASSERT_EQ(document.size(), 2u);
  EXPECT_EQ(document[0].at("runs"), 3);
  EXPECT_TRUE(document[1].at("intraclass_correlation").is_null());
}

TEST(Discriminability, OfOneRunAMethodIsNotKnown) {
  EXPECT_TRUE(discriminability_of(fixture_table()).empty());
  EXPECT_FALSE(table_json(fixture_table()).contains("discriminability"));
}

}  // namespace
}  // namespace harness

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "results/table/equal_rows.h"
#include "results/table/table_view.h"
#include "tests/results/table_fixture.h"

namespace harness {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kPrompts = 40;
constexpr BootstrapSettings kSettings{.resamples = 2000};

/// Two equal rows; `values` gives both of a run's prompt, the sign telling every other prompt.
EqualPair pair_of(std::size_t runs,
                  const std::function<std::pair<double, double>(std::size_t, double)>& values) {
  EqualPair pair{.first = "a", .second = "b", .metric = "ocr_reward"};
  for (std::size_t run = 0; run < runs; ++run) {
    for (int prompt = 0; prompt < kPrompts; ++prompt) {
      const auto [baseline, method] = values(run, prompt % 2 == 0 ? 1 : -1);
      pair.pairs.push_back({baseline, method, prompt, static_cast<std::int64_t>(run) + 42});
    }
  }
  return pair;
}

/// Run s differs by shifts[s] on the mean of the prompts, each prompt by 0.1 more or less.
EqualPair equal_pair(const std::vector<double>& shifts) {
  return pair_of(shifts.size(), [&](std::size_t run, double sign) {
    return std::pair(0.5, 0.5 + shifts[run] + sign * 0.1);
  });
}

/// Equal rows with these means of runs.
EqualPair equal_runs(const std::vector<double>& means) {
  return pair_of(means.size(), [&](std::size_t run, double sign) {
    const double value = means[run] + sign * 0.01 * static_cast<double>(run + 1);  // no shift is constant
    return std::pair(value, value);
  });
}

TEST(Yardstick, IsWhatRunsWithDifferentSeedsDifferBy) {
  // Two rows of the means 0, 0.1, 0.2: a variance of 0.01 each.
  const std::vector<EqualPair> pairs = {equal_runs({0.5, 0.6, 0.7})};
  const auto metric = yardstick_metrics(pairs, kSettings).at(0);
  EXPECT_NEAR(*metric.run_sd, std::sqrt(2 * 0.01), 1e-12);
  EXPECT_EQ(metric.runs, 3);
  EXPECT_NEAR(metric.same_seed_sd, 0, 1e-15) << "the same seed made the same run";
  const std::vector<EqualPair> one = {equal_runs({0.5})};
  EXPECT_FALSE(yardstick_metrics(one, kSettings).at(0).run_sd) << "one seed tells no spread";
}

TEST(Yardstick, OfTheSameSeedIsTheSpreadAboutZero) {
  const std::vector<EqualPair> pairs = {equal_pair({0.5, 0.51, 0.49, 0.3, -0.3, 0, 0, 0})};
  const auto metrics = yardstick_metrics(pairs, kSettings);
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].differences, 8);
  EXPECT_NEAR(metrics[0].same_seed_sd, std::sqrt(0.9302 / 8), 1e-12);
}

TEST(Yardstick, JudgesRunsOfDifferentSeedsAgainstOneAnother) {
  // Two and two seeds, each way; three against three once each way; two seeds are left over.
  const std::vector<EqualPair> pairs = {equal_runs({0.5, 0.6, 0.5, 0.5, 0.5, 0.6, 0.5, 0.5})};
  const auto metric = yardstick_metrics(pairs, kSettings).at(0);
  EXPECT_EQ(metric.checkpoints.comparisons, 8);
  EXPECT_EQ(metric.checkpoints.called, 4) << "42 and 43, 46 and 47";
  EXPECT_EQ(metric.methods.comparisons, 2);
  EXPECT_EQ(metric.methods.called, 0) << "0.5 0.6 0.5 against 0.5 0.5 0.6";
  const std::vector<EqualPair> apart = {equal_runs({0.5, 0.51, 0.49, 0.8, 0.82, 0.8})};
  EXPECT_EQ(yardstick_metrics(apart, kSettings).at(0).methods.called, 2) << "seeds that fall so are chance";
}

TEST(Yardstick, PoolsAllPairsOfRows) {
  std::vector<EqualPair> pairs = {equal_pair({0.1, 0}), equal_pair({0, 0.1}), equal_pair({-0.1, 0.1})};
  pairs[1].second = pairs[2].second = "c";
  pairs[2].first = "b";
  const auto metric = yardstick_metrics(pairs, kSettings).at(0);
  EXPECT_EQ(metric.differences, 6);
  EXPECT_NEAR(metric.same_seed_sd, std::sqrt(0.04 / 6), 1e-12);
  EXPECT_EQ(metric.checkpoints.comparisons, 6);
  EXPECT_EQ(metric.methods.comparisons, 0) << "two runs make no claim about methods";
}

TEST(Yardstick, OfAMetricThatNothingMeasuredIsNone) {
  std::vector<EqualPair> pairs = {equal_pair({0.1, 0.2}), equal_pair({0, 0})};
  pairs[0].metric = "pickscore";
  pairs[1].metric = "cer";
  for (auto& pair : pairs[0].pairs) pair.method.reset();
  const auto metrics = yardstick_metrics(pairs, kSettings);
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].metric, "cer");
  EXPECT_NEAR(*metrics[0].run_sd, 0, 1e-15);
  EXPECT_TRUE(yardstick_metrics({}).empty());
}

Yardstick fixture_yardstick() {
  return {.experiment = 3,
          .table = "aa",
          .method = "ratio-norm",
          .rows = {"ratio-norm", "twin"},
          .seeds = {42, 43, 44},
          .split = "test",
          .metrics = {
              {.metric = "ocr_reward", .run_sd = 0.0063, .runs = 3, .same_seed_sd = 0.0004, .differences = 9},
              {.metric = "exact_match",
               .run_sd = 0.012,
               .runs = 3,
               .same_seed_sd = 0.002,
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
      AllOf(Contains("Yardstick: two runs of one method (ratio-norm; experiment 3, table aa) with different "
                     "seeds differ by 0.0063 in OCR reward, 1.20 in Exact (points) (standard deviation of a "
                     "difference, from 3 runs per row). With the same seed and a meaningless change: 0.0004 "
                     "in OCR reward."),
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
            Contains("Verdicts between runs of these equal rows with different seeds, in 2 metrics: better "
                     "or worse, each time falsely, in 1 of 3 comparisons of 3 runs per row; these "
                     "checkpoints differ in 4 of 9 comparisons of one run per row, as checkpoints of one "
                     "method do.")));
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
  EXPECT_THAT(cells, ::testing::ElementsAre("Exact (points)", "1.20", "0.20", "3", "1 of 3", "4 of 9"));
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
                             Not(HasSubstr("Furthest")))))
      << "of two methods there is no furthest";
  auto of_three = model;
  for (int run = 0; run < 3; ++run) {
    of_three.rows.push_back(fixture_row("dual", 40, 0.90 + 0.01 * run, 0.5));
    of_three.rows.back().seed = 42 + run;
  }
  EXPECT_THAT(
      difference_notes(of_three),
      Contains(HasSubstr("Furthest from ratio-norm in standard errors over runs: lambda-controlled, 19.4")));
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

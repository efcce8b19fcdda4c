#include "results/verdict/discriminability.h"

#include <gtest/gtest.h>

#include <cmath>

namespace harness {
namespace {

TEST(IntraclassCorrelation, AgreesWithShroutAndFleiss) {
  // Shrout and Fleiss 1979, Table 2: six targets, four judges; ICC(1,1) = .17 in Table 4. 0.16574 from the
  // table's mean squares, BMS 11.24 and WMS 6.26, with more digits.
  const double ratings[6][4] = {{9, 2, 5, 8}, {6, 1, 3, 2},  {8, 4, 6, 8},
                                {7, 1, 2, 6}, {10, 5, 6, 9}, {6, 2, 4, 7}};
  std::vector<RowMean> rows;
  for (int i = 0; i < 6; ++i) {
    for (const double rating : ratings[i])
      rows.push_back({std::string(1, static_cast<char>('a' + i)), rating});
  }
  EXPECT_NEAR(*intraclass_correlation(rows), 0.16574, 1e-5);
}

TEST(IntraclassCorrelation, OfUnequalNumbersOfRunsTakesTheirEffectiveNumber) {
  // By hand: means 2 and 5, grand mean 3.2; SS_B = 3 * 1.44 + 2 * 3.24 = 10.8, SS_W = 2 + 2 = 4,
  // n_0 = 5 - 13 / 5 = 2.4; (10.8 - 4/3) / (10.8 + 1.4 * 4/3)
  const std::vector<RowMean> rows = {{"a", 1}, {"a", 2}, {"a", 3}, {"b", 4}, {"b", 6}};
  EXPECT_NEAR(*intraclass_correlation(rows), (10.8 - 4.0 / 3) / (10.8 + 1.4 * 4.0 / 3), 1e-14);
}

TEST(IntraclassCorrelation, IsOneWhereRunsAgreeAndBelowZeroWhereMethodsDo) {
  EXPECT_NEAR(*intraclass_correlation(std::vector<RowMean>{{"a", 1}, {"a", 1}, {"b", 2}, {"b", 2}}), 1,
              1e-15);
  EXPECT_NEAR(*intraclass_correlation(std::vector<RowMean>{{"a", 1}, {"a", 2}, {"b", 1}, {"b", 2}}), -1,
              1e-15);
}

TEST(IntraclassCorrelation, NeedsTwoMethodsTwoRunsAndASpread) {
  EXPECT_FALSE(intraclass_correlation({}).has_value());
  EXPECT_FALSE(intraclass_correlation(std::vector<RowMean>{{"a", 1}, {"a", 2}}).has_value());
  EXPECT_FALSE(intraclass_correlation(std::vector<RowMean>{{"a", 1}, {"b", 2}}).has_value());
  EXPECT_FALSE(intraclass_correlation(std::vector<RowMean>{{"a", .1}, {"a", .1}, {"b", .1}}).has_value());
}

TEST(Discrimination, IsTheTOverRuns) {
  EXPECT_NEAR(*discrimination(std::vector<double>{.027, .035, .015}),
              0.077 / 3 / std::sqrt(2.02666666666667e-4 / 2 / 3), 1e-9);
  EXPECT_EQ(*discrimination(std::vector<double>{-.027, -.035, -.015}),
            *discrimination(std::vector<double>{.027, .035, .015}));
  EXPECT_FALSE(discrimination(std::vector<double>{.1}).has_value());
  EXPECT_FALSE(discrimination(std::vector<double>{.1, .1, .1}).has_value());
}

}  // namespace
}  // namespace harness

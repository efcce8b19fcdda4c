#include "results/paper/paper_formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/error_of.h"

namespace harness {
namespace {

const NamedFigures kFigures = {{"n", {{762, "762", 0.5}}},
                               {"a", {{0.5831, "0.5831", 0.00005}}},
                               {"rates", {{12.99, "12.99", 0.005}, {12.07, "12.07", 0.005}}},
                               {"three", {{1}, {2}, {3}}}};

double value(std::string_view formula) {
  const auto figures = evaluate(formula, kFigures);
  EXPECT_EQ(figures.size(), 1U) << formula;
  return figures.front().value;
}

TEST(PaperFormula, BindsAsInArithmeticAndFromTheLeft) {
  EXPECT_EQ(value("1 + 2 * 3 - 4 / 2"), 5);
  EXPECT_EQ(value("2 - 3 - 4"), -5);
  EXPECT_EQ(value("-(2 + 3) * 2"), -10);
  EXPECT_EQ(value("1 < 2 and 2 + 2 = 4"), 1);
  EXPECT_EQ(value("1 < 2 and 2 >= 3"), 0);
}

TEST(PaperFormula, TakesRowsTogetherAndASingleFigureWithEach) {
  EXPECT_EQ(fill_in("{rates} % are {count(rates, n)} of {n}", kFigures), "12.99, 12.07 % are 99, 92 of 762");
  EXPECT_EQ(fill_in("{rates <= n}; {rates / 100:.2f}", kFigures), "12.99 <= 762, 12.07 <= 762; 0.13, 0.12");
  EXPECT_EQ(value("sum(three) + max(three, 7) + min(three)"), 14);
  EXPECT_EQ(value("sum(three > 1)"), 2);
}

TEST(PaperFormula, RoundsWithinHalfAUnitAndAnUncertainty) {
  EXPECT_EQ(value("rounds(0.58314, a)"), 1);
  EXPECT_EQ(value("rounds(0.58316, a)"), 0);
  EXPECT_EQ(value("rounds(0.58316, a, half(a))"), 1);
}

TEST(PaperFormula, WhatItCannotReadIsQuoted) {
  for (const auto* formula : {"", "1 +", "(1", "1 2", "b", "root(2)", "rounds(1)", "rates + three", "max("}) {
    EXPECT_THAT(error_of([&] { evaluate(formula, kFigures); }).what(), ::testing::HasSubstr(formula))
        << formula;
  }
  EXPECT_THROW(fill_in("{n", kFigures), Error);
  EXPECT_THROW(fill_in("{-n}", kFigures), Error);
}

}  // namespace
}  // namespace harness

#include "results/statistics/rank_tests.h"

#include <gtest/gtest.h>

#include <vector>

namespace harness {
namespace {

// Goldens: scipy 1.17.1. a[i] = ((7i + 3) mod 11) / 10, b[i] = ((5ii + 2i + 1) mod 13) / 12, i < 40: ties and
// three zeros.
std::vector<double> differences_with_ties() {
  std::vector<double> d;
  for (int i = 0; i < 40; ++i) d.push_back(((5 * i * i + 2 * i + 1) % 13) / 12.0 - ((7 * i + 3) % 11) / 10.0);
  return d;
}

TEST(SignTest, IsTwoSidedAndExact) {
  EXPECT_NEAR(sign_test(9, 3), 0.14599609375, 1e-15);  // scipy.stats.binomtest(9, 12).pvalue
  EXPECT_EQ(sign_test(3, 9), sign_test(9, 3));
  EXPECT_EQ(sign_test(5, 5), 1.0);
  EXPECT_EQ(sign_test(0, 0), 1.0);
}

struct WilcoxonCase {
  Zeros zeros;
  bool corrected;
  double w, p;
};

class WilcoxonGolden : public testing::TestWithParam<WilcoxonCase> {};

TEST_P(WilcoxonGolden, AgreesWithScipy) {
  const auto& expected = GetParam();
  const auto test = wilcoxon(differences_with_ties(), expected.zeros, expected.corrected);
  ASSERT_TRUE(test.has_value());
  EXPECT_DOUBLE_EQ(test->w, expected.w);
  EXPECT_NEAR(test->p_value, expected.p, 1e-13);
}

INSTANTIATE_TEST_SUITE_P(Variants, WilcoxonGolden,
                         testing::Values(WilcoxonCase{Zeros::kWilcoxon, false, 341.5, 0.8800635810082672},
                                         WilcoxonCase{Zeros::kWilcoxon, true, 341.5, 0.8860183615911369},
                                         WilcoxonCase{Zeros::kPratt, false, 398.5, 0.908997869180333},
                                         WilcoxonCase{Zeros::kPratt, true, 398.5, 0.9143296719140107}));

TEST(WilcoxonExact, AgreesWithScipy) {
  const std::vector<double> d{0.3, -1.1, 2.2, 0.7, -0.2, 1.9, 0.05, -0.6, 1.3, 0.9};
  const auto test = wilcoxon_exact(d);
  ASSERT_TRUE(test.has_value());
  EXPECT_EQ(test->w, 13);
  EXPECT_NEAR(test->p_value, 0.16015625, 1e-15);  // scipy.stats.wilcoxon(d, method="exact")
}

TEST(WilcoxonExact, IsRefusedWhereItDoesNotHold) {
  EXPECT_FALSE(wilcoxon_exact(std::vector<double>{1, -1, 2}).has_value());
  EXPECT_FALSE(wilcoxon_exact(std::vector<double>{0, 1, 2}).has_value());
  EXPECT_FALSE(wilcoxon_exact(std::vector<double>{}).has_value());
}

TEST(Wilcoxon, HasNoAnswerWithoutANonzeroDifference) {
  const std::vector<double> zeros(5, 0.0);
  EXPECT_FALSE(wilcoxon(zeros, Zeros::kWilcoxon, false).has_value());
  EXPECT_FALSE(wilcoxon(zeros, Zeros::kPratt, false).has_value());
}

}  // namespace
}  // namespace harness

#include "results/verdict/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "results/verdict/multiplicity.h"

namespace harness {
namespace {

using ::testing::ElementsAre;

/// Uniform numbers from the generator alone: the standard's distributions differ between libraries.
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : bits_(seed) {}
  double operator()() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }

 private:
  std::mt19937_64 bits_;
};

std::vector<double> adjusted_of(const std::vector<AdjustedP>& results) {
  std::vector<double> p;
  for (const auto& result : results) p.push_back(*result.p);
  return p;
}

std::vector<double> shares_of(const std::vector<AdjustedP>& results) {
  std::vector<double> shares;
  for (const auto& result : results) shares.push_back(result.share);
  return shares;
}

/// Equal shares, each passed on equally.
Gate equal_gate(std::size_t questions) {
  Gate gate(questions);
  for (std::size_t i = 0; i < questions; ++i) {
    gate.shares[i] = 1 / static_cast<double>(questions);
    for (std::size_t k = 0; k < questions && questions > 1; ++k)
      gate.passes[i][k] = k == i ? 0 : 1 / static_cast<double>(questions - 1);
  }
  return gate;
}

TEST(Gate, OfEqualSharesPassedOnEquallyIsHolms) {
  Uniform uniform(1);
  for (std::size_t questions = 1; questions <= 8; ++questions) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::vector<double> p;
      for (std::size_t i = 0; i < questions; ++i) p.push_back(uniform() * (repeat % 2 == 0 ? 1 : 0.05));
      const std::vector<std::optional<double>> known(p.begin(), p.end());
      const auto expected = holm(known);
      const auto gated = pass_gate(equal_gate(questions), p, 0.05);
      for (std::size_t i = 0; i < questions; ++i) EXPECT_NEAR(*gated[i].p, *expected[i], 1e-12) << questions;
    }
  }
}

/// Two primary questions that pass half of their share to each of two secondary ones, and these theirs to one
/// another: parallel gatekeeping, as Bretz et al. (2009) draw it.
Gate parallel_gate() {
  Gate gate(4);
  gate.shares = {0.5, 0.5, 0, 0};
  gate.passes = {{0, 0, 0.5, 0.5}, {0, 0, 0.5, 0.5}, {0, 0, 0, 1}, {0, 0, 1, 0}};
  return gate;
}

// By hand. The first is resolved with 1/2 at 0.01 / (1/2) = 0.02, and both secondary ones have 1/4 then; the
// last with 1/4 at 0.005 / (1/4) = 0.02, and the third has 1/2; the second with 1/2 at 0.02 / (1/2) = 0.04,
// which passes all to the third, as the last is gone; that has all at 0.06 / 1.
TEST(Gate, GivesAnExamplesAdjustedPValuesAndSharesAsWorkedOutByHand) {
  const auto gated = pass_gate(parallel_gate(), std::vector<double>{0.01, 0.02, 0.06, 0.005}, 0.05);
  const double p[] = {0.02, 0.04, 0.06, 0.02}, shares[] = {0.5, 0.5, 1, 0.25};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(*gated[i].p, p[i], 1e-15) << i;
    EXPECT_NEAR(gated[i].share, shares[i], 1e-15) << i;
  }
}

// The second has the smallest p over its share, 0.06, so that nothing is resolved at 0.05; beyond that level
// it opens both others with 1/4 each, which are below it, and the first is the last with 0.2 / (1/2).
TEST(Gate, WhatWaitsForAQuestionThatIsNotResolvedHasNoShareHoweverSmallItsP) {
  const auto gated = pass_gate(parallel_gate(), std::vector<double>{0.2, 0.03, 1e-9, 1e-9}, 0.05);
  EXPECT_THAT(shares_of(gated), ElementsAre(0.5, 0.5, 0, 0));
  const double p[] = {0.4, 0.06, 0.06, 0.06};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(*gated[i].p, p[i], 1e-15) << i;
}

TEST(Gate, ResolvesStrictlyBelowTheLevelTimesTheShare) {
  Gate gate(2);
  gate.shares = {0.5, 0.5};
  const auto gated = pass_gate(gate, std::vector<double>{0.025, 0.0249}, 0.05);
  EXPECT_THAT(adjusted_of(gated), ElementsAre(0.05, 0.0498));
  EXPECT_THAT(shares_of(gated), ElementsAre(0.5, 0.5)) << "neither passes anything on";
}

TEST(Gate, QuestionsThatNothingReachesHaveAnAdjustedPOfOne) {
  Gate gate(3);
  gate.shares = {1, 0, 0};
  gate.passes[0][1] = 1;
  const auto gated = pass_gate(gate, std::vector<double>{0.001, 0.03, 0}, 0.05);
  EXPECT_THAT(adjusted_of(gated), ElementsAre(0.001, 0.03, 1));
  EXPECT_THAT(shares_of(gated), ElementsAre(1, 1, 0));
}

// Closure, by another way than the steps of the gate: a share walks along the passes of the questions that
// are left out until it comes to one that is kept.

using Square = std::vector<std::vector<double>>;

/// a (1 + b), or a b.
Square product(const Square& a, const Square& b, bool with_one) {
  Square result(a.size(), std::vector<double>(a.size(), 0.0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (with_one) result[i][k] += a[i][k];
      for (std::size_t j = 0; j < a.size(); ++j) result[i][k] += a[i][j] * b[j][k];
    }
  }
  return result;
}

/// Of the questions in `kept` (a bit each), when all others have passed on what they have.
std::vector<double> kept_shares(const Gate& gate, unsigned kept) {
  const auto count = gate.size();
  const auto is_kept = [&](std::size_t i) { return (kept >> i & 1U) != 0; };
  Square visits(count, std::vector<double>(count, 0.0)), steps = visits;  // [from][to], of those left out
  for (std::size_t i = 0; i < count; ++i) {
    visits[i][i] = 1;
    for (std::size_t k = 0; k < count; ++k) steps[i][k] = is_kept(i) || is_kept(k) ? 0 : gate.passes[i][k];
  }
  for (int i = 0; i < 40; ++i) {  // visits of up to 2^40 steps
    visits = product(visits, steps, true);
    steps = product(steps, steps, false);
  }
  std::vector<double> shares(count, 0.0);
  for (std::size_t k = 0; k < count; ++k) {
    if (!is_kept(k)) continue;
    shares[k] = gate.shares[k];
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count && !is_kept(i); ++j) {
        if (!is_kept(j)) shares[k] += gate.shares[i] * visits[i][j] * gate.passes[j][k];
      }
    }
  }
  return shares;
}

/// Each question's adjusted p: the largest p of the intersections that it is in, whose p is the smallest of
/// p over share of their questions.
std::vector<double> closed_p_values(const Gate& gate, const std::vector<double>& p) {
  std::vector<double> adjusted(gate.size(), 0.0);
  for (unsigned kept = 1; kept < 1U << gate.size(); ++kept) {
    const auto shares = kept_shares(gate, kept);
    double of_all = 1;
    for (std::size_t i = 0; i < gate.size(); ++i) {
      if (shares[i] > 0) of_all = std::min(of_all, p[i] / shares[i]);
    }
    for (std::size_t i = 0; i < gate.size(); ++i) {
      if ((kept >> i & 1U) != 0) adjusted[i] = std::max(adjusted[i], of_all);
    }
  }
  return adjusted;
}

/// Shares and passes at random, some of them 0. Half of the rows pass on all that they have.
Gate random_gate(std::size_t questions, Uniform& uniform) {
  Gate gate(questions);
  const auto fill = [&](std::vector<double>& row, std::optional<std::size_t> own, double total) {
    double sum = 0;
    for (std::size_t i = 0; i < questions; ++i) {
      row[i] = i == own || uniform() < 0.3 ? 0 : uniform();
      sum += row[i];
    }
    for (auto& entry : row) entry *= sum > 0 ? total / sum : 0;
  };
  fill(gate.shares, std::nullopt, 1);
  for (std::size_t i = 0; i < questions; ++i)
    fill(gate.passes[i], i, uniform() < 0.5 ? 1 : 0.5 + 0.5 * uniform());
  return gate;
}

TEST(Gate, ResolvesWhatTheClosureOfItsIntersectionsResolves) {
  Uniform uniform(2);
  int resolved = 0, open = 0;
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const std::size_t questions = 1 + static_cast<std::size_t>(uniform() * 5);
    const auto gate = random_gate(questions, uniform);
    std::vector<double> p;
    for (std::size_t i = 0; i < questions; ++i) p.push_back(uniform() * uniform() * 0.1);
    const auto expected = closed_p_values(gate, p);
    const auto gated = pass_gate(gate, p, 0.05);
    for (std::size_t i = 0; i < questions; ++i) {
      EXPECT_EQ(*gated[i].p < 0.05, expected[i] < 0.05) << repeat;
      EXPECT_NEAR(*gated[i].p, expected[i], 1e-9) << repeat;
      ++(*gated[i].p < 0.05 ? resolved : open);
    }
  }
  EXPECT_GT(resolved, 500);
  EXPECT_GT(open, 500);
}

TEST(Gate, TestsAQuestionAtTheShareThatItSays) {
  Uniform uniform(3);
  for (int repeat = 0; repeat < 1000; ++repeat) {
    const std::size_t questions = 1 + static_cast<std::size_t>(uniform() * 5);
    const auto gate = random_gate(questions, uniform);
    std::vector<double> p;
    for (std::size_t i = 0; i < questions; ++i) p.push_back(uniform() * uniform() * 0.1);
    const auto gated = pass_gate(gate, p, 0.05);
    for (std::size_t i = 0; i < questions; ++i)
      EXPECT_EQ(*gated[i].p < 0.05, p[i] < 0.05 * gated[i].share) << repeat;
  }
}

}  // namespace
}  // namespace harness

#include "results/statistics/rank_tests.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <vector>

namespace harness {
namespace {

constexpr std::size_t kMostExact = 50;  // as scipy; the approximation is close above

struct SignedRanks {
  double plus = 0, minus = 0;  ///< rank sums of the positive and the negative differences
  double ranked = 0;           ///< how many got a rank, zeros included where they are ranked
  double zeros = 0;            ///< ranked zeros
  double tie_term = 0;         ///< sum over groups of equal absolute differences of g^3 - g, zeros left out
};

/// Ranks of |d|, equal ones sharing the mean of their ranks.
SignedRanks signed_ranks(std::span<const double> differences, Zeros zeros) {
  std::vector<double> d;
  for (const double value : differences) {
    if (value != 0 || zeros == Zeros::kPratt) d.push_back(value);
  }
  std::sort(d.begin(), d.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  SignedRanks sums;
  sums.ranked = static_cast<double>(d.size());
  for (std::size_t first = 0, last = 0; first < d.size(); first = last) {
    while (last < d.size() && std::abs(d[last]) == std::abs(d[first])) ++last;
    const auto group = static_cast<double>(last - first);
    const double rank = (static_cast<double>(first + last) + 1) / 2;
    if (d[first] == 0) {
      sums.zeros = group;
      continue;
    }
    sums.tie_term += group * group * group - group;
    for (std::size_t i = first; i < last; ++i) (d[i] > 0 ? sums.plus : sums.minus) += rank;
  }
  return sums;
}

/// P(W = k) for k = 0 .. n (n + 1) / 2, W the sum of a random subset of 1 .. n.
std::vector<double> rank_sum_distribution(std::size_t n) {
  std::vector<double> p(n * (n + 1) / 2 + 1, 0.0);
  p[0] = 1;
  std::size_t top = 0;
  for (std::size_t rank = 1; rank <= n; ++rank) {
    top += rank;
    for (std::size_t k = top + 1; k-- > 0;) p[k] = (p[k] + (k >= rank ? p[k - rank] : 0)) / 2;
  }
  return p;
}

}  // namespace

double sign_test(std::int64_t plus, std::int64_t minus) {
  if (plus == minus) return 1;
  const boost::math::binomial distribution(static_cast<double>(plus + minus), 0.5);
  return std::min(1.0, 2 * cdf(distribution, static_cast<double>(std::min(plus, minus))));
}

std::optional<RankTest> wilcoxon(std::span<const double> differences, Zeros zeros, bool corrected) {
  const auto ranks = signed_ranks(differences, zeros);
  const double n = ranks.ranked, m = ranks.zeros;
  const double mean = (n * (n + 1) - m * (m + 1)) / 4;
  const double variance = (n * (n + 1) * (2 * n + 1) - m * (m + 1) * (2 * m + 1) - ranks.tie_term / 2) / 24;
  if (n == m || variance <= 0) return std::nullopt;
  double distance = std::abs(ranks.plus - mean);
  if (corrected && distance > 0) distance -= 0.5;
  const double p = 2 * cdf(complement(boost::math::normal(), std::abs(distance) / std::sqrt(variance)));
  return RankTest{std::min(ranks.plus, ranks.minus), std::min(p, 1.0), false};
}

std::optional<RankTest> wilcoxon_exact(std::span<const double> differences) {
  const auto ranks = signed_ranks(differences, Zeros::kPratt);
  if (ranks.zeros > 0 || ranks.tie_term > 0 || ranks.ranked == 0) return std::nullopt;
  const double w = std::min(ranks.plus, ranks.minus);
  const auto p = rank_sum_distribution(static_cast<std::size_t>(ranks.ranked));
  double tail = 0;
  for (std::size_t k = 0; k <= static_cast<std::size_t>(w); ++k) tail += p[k];
  return RankTest{w, std::min(1.0, 2 * tail), true};
}

std::optional<RankTest> wilcoxon_signed_rank(std::span<const double> differences) {
  if (differences.size() <= kMostExact) {
    if (const auto exact = wilcoxon_exact(differences)) return exact;
  }
  return wilcoxon(differences, Zeros::kPratt, false);
}

}  // namespace harness

#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace harness {

/// Two-sided exact binomial test that wins and losses are equally likely; ties are left out before. 1 without
/// any. For binary data the two discordant counts give McNemar's exact test.
double sign_test(std::int64_t plus, std::int64_t minus);

/// What Wilcoxon's signed-rank test does with zero differences: drops them before ranking (Wilcoxon), or
/// ranks them and drops their ranks (Pratt 1959, variance after Cureton 1967).
enum class Zeros { kWilcoxon, kPratt };

struct RankTest {
  double w;            ///< the smaller of the two rank sums
  double p_value;      ///< two-sided
  bool exact = false;  ///< from the exact null distribution
};

/// Normal approximation with tie correction; `corrected` adds the continuity correction of 1/2. Nothing
/// without a nonzero difference.
std::optional<RankTest> wilcoxon(std::span<const double> differences, Zeros zeros, bool corrected);

/// The exact null distribution. Nothing if two absolute differences are equal or one is zero: it does not
/// hold then.
std::optional<RankTest> wilcoxon_exact(std::span<const double> differences);

/// The one that comparisons state: exact up to 50 differences without ties and zeros, else Pratt's with the
/// tie correction and no continuity correction. Nothing without a nonzero difference.
std::optional<RankTest> wilcoxon_signed_rank(std::span<const double> differences);

}  // namespace harness

#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace harness {

/// Holm's step-down adjustment (1979, Scand. J. Stat. 6) of the p-values of one family, in their order:
/// the i-th smallest of m becomes the largest of (m - k) p_k, k = 0 .. i, at most 1. Entries without a
/// p-value stay without one and do not count.
std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p_values);

/// The same where entries of equal `hypotheses` ask the same question: together they count once, with the
/// smallest of their p-values, and share the adjusted one.
std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p_values,
                                        std::span<const std::string> hypotheses);

/// One comparison of a table: what it asks, and its own p-value.
struct TableQuestion {
  std::string baseline, method, metric;
  std::optional<double> p_value;
  std::string restates = {};  ///< the metric whose differences these are but for their sign; empty: none
  std::string table = {};     ///< of a table that joins several, which one it is of

  /// The metric that the question is about.
  const std::string& hypothesis() const { return restates.empty() ? metric : restates; }
};

/// Whether two things with these names are about the same two rows in the same metric.
bool is_same_question(const auto& a, const auto& b) {
  return a.baseline == b.baseline && a.method == b.method && a.metric == b.metric;
}

/// Holm over all comparisons of a table as one family: every metric of every pair of arms counts, a metric
/// that restates another of the same pair once with it. In the order of `questions`.
std::vector<std::optional<double>> holm_over_table(std::span<const TableQuestion> questions);

/// How many questions Holm adjusts for there: those with a p-value, one that restates another once with it.
std::size_t family_size(std::span<const TableQuestion> questions);

}  // namespace harness

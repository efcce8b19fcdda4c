#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/statistics/comparison.h"

namespace harness {

/// Holm's step-down adjustment (1979, Scand. J. Stat. 6) of the p-values of one family, in their order:
/// the i-th smallest of m becomes the largest of (m - k) p_k, k = 0 .. i, at most 1. Entries without a
/// p-value stay without one and do not count.
std::vector<std::optional<double>> holm(std::span<const std::optional<double>> p_values);

/// One comparison of a table: what it asks, and its own p-value.
struct TableQuestion {
  std::string baseline, method, metric;
  std::optional<double> p_value;
  std::string restates = {};  ///< the metric whose differences these are but for their sign; empty: none
  std::string table = {};     ///< of a table that joins several, which one it is of

  /// The metric that the question is about.
  const std::string& hypothesis() const { return restates.empty() ? metric : restates; }
};

/// What a comparison asks; with the p-value of this claim, or without one of claim_of.
TableQuestion question_of(const Comparison& comparison, std::optional<Claim> claim = {});
std::vector<TableQuestion> questions_of(std::span<const Comparison> comparisons);

/// Whether two things with these names are about the same two rows in the same metric.
bool is_same_question(const auto& a, const auto& b) {
  return a.baseline == b.baseline && a.method == b.method && a.metric == b.metric;
}

// Names of families (Families says which is which).
inline constexpr const char *kTableFamily = "table", *kLeaderboardFamily = "leaderboard",
                            *kPanelFamily = "panel", *kPairsFamily = "pairs", *kRowsFamily = "rows",
                            *kAskedFamily = "asked";

/// Questions that are judged together: Holm over all of them, computed once. Every metric of every pair of
/// rows counts, a metric that restates another of the same pair once with it, with the smaller p of the two.
class Family {
 public:
  Family() = default;
  Family(std::string name, std::vector<TableQuestion> questions);

  bool empty() const { return questions_.empty(); }
  const std::vector<TableQuestion>& questions() const { return questions_; }
  /// How many questions Holm adjusts for: those with a p-value, one that restates another once with it.
  std::size_t size() const { return size_; }

  AdjustedP at(std::size_t place) const { return {adjusted_[place], size_, name_}; }
  /// Of the one about these two rows in this metric, whichever of them is the baseline; nothing if there is
  /// none.
  std::optional<AdjustedP> find(const TableQuestion& question) const;

  /// Puts a prefix before the rows' names.
  void prefix_rows(const std::string& prefix);

 private:
  std::string name_;
  std::vector<TableQuestion> questions_;
  std::vector<std::optional<double>> adjusted_;
  std::size_t size_ = 0;
};

/// What p-values are adjusted with.
struct Families {
  Family table = {};                      ///< every comparison of a table
  Family leaderboard = {};                ///< of them those that its leaderboard judges by itself
  Family panel = {};                      ///< those that its guardrails show beside them
  Family pairs = {};                      ///< all pairs of a leaderboard's rows, as its letters judge them
  std::vector<std::string> rows = {};     ///< of the table, any pair of which may be asked for
  std::vector<TableQuestion> asked = {};  ///< all that is asked for, within the table and beyond it

  bool are_rows_of(const TableQuestion& question) const;  ///< whether both of its rows are the table's

  /// In the family of the leaderboard, of the table, of the panel, or of all pairs of the leaderboard, the
  /// first that the question is one of. Two other rows of the table, which it does not show in that metric:
  /// "rows", the table's questions and all pairs of its rows in the metric; of these p is 1, so that they
  /// make its own no smaller, and that does not depend on what else is asked for. Any other: "asked", the
  /// table's and all that is asked for.
  AdjustedP adjusted(const TableQuestion& question) const;
};

}  // namespace harness

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

/// What p-values are adjusted with.
struct Families {
  std::vector<TableQuestion> table = {};        ///< every comparison of a table
  std::vector<TableQuestion> leaderboard = {};  ///< of them those that its leaderboard judges by itself
  std::vector<TableQuestion> panel = {};        ///< those that its guardrails show beside them
  std::vector<TableQuestion> pairs = {};  ///< all pairs of a leaderboard's rows, as its letters judge them
  std::vector<std::string> rows = {};     ///< of the table, any pair of which may be asked for
  std::vector<TableQuestion> asked = {};  ///< all that is asked for, within the table and beyond it

  bool are_rows_of(const TableQuestion& question) const;  ///< whether both of its rows are the table's
};

/// The questions that one is adjusted with; it is the one at `place`.
struct Family {
  std::vector<TableQuestion> questions;
  std::size_t place = 0;
  std::string name = {};  ///< "leaderboard", "table", "panel", "pairs" or, as family_of says, "rows", "asked"

  std::size_t size() const { return family_size(questions); }
  std::optional<double> adjusted_p() const { return holm_over_table(questions)[place]; }
};

/// Those of the leaderboard, of the table, of the panel, or all pairs of the leaderboard, the first that it
/// is one of, whichever row is the baseline. Of two other rows of the table that it does not show in that
/// metric, the table's and all pairs of its rows in the metric: of these p is 1, so that they make its own no
/// smaller, and that does not depend on what else is asked for. Of any other, the table's and all that is
/// asked for.
Family family_of(const TableQuestion& question, const Families& families);

/// Whether it is one of these, whichever row is the baseline.
bool holds(std::span<const TableQuestion> questions, const TableQuestion& question);

}  // namespace harness

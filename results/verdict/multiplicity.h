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

/// What a question is in its family.
enum class QuestionRole {
  kPrimary,  ///< in the metric that decides
  kOther,    ///< in another metric
  kOfBase    ///< about the base model
};

/// One comparison of a table: what it asks, and its own p-value.
struct TableQuestion {
  std::string baseline, method, metric;
  std::optional<double> p_value;
  std::string restates = {};  ///< the metric whose differences these are but for their sign; empty: none
  std::string table = {};     ///< of a table that joins several, which one it is of
  QuestionRole role = QuestionRole::kPrimary;
  std::int64_t earlier_runs = 0;  ///< of the look whose p this is; 0: of the runs that are shown
  double earlier_delta = 0;

  /// The metric that the question is about.
  const std::string& hypothesis() const { return restates.empty() ? metric : restates; }
};

/// What a comparison asks; with the p-value of this claim, or without one of claim_of: 1 where more than a
/// small one is lacking (may_differ), so that what is not resolved passes nothing on.
TableQuestion question_of(const Comparison& comparison, std::optional<Claim> claim = {});
std::vector<TableQuestion> questions_of(std::span<const Comparison> comparisons);

/// Gives a question the p-value of a look, at the level of the family, where it is the smallest so far: a
/// claim that a look has made stays, and no dependence between looks matters, as their levels add up to the
/// family's. earlier_runs: of the look; 0: it is of the runs that are shown. p: nothing leaves it as it is.
void take_look(std::optional<double> p, std::optional<double> delta, double level_of_look,
               std::int64_t earlier_runs, TableQuestion& question);

/// Whether two things with these names are about the same two rows in the same metric.
bool is_same_question(const auto& a, const auto& b) {
  return a.baseline == b.baseline && a.method == b.method && a.metric == b.metric;
}

/// What gives the questions of a table their roles.
struct FamilyRoles {
  std::string primary = {};  ///< the metric that decides; empty: all questions are primary
  std::string base = {};     ///< row of the base model, where it is not what methods are compared with
};
void give_roles(const FamilyRoles& roles, std::vector<TableQuestion>& questions);

/// Questions that are judged together, whose false claims are one error: a gate (gate.h) with
///  - .9 / M of the level for each of the M questions in the primary metric, 1 / M where none is about the
///  base
///    model. One that is resolved passes half on to the others of these, and half to the same rows' other
///    metrics;
///  - nothing, at first, for these; one that is resolved passes .98 on to its rows' others and .02 to the
///  primary
///    questions;
///  - .1 for the questions about the base model together; one that is resolved passes half on to the others
///  of
///    these and half to the primary questions.
/// Where one of the two receivers is missing the other gets both parts. Without a primary question all are:
/// equal shares, passed on equally, which is Holm's adjustment. A metric that restates another of the same
/// rows is one question with it, with the smaller p of the two; a question without a p-value counts as one
/// that is never resolved.
class Family {
 public:
  Family() = default;
  explicit Family(std::vector<TableQuestion> questions, double level = 0.05);

  bool empty() const { return questions_.empty(); }
  const std::vector<TableQuestion>& questions() const { return questions_; }
  /// How many questions share the level: one that restates another once with it.
  std::size_t size() const { return size_; }

  AdjustedP at(std::size_t place) const;
  /// Of the one of this table about these two rows in this metric, whichever of them is the baseline; nothing
  /// if there is none.
  std::optional<AdjustedP> find(const TableQuestion& question) const;
  /// The share that the question is tested with first: at the start, or when the primary question of its rows
  /// is the only one that is resolved. 0: no question of these rows, or never.
  double first_share(const TableQuestion& question) const;

  /// Puts a prefix before the rows' names.
  void prefix_rows(const std::string& prefix);

 private:
  std::vector<TableQuestion> questions_;
  std::vector<AdjustedP> adjusted_;
  std::vector<double> first_shares_;
  std::size_t size_ = 0;
};

}  // namespace harness

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/statistics/verdict.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// The t behind the p-value: over training runs and prompts where the claim is about methods.
std::optional<double> t_of(const Comparison& comparison) {
  const auto& values = comparison.values;
  if (!comparison.judgement.of_methods() || !values.crossed) return values.t;
  const auto error = values.crossed->standard_error;
  return error ? std::optional(values.crossed->delta / *error) : std::nullopt;
}

std::string t_text(const std::optional<double>& t) {
  constexpr double kHalfDigit = 0.05;  // rounded to zero, it has no sign
  return t ? fmt::format("{:.1f}", std::abs(*t) < kHalfDigit ? 0.0 : *t) : "";
}

std::string outcomes_text(std::int64_t wins, std::int64_t ties, std::int64_t losses) {
  return fmt::format("{} / {} / {}", wins, ties, losses);
}

ViewRow comparison_row(const Comparison& comparison, const TableColumn& column) {
  const auto& values = comparison.values;
  const auto& judgement = comparison.judgement;
  return {RowKind::kOurs,
          {{.text = fmt::format("{} \u2212 {}", comparison.method, comparison.baseline),
            .marks = comparison.moved_unequally() ? kUnequalMovementMark : ""},
           {difference_title(column)},
           {format_delta(values.delta, column)},
           {format_delta(comparison.validation_delta, column)},
           {format_interval(judgement.interval, column)},
           {judgement.interval ? format_confidence(judgement.level) : ""},
           {outcomes_text(values.wins, values.ties, values.losses)},
           {t_text(t_of(comparison))},
           {format_p_value(judgement.p)},
           {format_p_value(judgement.adjusted.p)},
           {fmt::format("{}", values.n)},
           {judgement.word.empty() ? kDash : judgement.word}}};
}

/// The paper's own difference under ours.
ViewRow paper_comparison_row(const PaperComparison& paper, const TableColumn& column) {
  const auto printed = as_printed(column);
  std::string outcomes;
  if (paper.wins && paper.ties && paper.losses) {
    outcomes = outcomes_text(*paper.wins, *paper.ties, *paper.losses);
  } else if (paper.wins) {
    outcomes = fmt::format("{} wins", *paper.wins);
  }
  return {RowKind::kPaper,
          {{kPaperRowTitle},
           {paper_difference_title(column)},
           {format_delta(paper.delta, printed)},
           {""},
           {paper.ci ? format_interval(paper.ci, printed) : ""},
           {""},
           {outcomes},
           {t_text(paper.t)},
           {""},
           {""},
           {number_or_blank(paper.n)},
           {""}}};
}

ViewTable whole_comparisons(const TableModel& model) {
  ViewTable table{.columns = {{"Comparison", false},
                              {"Metric", false},
                              {"\u0394"},
                              {"\u0394 validation"},
                              {"Interval"},
                              {"Confidence"},
                              {"W / T / L"},
                              {"t"},
                              {"p"},
                              {"Adjusted p"},
                              {"n"},
                              {"Verdict", false}}};
  for (const auto& comparison : model.comparisons) {
    const auto column = column_of(model, comparison.metric);
    table.rows.push_back(comparison_row(comparison, column));
    if (const auto* paper = printed_comparison(model, comparison))
      table.rows.push_back(paper_comparison_row(*paper, column));
  }
  return table;
}

}  // namespace

ViewTable comparisons_view(const TableModel& model) {
  auto table = by_task(model, whole_comparisons);
  const auto prints_t = [](const TableModel& part) {
    return std::ranges::any_of(part.comparisons, [&](const Comparison& comparison) {
      const auto* paper = printed_comparison(part, comparison);
      return paper != nullptr && paper->t;
    });
  };
  const bool has_validation = std::ranges::any_of(
      model.comparisons, [](const Comparison& c) { return c.validation_delta.has_value(); });
  if (std::ranges::none_of(parts_of(model), prints_t)) drop_column(table, first_column(model) + 7);
  if (!has_validation) drop_column(table, first_column(model) + 3);
  return table;
}

}  // namespace harness

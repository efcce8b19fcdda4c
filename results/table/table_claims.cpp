#include <fmt/format.h>

#include "results/table/table.h"
#include "results/table/table_format.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

std::string text_of(const Comparison& comparison, const TableColumn& column, const PaperComparison& paper) {
  const char* direction = *paper.delta > 0 ? "above" : "below";
  return fmt::format("{}: {} {} {} (printed: {})", paper_difference_title(column), comparison.method,
                     direction, comparison.baseline, format_delta(paper.delta, as_printed(column)));
}

std::string ours_text(const TableModel& model, const TableColumn& column, const Comparison& ours) {
  const auto& interval = ours.judgement.interval;
  auto text = format_delta(ours.values.delta, column);
  if (interval) text += " " + format_interval(interval, column);
  if (!ours.values.judges_methods) return text;
  if (!ours.judgement.of_methods()) {
    return fmt::format("these {}: {}; needs at least {} training runs per method, {} here",
                       model.over_training ? "runs" : "checkpoints", text, kFewestRuns, runs_of(ours.values));
  }
  return ours.judgement.resolved() ? text : fmt::format("{}, {}", text, ours.judgement.text);
}

}  // namespace

const char* claim_verdict(const TableClaim& claim) {
  if (!claim.comparable) return "not comparable";
  if (!claim.judged) return "not judged at this scale";
  if (!claim.holds) return "undecided";
  return *claim.holds ? "holds" : "does not hold";
}

std::vector<TableClaim> printed_differences(const TableModel& model) {
  std::vector<TableClaim> claims;
  for (const auto& comparison : model.comparisons) {
    const auto* paper = printed_comparison(model, comparison);
    if (paper == nullptr || *paper->delta == 0) continue;
    const auto column = column_of(model, comparison.metric);
    const auto& ours = comparison.values;
    TableClaim claim{.text = text_of(comparison, column, *paper), .holds = {}, .detail = "not compared here"};
    claim.comparable = column.stands_for.empty();
    if (ours.delta) {
      if (claim.comparable && comparison.judgement.resolved())
        claim.holds = (*ours.delta > 0) == (*paper->delta > 0);
      claim.detail = ours_text(model, column, comparison);
      if (!claim.comparable) claim.detail = fmt::format("{}: {}", column.title, claim.detail);
    }
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace harness

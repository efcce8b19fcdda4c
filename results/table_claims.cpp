#include <fmt/format.h>

#include "results/table.h"
#include "results/table_format.h"
#include "results/table_view.h"

namespace harness {
namespace {

std::string text_of(const TableComparison& comparison, const TableColumn& column,
                    const PaperComparison& paper) {
  return fmt::format("{}: {} over {} by {}", paper_difference_title(column), comparison.method,
                     comparison.baseline, format_delta(paper.delta, as_printed(column)));
}

std::string ours_text(const TableColumn& column, const PairedComparison& ours) {
  return fmt::format("{} {}{}", format_delta(ours.delta, column), format_interval(ours.ci, column),
                     ours.ci->excludes_zero() ? "" : ", not resolved");
}

}  // namespace

std::vector<TableClaim> printed_differences(const TableModel& model) {
  std::vector<TableClaim> claims;
  for (const auto& comparison : model.comparisons) {
    const auto* paper = printed_comparison(model, comparison);
    if (paper == nullptr || *paper->delta == 0) continue;
    const auto column = column_of(model, comparison.metric);
    const auto& ours = comparison.values;
    TableClaim claim{.text = text_of(comparison, column, *paper), .holds = {}, .detail = "not compared here"};
    claim.comparable = column.stands_for.empty();
    if (ours.ci) {
      if (claim.comparable && ours.ci->excludes_zero())
        claim.holds = (ours.ci->low > 0) == (*paper->delta > 0);
      claim.detail = ours_text(column, ours);
      if (!claim.comparable) claim.detail = fmt::format("{}: {}", column.title, claim.detail);
    }
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace harness

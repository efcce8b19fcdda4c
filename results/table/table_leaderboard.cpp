#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/table/table_format.h"
#include "results/table/table_notes.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

std::string interval_text(const LeaderboardRow& row, const std::optional<PairedComparison>& comparison,
                          const TableColumn& column) {
  return comparison
             ? format_interval(interval_at(*comparison, claim_of(*comparison), row.judgement.level), column)
             : "";
}

std::string delta_text(const std::optional<PairedComparison>& comparison, const TableColumn& column) {
  return comparison ? format_delta(comparison->delta, column) : "";
}

/// With its standard deviation over the runs, as in the results.
std::string mean_text(const TableModel& model, const LeaderboardRow& row, const TableColumn& column) {
  auto text = format_value(row.mean, column);
  if (const auto sd = sd_over_seeds(model, row.method, column))
    text += fmt::format(" \u00b1 {}", format_value(sd, column));
  return text;
}

/// "15360", or "15360 (12240, 15360)" where checkpoints lie below it.
std::string evaluations_text(const LeaderboardRow& row) {
  if (!row.at_evaluations || !row.equal_evaluations) return {};
  const auto text = fmt::format("{:.0f}", *row.equal_evaluations);
  if (row.spent_within == row.equal_evaluations && row.baseline_spent_within == row.equal_evaluations)
    return text;
  return fmt::format("{} ({:.0f}, {:.0f})", text, row.spent_within.value_or(0),
                     row.baseline_spent_within.value_or(0));
}

ViewRow row_view(const TableModel& model, const LeaderboardRow& row, const TableColumn& column) {
  const bool is_baseline = row.standing == Standing::kBaseline;
  return {is_baseline ? RowKind::kReference : RowKind::kOurs,
          {{row.method},
           {row.groups},
           {.text = mean_text(model, row, column), .marks = incomplete_mark(model, row.method, column)},
           {delta_text(row.at_images, column)},
           {interval_text(row, row.at_images, column)},
           {row.at_images ? format_confidence(row.judgement.level) : ""},
           {row.at_images ? format_p_value(row.judgement.adjusted.p) : ""},
           {evaluations_text(row)},
           {delta_text(row.at_evaluations, column)},
           {interval_text(row, row.at_evaluations, column)},
           {.text = row.verdict, .strong = row.standing == Standing::kBetter},
           {join(row.notes, "; ")}}};
}

std::string groups_note(const Leaderboard& board) {
  if (!board.has_groups) {
    return fmt::format(
        "No groups: they are of methods, which takes at least {} training runs of each at a scale "
        "that judges methods.",
        kFewestRuns);
  }
  return fmt::format(
      "Group (exploratory, no question of the table): methods that share a letter cannot be told apart (all {} pairs "
      "at equal images, Holm over them). Letters run from the highest mean; rows of the same letters are in the "
      "table's order.",
      board.pairs);
}

std::string verdict_note(const TableModel& model) {
  const auto& board = *model.leaderboard;
  return fmt::format(
      "Verdict against {0}: \"better\" needs {1} runs or more per method; at equal images an adjusted p below {2}, in the "
      "family of all {3} differences of the table and its guardrails, an interval over prompts alone without 0, and "
      "with {1} runs the same sign in each; and at equal evaluations an interval on the same side of 0. A difference "
      "that is not shown there is \"per image\". Intervals: over runs and prompts, at the level that tested the row. "
      "\"worse:\" names the other metrics in which the winner is worse, by the same family.",
      board.baseline, kFewestRuns, format_significance(model.confidence),
      model.families.of(Claim::kMethods).size());
}

std::string second_view_note(const Leaderboard& board) {
  if (!board.has_second_view) return {};
  std::vector<std::string> without_counts;
  for (const auto& row : board.rows) {
    const bool is_named = std::ranges::count(board.cut_too_early, row.method) > 0;
    if (row.method != board.baseline && !row.equal_evaluations && !is_named)
      without_counts.push_back(row.method);
  }
  if (without_counts.size() + 1 >= board.rows.size())
    return "Equal evaluations: not shown, as the runs do not say how many network evaluations they made.";
  auto note = fmt::format(
      "Equal evaluations: a method and {0} are compared within the largest number of evaluations (forward + 3 "
      "backward, in images) that all their runs reached; of each run's checkpoints within it the best on validation "
      "was tested (in brackets what the last of them had spent: the method's, {0}'s). The test split was opened once for each selection: {1} for equal evaluations alone.",
      board.baseline, counted(board.second_tests, "checkpoint"));
  if (!board.cut_too_early.empty())
    note += fmt::format(
        " Not compared, as one of the two had spent more at its first checkpoint than the other at its last: {}.",
        join(board.cut_too_early, ", "));
  if (!without_counts.empty())
    note +=
        fmt::format(" Not compared, as a run does not say what it spent: {}.", join(without_counts, ", "));
  return note;
}

}  // namespace

ViewTable leaderboard_view(const TableModel& model) {
  if (!model.leaderboard) return {};
  const auto& board = *model.leaderboard;
  const auto column = column_of(model, board.metric);
  constexpr auto kFirst = ViewSheet::kFirst, kSecond = ViewSheet::kSecond;
  ViewTable table{.columns = {{"Leaderboard", false},
                              {"Group", false, kFirst},
                              {title_of(column), true, kFirst},
                              {"\u0394 at equal images", true, kFirst},
                              {"Interval", true, kFirst},
                              {"Confidence", true, kFirst},
                              {"Adjusted p", true, kFirst},
                              {"Evaluations", true, kSecond},
                              {"\u0394 at equal evaluations", true, kSecond},
                              {"Interval", true, kSecond},
                              {"Verdict", false, kFirst, true},
                              {"Remarks", false, kSecond, true}}};
  for (const auto& row : board.rows) table.rows.push_back(row_view(model, row, column));
  return table;
}

std::vector<TableNote> leaderboard_notes(const TableModel& model) {
  if (!model.leaderboard) return {};
  const auto& board = *model.leaderboard;
  return {{.text = verdict_note(model) + " " + groups_note(board), .place = NotePlace::kLeaderboard},
          {.text = second_view_note(board), .place = NotePlace::kEqualEvaluations}};
}

}  // namespace harness

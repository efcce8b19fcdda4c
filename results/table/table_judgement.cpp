#include "results/table/table_judgement.h"

#include <algorithm>
#include <iterator>

#include "results/statistics/verdict_words.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// Judges a comparison with what its family made of its p.
void judge_comparison(const TableModel& model, const AdjustedP& adjusted, Comparison& comparison) {
  comparison.judgement = judge(comparison.values, column_of(model, comparison.metric).better,
                               {.confidence = model.confidence,
                                .adjusted = adjusted,
                                .unit = model.over_training ? kSeedUnit : "prompts",
                                .of_images = model.images_are_given});
}

/// The leaderboard's row that a comparison is judged by; null where it is judged by the table's family.
const LeaderboardRow* judging_row(const TableModel& model, const Comparison& c) {
  if (!model.leaderboard) return nullptr;
  const auto& board = *model.leaderboard;
  if (c.baseline != board.baseline || (c.metric != board.metric && c.restates != board.metric))
    return nullptr;
  const auto row = std::ranges::find(board.rows, c.method, &LeaderboardRow::method);
  return row == board.rows.end() || !row->at_images ? nullptr : &*row;
}

}  // namespace

void judge_comparisons(TableModel& model) {
  model.family = Family(kTableFamily, questions_of(model.comparisons));
  for (std::size_t i = 0; i < model.comparisons.size(); ++i) {
    auto& comparison = model.comparisons[i];
    const auto* row = judging_row(model, comparison);
    judge_comparison(model, row == nullptr ? model.family.at(i) : row->judgement.adjusted, comparison);
    if (row != nullptr && row->standing != Standing::kBetter && row->standing != Standing::kWorse)
      say_less(row->verdict, comparison.judgement);
  }
}

void put_together(TableModel& whole, std::vector<TableModel> parts) {
  std::vector<TableQuestion> questions;
  for (const auto& part : parts) {
    for (const auto& comparison : part.comparisons) {
      questions.push_back(question_of(comparison));
      questions.back().table = part.id;
    }
  }
  whole.family = Family(kTableFamily, std::move(questions));
  std::size_t next = 0;
  for (auto& part : parts) {
    for (auto& comparison : part.comparisons) {
      const auto before = std::move(comparison.judgement);
      judge_comparison(part, whole.family.at(next++), comparison);
      if (before.is_split) say_less(before.text, comparison.judgement);
    }
    part.family = whole.family;
    std::ranges::copy(part.reference, std::back_inserter(whole.reference));
    std::ranges::copy(part.rows, std::back_inserter(whole.rows));
    std::ranges::copy(part.comparisons, std::back_inserter(whole.comparisons));
    whole.wall_seconds += part.wall_seconds;
  }
  whole.parts = std::move(parts);
}

}  // namespace harness

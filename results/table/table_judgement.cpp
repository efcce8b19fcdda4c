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

void heed_leaderboard(TableModel& model) {
  const auto& board = *model.leaderboard;
  for (auto& c : model.comparisons) {
    if (c.baseline != board.baseline || (c.metric != board.metric && c.restates != board.metric)) continue;
    const auto row = std::ranges::find(board.rows, c.method, &LeaderboardRow::method);
    if (row == board.rows.end() || !row->at_images) continue;
    judge_comparison(model, row->judgement.adjusted, c);
    if (row->standing != Standing::kBetter && row->standing != Standing::kWorse)
      say_less(row->verdict, c.judgement);
  }
}

}  // namespace

void judge_comparisons(TableModel& model) {
  model.family = Family(kTableFamily, questions_of(model.comparisons));
  for (std::size_t i = 0; i < model.comparisons.size(); ++i)
    judge_comparison(model, model.family.at(i), model.comparisons[i]);
  if (model.leaderboard) heed_leaderboard(model);
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

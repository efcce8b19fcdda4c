#include "results/table/table_judgement.h"

#include <algorithm>
#include <iterator>

#include "results/statistics/verdict_words.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

/// Judges a comparison with what its family made of its p; nothing: it has none.
void judge_comparison(const TableModel& model, std::optional<AdjustedP> adjusted, Comparison& comparison) {
  comparison.judgement = judge(comparison.values, column_of(model, comparison.metric).better,
                               {.confidence = model.confidence,
                                .adjusted = std::move(adjusted),
                                .equal_within = model.families.margin(comparison.metric),
                                .unit = model.over_training ? kSeedUnit : "prompts",
                                .of_images = model.images_are_given});
}

/// Tells the questions of parts apart.
std::string table_in_whole(const TableModel& part, const std::string& table) {
  return part.id + " " + table;
}

/// The questions of all parts, of methods or of checkpoints, as one family.
Family family_of(const std::vector<TableModel>& parts, Family Families::*family, double level) {
  std::vector<TableQuestion> questions;
  for (const auto& part : parts) {
    for (auto question : (part.families.*family).questions()) {
      question.table = table_in_whole(part, question.table);
      questions.push_back(std::move(question));
    }
  }
  return Family(std::move(questions), level);
}

/// What the families of all parts made of a part's question.
std::optional<AdjustedP> adjusted_in(const Families& whole, const TableModel& part, const Comparison& c) {
  const auto claim = claim_of(c.values);
  auto question = question_of(c);
  question.table = table_in_whole(part, "");
  auto adjusted = whole.of(claim).find(question);
  if (adjusted && claim == Claim::kMethods) adjusted->share *= part.families.share_of_look;
  return adjusted;
}

}  // namespace

void ask_all(const FamilyRoles& roles, TableModel& model) {
  auto questions = questions_of(model.comparisons);
  give_roles(roles, questions);
  model.families.methods = model.families.checkpoints = Family(std::move(questions), 1 - model.confidence);
}

void judge_comparisons(TableModel& model) {
  for (auto& comparison : model.comparisons)
    judge_comparison(model, model.families.adjusted(comparison), comparison);
}

void heed_leaderboard(TableModel& model) {
  if (!model.leaderboard) return;
  const auto& board = *model.leaderboard;
  for (auto& c : model.comparisons) {
    if (c.baseline != board.baseline || (c.metric != board.metric && c.restates != board.metric)) continue;
    const auto row = std::ranges::find(board.rows, c.method, &LeaderboardRow::method);
    if (row == board.rows.end() || !row->at_images) continue;
    if (row->standing != Standing::kBetter && row->standing != Standing::kWorse)
      say_less(row->verdict, c.judgement);
  }
}

void put_together(TableModel& whole, std::vector<TableModel> parts) {
  const double level = 1 - whole.confidence;
  whole.families.methods = family_of(parts, &Families::methods, level);
  whole.families.checkpoints = family_of(parts, &Families::checkpoints, level);
  for (auto& part : parts) {
    for (auto& comparison : part.comparisons) {
      const auto before = std::move(comparison.judgement);
      judge_comparison(part, adjusted_in(whole.families, part, comparison), comparison);
      if (before.is_split) say_less(before.text, comparison.judgement);
    }
    for (const auto family : {&Families::methods, &Families::checkpoints})
      if (!(part.families.*family).empty()) part.families.*family = whole.families.*family;
    std::ranges::copy(part.reference, std::back_inserter(whole.reference));
    std::ranges::copy(part.rows, std::back_inserter(whole.rows));
    std::ranges::copy(part.comparisons, std::back_inserter(whole.comparisons));
    whole.wall_seconds += part.wall_seconds;
  }
  whole.parts = std::move(parts);
}

}  // namespace harness

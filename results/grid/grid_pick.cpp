#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "results/grid/grid.h"

namespace harness {
namespace {

/// Smaller keys come first; the last part, the position, makes every order total.
using Key = std::array<double, 3>;

/// The scores of the methods; empty if one is missing.
std::vector<double> method_scores(const PromptScores& prompt, const GridRule& rule) {
  std::vector<double> scores;
  for (const auto column : rule.methods) {
    const auto& score = prompt.scores.at(column);
    if (!score) return {};
    scores.push_back(*score);
  }
  return scores;
}

/// Where a prompt stands in a group's order; nothing if it is no candidate.
std::optional<Key> group_key(const PromptScores& prompt, const GridRule& rule, GridGroup group) {
  const auto scores = method_scores(prompt, rule);
  if (scores.empty()) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(scores);
  double mean = 0;
  for (const double score : scores) mean += score / static_cast<double>(scores.size());
  const double highlighted = *prompt.scores.at(rule.highlighted),
               gain = highlighted - *prompt.scores.at(rule.baseline);
  const double position = prompt.position;
  switch (group) {
    case GridGroup::kWins:
      if (gain > 0) return Key{-gain, -highlighted, position};
      break;
    case GridGroup::kMixed:
      if (gain <= 0 && high > low) return Key{low - high, gain, position};
      break;
    case GridGroup::kNearTies:
      return Key{std::abs(gain), -highlighted, position};
    case GridGroup::kLosses:
      if (gain < 0) return Key{gain, highlighted, position};
      break;
    case GridGroup::kFailures:
      if (!rule.perfect || high < *rule.perfect) return Key{high, mean, position};
      break;
    case GridGroup::kPaper:
      break;  // chosen by the paper, not by a score
  }
  return std::nullopt;
}

std::vector<int> ranked_positions(std::span<const PromptScores> prompts, const GridRule& rule,
                                  GridGroup group) {
  if (group == GridGroup::kPaper) return rule.paper;
  std::vector<Key> keys;
  for (const auto& prompt : prompts) {
    if (const auto key = group_key(prompt, rule, group)) keys.push_back(*key);
  }
  std::ranges::sort(keys);
  std::vector<int> positions;
  for (const auto& key : keys) positions.push_back(static_cast<int>(key.back()));
  return positions;
}

/// Takes up to `count` positions that are not taken yet; the number taken.
std::size_t take(const std::vector<int>& ranked, std::size_t count, std::set<int>& taken,
                 std::vector<int>& out) {
  std::size_t added = 0;
  for (const int position : ranked) {
    if (added == count) break;
    if (!taken.insert(position).second) continue;
    out.push_back(position);
    ++added;
  }
  return added;
}

}  // namespace

std::vector<GridPick> pick_grid_rows(std::span<const PromptScores> prompts, const GridRule& rule) {
  const std::size_t groups = rule.groups.size();
  std::vector<std::vector<int>> ranked, chosen(groups);
  for (const auto group : rule.groups) ranked.push_back(ranked_positions(prompts, rule, group));

  std::set<int> taken;
  std::size_t left = rule.rows;
  for (std::size_t i = 0; i < groups; ++i) {
    const std::size_t share = rule.rows / groups + (i < rule.rows % groups ? 1 : 0);
    left -= take(ranked[i], share, taken, chosen[i]);
  }
  for (std::size_t i = 0; i < groups && left > 0; ++i) left -= take(ranked[i], left, taken, chosen[i]);

  std::vector<GridPick> picks;
  for (std::size_t i = 0; i < groups; ++i) {
    for (const int position : chosen[i]) picks.push_back({position, rule.groups[i]});
  }
  return picks;
}

}  // namespace harness

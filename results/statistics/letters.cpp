#include "results/statistics/letters.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace harness {
namespace {

using Group = std::vector<bool>;  ///< by item: whether it has the group's letter

bool is_within(const Group& inner, const Group& outer) {
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] && !outer[i]) return false;
  }
  return true;
}

/// Leaves out groups that another one holds.
std::vector<Group> absorbed(std::vector<Group> groups) {
  std::vector<Group> kept;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto holds = [&](std::size_t j) {
      return j != i && is_within(groups[i], groups[j]) && (groups[i] != groups[j] || j < i);
    };
    bool is_held = false;
    for (std::size_t j = 0; j < groups.size() && !is_held; ++j) is_held = holds(j);
    if (!is_held) kept.push_back(groups[i]);
  }
  return kept;
}

/// Splits every group that has both items in one without the first and one without the second.
std::vector<Group> set_apart(const std::vector<Group>& groups, std::size_t first, std::size_t second) {
  std::vector<Group> apart;
  for (const auto& group : groups) {
    apart.push_back(group);
    if (!group[first] || !group[second]) continue;
    apart.back()[first] = false;
    apart.push_back(group);
    apart.back()[second] = false;
  }
  return absorbed(std::move(apart));
}

std::string letter(std::size_t number) {
  constexpr std::size_t kAlphabet = 26;
  if (number < kAlphabet) return std::string(1, static_cast<char>('a' + number));
  if (number < 2 * kAlphabet) return std::string(1, static_cast<char>('A' + (number - kAlphabet)));
  return fmt::format("({})", number + 1);
}

}  // namespace

std::vector<std::string> compact_letters(std::size_t items, const DifferingPairs& differing) {
  std::vector<Group> groups{Group(items, true)};
  for (const auto& [first, second] : differing) groups = set_apart(groups, first, second);
  // By their first items: the highest mean has the first letter.
  std::ranges::sort(groups, std::greater<>());
  std::vector<std::string> letters(items);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = 0; i < items; ++i) {
      if (groups[g][i]) letters[i] += letter(g);
    }
  }
  return letters;
}

}  // namespace harness

#include "results/statistics/letters.h"

#include <gtest/gtest.h>

#include <random>

namespace harness {
namespace {

using Letters = std::vector<std::string>;

TEST(CompactLetters, AreOneWhereNothingDiffers) {
  EXPECT_EQ(compact_letters(3, {}), (Letters{"a", "a", "a"}));
  EXPECT_EQ(compact_letters(0, {}), Letters{});
}

TEST(CompactLetters, AreOneEachWhereEverythingDiffers) {
  EXPECT_EQ(compact_letters(3, {{0, 1}, {0, 2}, {1, 2}}), (Letters{"a", "b", "c"}));
}

TEST(CompactLetters, LetTheMiddleShareBothItsNeighbours) {
  EXPECT_EQ(compact_letters(3, {{0, 2}}), (Letters{"a", "ab", "b"}));
  EXPECT_EQ(compact_letters(4, {{0, 2}, {0, 3}, {1, 3}}), (Letters{"a", "ab", "bc", "c"}));
}

bool share_a_letter(const std::string& a, const std::string& b) {
  return a.find_first_of(b) != std::string::npos;
}

TEST(CompactLetters, AreSharedByThoseAloneThatDoNotDiffer) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    constexpr std::size_t kItems = 8;
    DifferingPairs differing;
    for (std::size_t i = 0; i < kItems; ++i) {
      for (std::size_t j = i + 1; j < kItems; ++j) {
        if (random() % 3 == 0) differing.insert({i, j});
      }
    }
    const auto letters = compact_letters(kItems, differing);
    EXPECT_EQ(letters.front().front(), 'a');
    for (std::size_t i = 0; i < kItems; ++i) {
      for (std::size_t j = i + 1; j < kItems; ++j)
        EXPECT_EQ(share_a_letter(letters[i], letters[j]), !differing.contains({i, j})) << i << " and " << j;
    }
  }
}

}  // namespace
}  // namespace harness

#include "results/statistics/bootstrap_indices.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace harness {
namespace {

std::vector<std::uint32_t> draws(std::uint32_t seed, std::uint32_t resample, std::uint32_t size,
                                 std::size_t n) {
  std::vector<std::uint32_t> indices(n);
  resample_indices(seed, resample, size, indices);
  return indices;
}

// Numbers of a second implementation in Python (Philox4x32-10 from its paper, checked against Random123's
// known answer for zero key and counter, 6627e8d5 e169c58d bc57ac4c 9b00dbd8):
//   x = philox((i // 4, attempt, resample, size), (seed, 0x626f6f74))[i % 4] * size; accepted if x % 2**32 >=
//   2**32 % size; x >> 32
TEST(BootstrapIndices, FollowTheDocumentedAddresses) {
  EXPECT_EQ(draws(7, 3, 10, 12), (std::vector<std::uint32_t>{1, 3, 9, 3, 1, 4, 9, 5, 3, 9, 9, 7}));
}

TEST(BootstrapIndices, OfSeedsHaveAddressesOfTheirOwn) {
  std::vector<std::uint32_t> indices;
  for (std::uint32_t resample = 0; resample < 4; ++resample) {
    std::vector<std::uint32_t> drawn(3);
    resample_indices(7, resample, 3, drawn, Drawn::kSeeds);
    indices.insert(indices.end(), drawn.begin(), drawn.end());
  }
  EXPECT_EQ(indices, (std::vector<std::uint32_t>{1, 2, 2, 0, 2, 1, 1, 2, 1, 2, 2, 2}));
}

TEST(BootstrapIndices, RejectedWordsAreDrawnAgainAtTheNextAttempt) {
  const std::uint32_t size = 3u * (1u << 30) + 1;  // a quarter of all words is rejected
  EXPECT_EQ(draws(1, 0, size, 6), (std::vector<std::uint32_t>{2203807684, 1360446447, 503416867, 2672734901,
                                                              223768133, 3116078651}));
}

TEST(BootstrapIndices, ADrawDoesNotDependOnHowManyAreAskedFor) {
  const auto many = draws(5, 9, 762, 762);
  const auto few = draws(5, 9, 762, 101);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(BootstrapIndices, EveryIndexIsEquallyLikely) {
  constexpr std::uint32_t kSize = 7;
  std::array<int, kSize> counts{};
  for (std::uint32_t resample = 0; resample < 1000; ++resample) {
    for (const auto index : draws(0, resample, kSize, 70)) ++counts.at(index);
  }
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 10000.0) * (count - 10000.0) / 10000.0;
  EXPECT_LT(chi_square, 22.46);  // 0.999 quantile with 6 degrees of freedom
}

}  // namespace
}  // namespace harness

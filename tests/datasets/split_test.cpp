#include "datasets/split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/sha256.h"

namespace harness {
namespace {

std::string checksum(const std::vector<int>& positions) {
  return sha256_hex(fmt::format("{}", fmt::join(positions, ",")));
}

// python3 -c 'import random, hashlib; v = random.Random(20260501).sample(range(1018), 256);
//   t = sorted(set(range(1018)) - set(v)); print(v[:6], *(hashlib.sha256(",".join(map(str,
//   x)).encode()).hexdigest() for x in (v, t)))'
TEST(Split, OfThePaperEqualsCPython) {
  const Split split = make_split({20260501, 256}, 1018);
  ASSERT_EQ(split.validation.size(), 256u);
  ASSERT_EQ(split.test.size(), 762u);
  EXPECT_EQ(std::vector<int>(split.validation.begin(), split.validation.begin() + 6),
            (std::vector<int>{94, 719, 557, 196, 707, 323}));
  EXPECT_EQ(checksum(split.validation), "6c2eff432ee1edd91e742273303c10a5afc4fe09815c6db07d7d1cedbb3a67f4");
  EXPECT_EQ(checksum(split.test), "5f019374614bb0358823319025e4fa8383cbb5d8ca6d2dc81ad9cf8456c3d661");
}

TEST(Split, TakesNothingOrEverything) {
  EXPECT_TRUE(make_split({1, 0}, 5).validation.empty());
  EXPECT_EQ(make_split({1, 0}, 5).test, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(make_split({1, 5}, 5).test.empty());
}

TEST(Split, AcceptsSeedsAboveTheSignedRange) {
  EXPECT_NE(make_split({~0ull, 10}, 100).validation, make_split({1, 10}, 100).validation);
}

TEST(Split, RefusesSizesThatDoNotFit) {
  EXPECT_THROW(make_split({1, 11}, 10), Error);
  EXPECT_THROW(make_split({1, -1}, 10), Error);
  EXPECT_THROW(make_split({1, 0}, 0), Error);
}

}  // namespace
}  // namespace harness

#include "evaluators/jpeg.h"

#include <gtest/gtest.h>

#include <array>

#include "core/error.h"
#include "tests/painted_image.h"

namespace harness {
namespace {

/// Each channel `apart` levels above the one before it.
template <class Level>
Image drawn(int width, int height, int apart, const Level& level) {
  return painted(width, height, [&](int x, int y) {
    return std::array{level(x, y), level(x, y) + apart, level(x, y) + 2 * apart};
  });
}

// Bytes that Pillow 13.0 writes for the same pixels with quality=95.
TEST(Jpeg, SizesAreThoseThatPillowWrites) {
  const auto curved = [](int x, int y) { return x * x * 7 + y * y * 13 + x * y * 31; };
  EXPECT_EQ(jpeg_kilobytes(drawn(64, 64, 29, curved)), 5.623);
  EXPECT_EQ(jpeg_kilobytes(drawn(96, 48, 40, [](int x, int y) { return x * 2 + y; })), 1.707);
  EXPECT_EQ(jpeg_kilobytes(drawn(33, 17, 77, [](int x, int y) { return x * 5 + y * 9; })), 1.241);
}

TEST(Jpeg, TheRewardIsThePublicOne) {
  EXPECT_DOUBLE_EQ(compressibility_reward(4.06), -0.00812);  // E65 and the paper's size
}

TEST(Jpeg, AnImageThatCannotBeEncodedHasNoValueAndAReason) {
  const auto score = jpeg_score(Image{});
  EXPECT_EQ(score.metrics.at("jpeg_kb"), std::nullopt);
  EXPECT_NE(score.reasons.at("jpeg_kb").find("empty"), std::string::npos);
  Image huge{.width = 70000, .height = 1, .rgb = std::vector<std::uint8_t>(210000)};  // JPEG's limit is 65500
  EXPECT_THROW(jpeg_kilobytes(huge), Error);
}

}  // namespace
}  // namespace harness

#include "evaluators/jpeg.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/error.h"

namespace harness {
namespace {

Image drawn(int width, int height, const std::function<int(int, int, int)>& value) {
  Image image{.width = width, .height = height, .rgb = {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) image.rgb.push_back(static_cast<std::uint8_t>(value(x, y, c) % 256));
    }
  }
  return image;
}

// Bytes that Pillow 13.0 writes for the same pixels with quality=95.
TEST(Jpeg, SizesAreThoseThatPillowWrites) {
  EXPECT_EQ(jpeg_kilobytes(drawn(
                64, 64, [](int x, int y, int c) { return x * x * 7 + y * y * 13 + x * y * 31 + c * 29; })),
            5.623);
  EXPECT_EQ(jpeg_kilobytes(drawn(96, 48, [](int x, int y, int c) { return x * 2 + y + c * 40; })), 1.707);
  EXPECT_EQ(jpeg_kilobytes(drawn(33, 17, [](int x, int y, int c) { return x * 5 + y * 9 + c * 77; })), 1.241);
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

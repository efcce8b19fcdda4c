#include "evaluators/image_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "evaluators/jpeg.h"
#include "tests/painted_image.h"

namespace harness {
namespace {

using Rgb = std::array<int, 3>;

Image plain(int width, int height, Rgb colour) {
  return painted(width, height, [=](int, int) { return colour; });
}

/// Pixels that look drawn by lot, the same on every machine.
Rgb speckle(int x, int y) {
  const auto level = [&](unsigned channel) {
    unsigned h = static_cast<unsigned>(x) * 73856093u ^ static_cast<unsigned>(y) * 19349663u ^
                 (channel + 1) * 83492791u;
    h ^= h >> 13;
    h *= 0x5bd1e995u;
    return static_cast<int>((h ^ (h >> 15)) & 255u);
  };
  return {level(0), level(1), level(2)};
}

Image darkened(Image image, double factor) {
  for (auto& level : image.rgb) level = static_cast<std::uint8_t>(std::lround(level * factor));
  return image;
}

Image scene() {
  return read_png(std::string(HARNESS_SOURCE_DIR) + "/tests/data/ocr/clean.png");
}

TEST(ImageStatistics, APlainImageIsDarkOrSaturatedFromTheBoundsOnAndHasNoEdgesAndNoEntropy) {
  struct Plain {
    Rgb colour;
    int dark, saturated;
  };
  for (const auto& [colour, dark, saturated] :
       {Plain{{0, 0, 0}, 1, 0}, Plain{{63, 63, 63}, 1, 0}, Plain{{64, 64, 64}, 0, 0},
        Plain{{128, 128, 128}, 0, 0}, Plain{{100, 227, 100}, 0, 0}, Plain{{100, 228, 100}, 0, 1},
        Plain{{200, 0, 0}, 1, 1}}) {  // luma 60
    const auto found = image_statistics(plain(32, 16, colour));
    EXPECT_EQ(found.dark_share, dark) << testing::PrintToString(colour);
    EXPECT_EQ(found.saturated_share, saturated) << testing::PrintToString(colour);
    EXPECT_EQ(found.edge_density, 0);
    EXPECT_EQ(found.colour_entropy, 0);
  }
}

TEST(ImageStatistics, EntropyIsTheBitsOfTheColourBoxes) {
  const auto halves = painted(16, 16, [](int x, int) { return x < 8 ? Rgb{0, 0, 0} : Rgb{255, 255, 255}; });
  EXPECT_DOUBLE_EQ(image_statistics(halves).colour_entropy, 1);
  const auto every_box = painted(32, 16, [](int x, int y) {
    const int box = y * 32 + x;
    return Rgb{box / 64 * 32, box / 8 % 8 * 32, box % 8 * 32};
  });
  EXPECT_DOUBLE_EQ(image_statistics(every_box).colour_entropy, 9);
  // 31 and 32 are in neighbouring boxes, 32 and 63 in the same.
  const auto near = painted(16, 16, [](int x, int) { return x < 8 ? Rgb{32, 0, 0} : Rgb{63, 0, 0}; });
  EXPECT_EQ(image_statistics(near).colour_entropy, 0);
}

TEST(ImageStatistics, AStepOf32LevelsIsAnEdgeTwoPixelsWideAndOneOf31IsNone) {
  const auto step = [](int height) {
    return painted(12, 9, [=](int x, int) {
      return x < 6 ? Rgb{90, 90, 90} : Rgb{90 + height, 90 + height, 90 + height};
    });
  };
  EXPECT_DOUBLE_EQ(image_statistics(step(32)).edge_density, 2.0 / 10);
  EXPECT_EQ(image_statistics(step(31)).edge_density, 0);
}

TEST(ImageStatistics, AnImageTooSmallForAWindowHasNoEdges) {
  EXPECT_EQ(image_statistics(painted(2, 2, speckle)).edge_density, 0);
}

TEST(ImageStatistics, EveryStatisticIsWithinItsBounds) {
  for (const auto& image : {painted(96, 48, speckle), scene(), plain(1, 1, {255, 0, 255})}) {
    const auto found = image_statistics(image);
    for (const double share : {found.edge_density, found.dark_share, found.saturated_share}) {
      EXPECT_GE(share, 0);
      EXPECT_LE(share, 1);
    }
    EXPECT_GE(found.colour_entropy, 0);
    EXPECT_LE(found.colour_entropy, 9);
  }
  const auto noise = image_statistics(painted(96, 48, speckle));
  EXPECT_GT(noise.edge_density, 0.7);
  EXPECT_GT(noise.colour_entropy, 8.5);
}

TEST(ImageStatistics, DarkeningAnImageMovesEveryStatisticTheHarmfulWay) {
  for (const auto& bright : {painted(96, 48, speckle), scene()}) {
    const auto before = image_statistics(bright), after = image_statistics(darkened(bright, 0.2));
    EXPECT_GT(after.dark_share, before.dark_share + 0.3);
    EXPECT_LT(after.colour_entropy, before.colour_entropy - 0.5);
    EXPECT_LT(after.edge_density, 0.8 * before.edge_density);
    EXPECT_LT(jpeg_kilobytes(darkened(bright, 0.2)), jpeg_kilobytes(bright));
  }
}

TEST(ImageStatistics, FlatteningAnImageLosesEdgesEntropyAndBytes) {
  const auto fine = painted(96, 48, speckle);
  const auto coarse = painted(96, 48, [](int x, int y) { return speckle(x / 12, y / 12); });
  EXPECT_LT(image_statistics(coarse).edge_density, 0.5 * image_statistics(fine).edge_density);
  EXPECT_LT(image_statistics(coarse).colour_entropy, image_statistics(fine).colour_entropy - 2);
  EXPECT_LT(jpeg_kilobytes(coarse), 0.6 * jpeg_kilobytes(fine));
}

TEST(ImageStatistics, AShareDoesNotDependOnTheSizeOfThePicture) {
  const auto tile = [](int size) {
    return painted(size, size, [=](int x, int y) {
      return (x * 4 / size + y * 4 / size) % 2 == 0 ? Rgb{20, 20, 20} : Rgb{250, 60, 60};
    });
  };
  const auto small = image_statistics(tile(64)), large = image_statistics(tile(512));
  EXPECT_DOUBLE_EQ(small.dark_share, large.dark_share);
  EXPECT_DOUBLE_EQ(small.saturated_share, large.saturated_share);
  EXPECT_DOUBLE_EQ(small.colour_entropy, large.colour_entropy);
}

TEST(ImageStatistics, AnEmptyImageHasNoValuesAndAReasonForEach) {
  const auto score = image_statistics_score(Image{});
  ASSERT_EQ(score.metrics.size(), image_statistic_names().size());
  for (const auto& name : image_statistic_names()) {
    EXPECT_EQ(score.metrics.at(name), std::nullopt);
    EXPECT_NE(score.reasons.at(name).find("empty"), std::string::npos);
  }
}

TEST(ImageStatistics, TheirIdentityNamesVersionAndConstants) {
  const auto identity = image_statistics_identity();
  EXPECT_EQ(identity.at("version"), "1");
  EXPECT_EQ(identity.at("settings").at("dark_luma"), 64);
}

}  // namespace
}  // namespace harness

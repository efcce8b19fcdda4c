#include "evaluators/pillow_image.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>

#include "core/sha256.h"
#include "tests/painted_image.h"

namespace harness {
namespace {

struct Golden {
  int width, height, new_width, new_height;
  const char *grey_sha256, *resized_sha256;
};

Image pattern(int width, int height) {
  return painted(width, height, [](int x, int y) {
    const int first = x * 37 + y * 91 + x * y * 7;
    return std::array{first, first + 53, first + 2 * 53};
  });
}

std::string checksum(const GreyImage& image) {
  return sha256_hex({reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size()});
}

// Pillow 13.0.0, pixel (x, y, c) = (37 x + 91 y + 53 c + 7 x y) % 256: grey = image.convert("L"),
// grey.resize((new_width, new_height), Image.BICUBIC); SHA-256 of tobytes() of both.
TEST(PillowImage, EqualsPillowBitForBit) {
  for (const auto& golden :
       {Golden{96, 48, 288, 144, "f78164f615e81bd573d2b03ca7382f04b87ccc4c65dc6cdd5f7590b0ae3cede1",
               "bc0b0469b0d008d4201ed6b3e91042a17ec192c2d2d9becb98a5ec8ecbfab5de"},
        Golden{5, 4, 15, 12, "cafa338879f69c0f4481800ecda955629d6877e858e6f220ba7047fa5e9401e6",
               "f91c3627fa75d004a936c45fa45def1ea6f226626fa6ad5d830b479805c3d44a"},
        Golden{31, 17, 10, 40, "d6863eba5dba709cf3d2d61beacf5be40b5898c58632eebb10d645a8390952a1",
               "68eefe87e44ba00cbbdd4ff865386e53618cb0f116ca8b7104b70a375e41fc97"},
        Golden{64, 64, 7, 9, "4376c894e2117d9b421e549d923ca751bf1a179d5016730ca18b55c6039f3c29",
               "942d40beb9c83071d4663f6adde3b4286242c02d1baa1ba60ff98cdd691aa993"}}) {
    const GreyImage grey = grey_of(pattern(golden.width, golden.height));
    EXPECT_EQ(checksum(grey), golden.grey_sha256) << golden.width;
    const GreyImage resized = resize_bicubic(grey, golden.new_width, golden.new_height);
    EXPECT_EQ(resized.width, golden.new_width);
    EXPECT_EQ(resized.height, golden.new_height);
    EXPECT_EQ(checksum(resized), golden.resized_sha256) << golden.width;
  }
}

TEST(PillowImage, ResizingToTheSameSizeChangesNothing) {
  const GreyImage grey = grey_of(pattern(9, 5));
  EXPECT_EQ(resize_bicubic(grey, 9, 5).pixels, grey.pixels);
}

}  // namespace
}  // namespace harness

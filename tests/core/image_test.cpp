#include "core/image.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace harness {
namespace {

void append_to_text(png_structp png, png_bytep data, png_size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(data), size);
}

/// A PNG of 13 x 9 pixels, whose samples do not depend on the order in which the file holds them.
std::string patterned_png(int colour_type, int bits, int interlace) {
  constexpr png_uint_32 kWidth = 13, kHeight = 9;
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &out, append_to_text, nullptr);
  png_set_IHDR(png, info, kWidth, kHeight, bits, colour_type, interlace, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  const auto stride = png_get_rowbytes(png, info);
  std::vector<std::uint8_t> samples(stride * kHeight);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<std::uint8_t>(i * i * 31 + i * 7);
  std::vector<png_bytep> rows;
  for (png_uint_32 y = 0; y < kHeight; ++y) rows.push_back(samples.data() + y * stride);
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

struct PngKind {
  const char* name;
  int colour_type, bits;
};

TEST(Png, AnInterlacedPictureHasThePixelsOfTheSameOneRowByRow) {
  const std::vector<PngKind> kinds = {
      {"colours", PNG_COLOR_TYPE_RGB, 8},     {"with alpha", PNG_COLOR_TYPE_RGB_ALPHA, 8},
      {"of 16 bits", PNG_COLOR_TYPE_RGB, 16}, {"grey with alpha, of 16 bits", PNG_COLOR_TYPE_GRAY_ALPHA, 16},
      {"grey", PNG_COLOR_TYPE_GRAY, 8},       {"black and white", PNG_COLOR_TYPE_GRAY, 1}};
  for (const auto& kind : kinds) {
    const auto plain = patterned_png(kind.colour_type, kind.bits, PNG_INTERLACE_NONE);
    const auto interlaced = patterned_png(kind.colour_type, kind.bits, PNG_INTERLACE_ADAM7);
    EXPECT_NE(plain, interlaced) << kind.name;
    const auto image = decode_png(interlaced, "image");
    EXPECT_EQ(image.width, 13) << kind.name;
    EXPECT_EQ(image.height, 9) << kind.name;
    EXPECT_EQ(image.rgb, decode_png(plain, "image").rgb) << kind.name;
  }
}

}  // namespace
}  // namespace harness

#pragma once

#include <cstdint>
#include <vector>

#include "core/image.h"

namespace harness {

/// 8-bit grey, rows from the top.
struct GreyImage {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;
};

/// Luma of ITU-R 601 in Pillow's integers: (19595 R + 38470 G + 7471 B + 32768) >> 16, as Image.convert("L").
GreyImage grey_of(const Image& image);

/// Pillow's Image.resize((width, height), BICUBIC), bit for bit; see core/pillow_resize.h.
GreyImage resize_bicubic(const GreyImage& image, int width, int height);

}  // namespace harness

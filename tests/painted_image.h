#pragma once

#include <cstdint>

#include "core/image.h"

namespace harness {

/// An image whose pixels have the three levels that colour(x, y) gives, modulo 256.
template <class Colour>
Image painted(int width, int height, const Colour& colour) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (const int level : colour(x, y)) image.rgb.push_back(static_cast<std::uint8_t>(level));
    }
  }
  return image;
}

}  // namespace harness

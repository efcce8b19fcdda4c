#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/image.h"

namespace harness {

enum class PillowFilter { kBilinear, kBicubic };  ///< bicubic: a = -0.5

/// Pillow 13's Image.resize of 8-bit pixels, bit for bit: the filter's support widened when shrinking,
/// coefficients in fixed point, first along rows and then along columns (the other way round where far more
/// rows are lost than columns), rounded to 8 bits after each.
/// pixels [height,width,channels] -> [new_height,new_width,channels]; all sizes at least 1.
std::vector<std::uint8_t> pillow_resize(std::span<const std::uint8_t> pixels, int width, int height,
                                        int channels, int new_width, int new_height, PillowFilter filter);

/// The same of an RGB image.
Image pillow_resize(const Image& image, int width, int height, PillowFilter filter);

}  // namespace harness

#include "evaluators/pillow_image.h"

#include <algorithm>
#include <cmath>

namespace harness {
namespace {

constexpr int kPrecisionBits = 32 - 8 - 2;  // Pillow's fixed point for 8-bit channels

double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

/// One output position: the weighted inputs first, first + 1, ...
struct Tap {
  int first;
  std::vector<int> weights;
};

std::vector<Tap> taps_for(int in, int out) {
  const double scale = static_cast<double>(in) / out;
  const double stretch = std::max(scale, 1.0), support = 2 * stretch;
  std::vector<Tap> taps;
  for (int x = 0; x < out; ++x) {
    const double center = (x + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int last = std::min(static_cast<int>(center + support + 0.5), in);
    std::vector<double> weights;
    double sum = 0;
    for (int i = first; i < last; ++i) {
      weights.push_back(bicubic((i - center + 0.5) * (1.0 / stretch)));
      sum += weights.back();
    }
    Tap tap{first, {}};
    for (const double weight : weights) {
      const double fixed = weight / sum * (1 << kPrecisionBits);
      tap.weights.push_back(static_cast<int>(fixed < 0 ? fixed - 0.5 : fixed + 0.5));
    }
    taps.push_back(std::move(tap));
  }
  return taps;
}

/// The weighted sum of pixels `stride` apart, rounded and clamped to a byte.
std::uint8_t blend(const std::uint8_t* pixels, int stride, const Tap& tap) {
  int sum = 1 << (kPrecisionBits - 1);
  const std::uint8_t* pixel = pixels + tap.first * stride;
  for (const int weight : tap.weights) {
    sum += *pixel * weight;
    pixel += stride;
  }
  return static_cast<std::uint8_t>(std::clamp(sum >> kPrecisionBits, 0, 255));
}

GreyImage blank(int width, int height) {
  return {width, height,
          std::vector<std::uint8_t>(static_cast<std::size_t>(width) * static_cast<std::size_t>(height))};
}

GreyImage resize_rows(const GreyImage& image, int width) {
  if (width == image.width) return image;
  const auto taps = taps_for(image.width, width);
  GreyImage out = blank(width, image.height);
  auto target = out.pixels.begin();
  for (int y = 0; y < image.height; ++y) {
    for (const Tap& tap : taps)
      *target++ = blend(image.pixels.data() + static_cast<std::ptrdiff_t>(y) * image.width, 1, tap);
  }
  return out;
}

GreyImage resize_columns(const GreyImage& image, int height) {
  if (height == image.height) return image;
  GreyImage out = blank(image.width, height);
  auto target = out.pixels.begin();
  for (const Tap& tap : taps_for(image.height, height)) {
    for (int x = 0; x < image.width; ++x) *target++ = blend(image.pixels.data() + x, image.width, tap);
  }
  return out;
}

}  // namespace

GreyImage grey_of(const Image& image) {
  GreyImage grey = blank(image.width, image.height);
  const std::uint8_t* rgb = image.rgb.data();
  for (auto& pixel : grey.pixels) {
    pixel = static_cast<std::uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
    rgb += 3;
  }
  return grey;
}

GreyImage resize_bicubic(const GreyImage& image, int width, int height) {
  return resize_columns(resize_rows(image, width), height);
}

}  // namespace harness

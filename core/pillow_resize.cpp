#include "core/pillow_resize.h"

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

double bilinear(double x) {
  return std::max(1 - std::abs(x), 0.0);
}

struct Kernel {
  double (*weight)(double);
  double support;
};

Kernel kernel_of(PillowFilter filter) {
  return filter == PillowFilter::kBicubic ? Kernel{bicubic, 2} : Kernel{bilinear, 1};
}

/// One output position: the weighted inputs first, first + 1, ...
struct Tap {
  int first;
  std::vector<int> weights;
};

std::vector<Tap> taps_for(int in, int out, const Kernel& kernel) {
  const double scale = static_cast<double>(in) / out;
  const double stretch = std::max(scale, 1.0), support = kernel.support * stretch;
  std::vector<Tap> taps;
  for (int x = 0; x < out; ++x) {
    const double center = (x + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int last = std::min(static_cast<int>(center + support + 0.5), in);
    std::vector<double> weights;
    double sum = 0;
    for (int i = first; i < last; ++i) {
      weights.push_back(kernel.weight((i - center + 0.5) * (1.0 / stretch)));
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

/// The weighted sum of values `stride` apart, rounded and clamped to a byte.
std::uint8_t blend(const std::uint8_t* values, std::ptrdiff_t stride, const Tap& tap) {
  int sum = 1 << (kPrecisionBits - 1);
  const std::uint8_t* value = values + tap.first * stride;
  for (const int weight : tap.weights) {
    sum += *value * weight;
    value += stride;
  }
  return static_cast<std::uint8_t>(std::clamp(sum >> kPrecisionBits, 0, 255));
}

/// One axis of an array [outer,in,inner] resized to `out`.
std::vector<std::uint8_t> resize_axis(std::span<const std::uint8_t> values, int outer, int in, int inner,
                                      int out, const Kernel& kernel) {
  if (in == out) return {values.begin(), values.end()};
  const auto taps = taps_for(in, out, kernel);
  std::vector<std::uint8_t> result(static_cast<std::size_t>(outer) * static_cast<std::size_t>(out) *
                                   static_cast<std::size_t>(inner));
  auto target = result.begin();
  for (int o = 0; o < outer; ++o) {
    const auto* block = values.data() + static_cast<std::ptrdiff_t>(o) * in * inner;
    for (const Tap& tap : taps) {
      for (int i = 0; i < inner; ++i) *target++ = blend(block + i, inner, tap);
    }
  }
  return result;
}

/// Since Pillow 13 an image that loses more than twice as many rows as columns is resized along columns
/// first.
bool columns_go_first(int width, int height, int new_width, int new_height) {
  return new_height < height && height - new_height > 2 * (width - new_width);
}

}  // namespace

std::vector<std::uint8_t> pillow_resize(std::span<const std::uint8_t> pixels, int width, int height,
                                        int channels, int new_width, int new_height, PillowFilter filter) {
  const auto kernel = kernel_of(filter);
  if (columns_go_first(width, height, new_width, new_height)) {
    const auto columns = resize_axis(pixels, 1, height, width * channels, new_height, kernel);
    return resize_axis(columns, new_height, width, channels, new_width, kernel);
  }
  const auto rows = resize_axis(pixels, height, width, channels, new_width, kernel);
  return resize_axis(rows, 1, height, new_width * channels, new_height, kernel);
}

Image pillow_resize(const Image& image, int width, int height, PillowFilter filter) {
  return {width, height, pillow_resize(image.rgb, image.width, image.height, 3, width, height, filter)};
}

}  // namespace harness

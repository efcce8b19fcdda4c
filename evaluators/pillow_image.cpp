#include "evaluators/pillow_image.h"

#include "core/pillow_resize.h"

namespace harness {
GreyImage grey_of(const Image& image) {
  GreyImage grey{image.width, image.height, std::vector<std::uint8_t>(image.rgb.size() / 3)};
  const std::uint8_t* rgb = image.rgb.data();
  for (auto& pixel : grey.pixels) {
    pixel = static_cast<std::uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
    rgb += 3;
  }
  return grey;
}

GreyImage resize_bicubic(const GreyImage& image, int width, int height) {
  return {width, height,
          pillow_resize(image.pixels, image.width, image.height, 1, width, height, PillowFilter::kBicubic)};
}

}  // namespace harness

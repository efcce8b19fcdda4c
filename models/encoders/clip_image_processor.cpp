#include "models/encoders/clip_image_processor.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/pillow_resize.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr double kLargestByte = 255;

ImageSize resized_size(const ClipImageConfig& config, ImageSize image) {
  if (!config.shortest_edge) return config.size;
  const std::int64_t shorter = std::min(image.width, image.height),
                     longer = std::max(image.width, image.height), edge = *config.shortest_edge;
  const int other = static_cast<int>(edge * longer / shorter), side = static_cast<int>(edge);
  return image.width <= image.height ? ImageSize{other, side} : ImageSize{side, other};
}

ImageSize size_of(const Image& image) {
  return {.height = image.height, .width = image.width};
}

/// Half of a lack, rounded up.
int margin_before(int wanted, int there) {
  return std::max(wanted - there + 1, 0) / 2;
}

/// torchvision's CenterCrop: margins rounded to even where they are halves.
std::int64_t even_begin(std::int64_t there, std::int64_t wanted) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(there - wanted) / 2));
}

Image centre_crop(const Image& image, ImageSize size, CropBegin begin) {
  Image crop{size.width, size.height, {}};
  crop.rgb.resize(3 * static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height));
  const int top = margin_before(size.height, image.height), left = margin_before(size.width, image.width);
  const auto first = [begin](int there, int wanted) {
    if (there <= wanted) return 0;
    return begin == CropBegin::kEven ? static_cast<int>(even_begin(there, wanted)) : (there - wanted) / 2;
  };
  const int first_row = first(image.height, size.height), first_column = first(image.width, size.width);
  const int rows = std::min(image.height, size.height), columns = std::min(image.width, size.width);
  for (int y = 0; y < rows; ++y) {
    const auto from =
        image.rgb.begin() + 3 * (static_cast<std::ptrdiff_t>(first_row + y) * image.width + first_column);
    std::copy(from, from + 3 * static_cast<std::ptrdiff_t>(columns),
              crop.rgb.begin() + 3 * (static_cast<std::ptrdiff_t>(top + y) * size.width + left));
  }
  return crop;
}

/// The 256 values that a channel can have.
std::array<float, 256> channel_values(const ClipImageConfig& config, std::size_t channel) {
  const auto mean = static_cast<float>(config.mean[channel]), std = static_cast<float>(config.std[channel]);
  std::array<float, 256> values;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto exact = static_cast<double>(byte);
    auto value = static_cast<float>(config.rescale ? exact * config.rescale_factor : exact);
    if (config.normalize) value = (value - mean) / std;
    values[byte] = value;
  }
  return values;
}

Tensor per_channel(const std::array<double, 3>& values) {
  return torch::tensor({values[0], values[1], values[2]}, torch::kFloat32).view({3, 1, 1});
}

/// [3,h,w] in 0..1.
Tensor unit_pixels(const Image& image) {
  const auto bytes = torch::tensor(at::ArrayRef<std::uint8_t>(image.rgb), torch::kUInt8);
  return bytes.view({image.height, image.width, 3}).permute({2, 0, 1}).to(torch::kFloat32).contiguous() / 255;
}

}  // namespace

Image clip_crop(const ClipImageConfig& config, const Image& image, CropBegin begin) {
  Image resized = image;
  if (config.resize) {
    const auto size = resized_size(config, size_of(image));
    resized = pillow_resize(image, size.width, size.height, config.filter);
  }
  return config.crop ? centre_crop(resized, config.crop_size, begin) : resized;
}

Tensor clip_pixel_values(const ClipImageConfig& config, const Image& image, CropBegin begin) {
  const auto crop = clip_crop(config, image, begin);
  auto pixels = torch::empty({3, crop.height, crop.width});
  auto* target = pixels.mutable_data_ptr<float>();
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const auto values = channel_values(config, channel);
    for (std::size_t i = channel; i < crop.rgb.size(); i += 3) *target++ = values[crop.rgb[i]];
  }
  return pixels;
}

Tensor clip_pixel_values_without_rounding(const ClipImageConfig& config, const Image& image) {
  if (!config.resize || !config.shortest_edge || !config.crop || !config.normalize) {
    throw Error("the path without rounding needs size {\"shortest_edge\"}, a centre crop and normalisation",
                "preprocessor_config.json");
  }
  const auto size = resized_size(config, size_of(image));
  const auto crop = config.crop_size;
  if (size.height < crop.height || size.width < crop.width)
    throw Error("the crop is larger than the resized image", "preprocessor_config.json: crop_size");
  return clip_pixel_values(config, unit_pixels(image).unsqueeze(0), /*by_pillow=*/false)[0].contiguous();
}

namespace {

/// [B,3,H,W] resized, with the values that a byte can have.
Tensor resized(const ClipImageConfig& config, const Tensor& pixels, bool by_pillow) {
  const auto size = resized_size(
      config, {.height = static_cast<int>(pixels.size(2)), .width = static_cast<int>(pixels.size(3))});
  const std::array<std::int64_t, 2> to{size.height, size.width};
  if (!by_pillow || config.filter == PillowFilter::kBilinear)
    return at::_upsample_bilinear2d_aa(pixels, to, /*align_corners=*/false);
  return at::_upsample_bicubic2d_aa(pixels, to, /*align_corners=*/false).clamp(0, 1);
}

/// Of one axis: the middle `wanted` of what is there, with black where there is less.
Tensor cropped(const Tensor& pixels, std::int64_t axis, int wanted, bool by_pillow) {
  const auto there = static_cast<int>(pixels.size(axis));
  if (there < wanted) {
    const int before = margin_before(wanted, there), after = wanted - there - before;
    return torch::constant_pad_nd(pixels, axis == 3 ? std::vector<std::int64_t>{before, after}
                                                    : std::vector<std::int64_t>{0, 0, before, after});
  }
  const auto begin = by_pillow ? (there - wanted) / 2 : even_begin(there, wanted);
  return pixels.narrow(axis, begin, wanted);
}

}  // namespace

Tensor clip_pixel_values(const ClipImageConfig& config, const Tensor& pixels, bool by_pillow) {
  auto x = config.resize ? resized(config, pixels, by_pillow) : pixels;
  if (config.crop) {
    x = cropped(x, 2, config.crop_size.height, by_pillow);
    x = cropped(x, 3, config.crop_size.width, by_pillow);
  }
  if (by_pillow) x = x * (config.rescale ? kLargestByte * config.rescale_factor : kLargestByte);
  if (!config.normalize) return x;
  return (x - per_channel(config.mean).to(x)) / per_channel(config.std).to(x);
}

Image image_of(const Tensor& pixels) {
  TORCH_CHECK(pixels.dim() == 3 && pixels.size(2) == 3 && pixels.scalar_type() == torch::kUInt8,
              "not an image: ", pixels.sizes());
  const auto dense = pixels.contiguous();
  const auto* bytes = dense.const_data_ptr<std::uint8_t>();
  return {static_cast<int>(dense.size(1)), static_cast<int>(dense.size(0)), {bytes, bytes + dense.numel()}};
}

}  // namespace harness

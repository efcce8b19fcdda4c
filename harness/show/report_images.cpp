#include "harness/show/report_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base64.h"
#include "core/error.h"
#include "core/image.h"
#include "evaluators/jpeg.h"
#include "results/grid/grid_canvas.h"
#include "results/store/stored_image.h"

namespace harness {
namespace {

constexpr int kQuality = 85;

/// Four channels of 16 bits and what goes with them; a page would carry along whatever else a file holds.
void require_small(std::size_t bytes, const Image& image, const std::filesystem::path& file) {
  constexpr std::size_t kPerPixel = 8, kBeside = 64u << 10;
  const auto pixels = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
  if (bytes <= kPerPixel * pixels + kBeside) return;
  throw Error(fmt::format("has {} bytes for {} x {} pixels, too many to be put into a page", bytes,
                          image.width, image.height),
              file.string(), "strip what it holds beside its pixels", Status::kFailed);
}

Image shrunk(const Image& image, int longest) {
  const double factor = static_cast<double>(longest) / std::max(image.width, image.height);
  const auto side = [&](int pixels) { return std::max(1, static_cast<int>(std::lround(pixels * factor))); };
  const int width = side(image.width), height = side(image.height);
  GridCanvas canvas;
  canvas.picture(image, 0, 0, width, height);
  return canvas.finish(width, height);
}

}  // namespace

std::string image_data_uri(const std::filesystem::path& file, const std::string& sha256, int longest) {
  const auto bytes = read_stored_image(file, sha256);
  const auto image = decode_png(bytes, file);
  if (std::max(image.width, image.height) <= longest) {
    require_small(bytes.size(), image, file);
    return "data:image/png;base64," + base64(bytes);
  }
  return "data:image/jpeg;base64," + base64(jpeg_bytes(shrunk(image, longest), kQuality));
}

}  // namespace harness

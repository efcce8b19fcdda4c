#include "harness/report_images.h"

#include <algorithm>
#include <cmath>

#include "core/base64.h"
#include "core/files.h"
#include "core/image.h"
#include "evaluators/jpeg.h"
#include "results/grid_canvas.h"

namespace harness {
namespace {

constexpr int kQuality = 85;

Image shrunk(const Image& image, int longest) {
  const double factor = static_cast<double>(longest) / std::max(image.width, image.height);
  const auto side = [&](int pixels) { return std::max(1, static_cast<int>(std::lround(pixels * factor))); };
  const int width = side(image.width), height = side(image.height);
  GridCanvas canvas;
  canvas.picture(image, 0, 0, width, height);
  return canvas.finish(width, height);
}

}  // namespace

std::string image_data_uri(const std::filesystem::path& file, int longest) {
  const auto image = read_png(file);
  if (std::max(image.width, image.height) <= longest)
    return "data:image/png;base64," + base64(read_file(file));
  return "data:image/jpeg;base64," + base64(jpeg_bytes(shrunk(image, longest), kQuality));
}

}  // namespace harness

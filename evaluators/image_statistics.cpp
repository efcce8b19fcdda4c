#include "evaluators/image_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"

namespace harness {
namespace {

// A change of any of these, or of a formula below, is a new version.
constexpr const char* kVersion = "1";
constexpr int kDarkLuma = 64;          // luma below it is dark
constexpr int kStrongChroma = 128;     // max - min from here on is saturated
constexpr int kBoxesPerChannel = 8;    // of the colour histogram
constexpr int kEdgeStepPerPixel = 16;  // luma levels a pixel, from here on an edge
constexpr int kSobelWeight = 8;        // sum of the kernel's absolute weights
constexpr int kBoxWidth = 256 / kBoxesPerChannel;

/// ITU-R 601 in the integers that Pillow's conversion to "L" uses, 0 to 255.
int luma(const std::uint8_t* pixel) {
  return (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16;
}

/// Runs over pixels and over the windows of 3 x 3 luma values.
class Measurement {
 public:
  explicit Measurement(const Image& image)
      : width_(image.width), height_(image.height), luma_(static_cast<std::size_t>(width_ * height_)) {
    for (std::size_t i = 0; i < luma_.size(); ++i) add(image.rgb.data() + 3 * i, luma_[i]);
  }

  ImageStatistics result() const {
    return {.edge_density = edge_density(),
            .colour_entropy = entropy(),
            .dark_share = share(dark_),
            .saturated_share = share(saturated_)};
  }

 private:
  void add(const std::uint8_t* pixel, int& grey) {
    grey = luma(pixel);
    dark_ += grey < kDarkLuma ? 1 : 0;
    const auto [low, high] = std::minmax({pixel[0], pixel[1], pixel[2]});
    saturated_ += high - low >= kStrongChroma ? 1 : 0;
    const int box = (pixel[0] / kBoxWidth * kBoxesPerChannel + pixel[1] / kBoxWidth) * kBoxesPerChannel +
                    pixel[2] / kBoxWidth;
    ++boxes_[static_cast<std::size_t>(box)];
  }

  double share(std::size_t count) const {
    return static_cast<double>(count) / static_cast<double>(luma_.size());
  }

  double entropy() const {
    double bits = 0;
    for (const auto count : boxes_) {
      if (count > 0) bits -= share(count) * std::log2(share(count));
    }
    return std::max(bits, 0.0);
  }

  int at(int x, int y) const { return luma_[static_cast<std::size_t>(y * width_ + x)]; }

  /// Squared Sobel gradient in levels a kernel weight.
  int squared_gradient(int x, int y) const {
    const int across = at(x + 1, y - 1) + 2 * at(x + 1, y) + at(x + 1, y + 1) - at(x - 1, y - 1) -
                       2 * at(x - 1, y) - at(x - 1, y + 1);
    const int down = at(x - 1, y + 1) + 2 * at(x, y + 1) + at(x + 1, y + 1) - at(x - 1, y - 1) -
                     2 * at(x, y - 1) - at(x + 1, y - 1);
    return across * across + down * down;
  }

  double edge_density() const {
    if (width_ < 3 || height_ < 3) return 0;
    constexpr int kLeast = kEdgeStepPerPixel * kSobelWeight;
    std::size_t edges = 0;
    for (int y = 1; y + 1 < height_; ++y) {
      for (int x = 1; x + 1 < width_; ++x) edges += squared_gradient(x, y) >= kLeast * kLeast ? 1 : 0;
    }
    return static_cast<double>(edges) / static_cast<double>((width_ - 2) * (height_ - 2));
  }

  int width_, height_;
  std::vector<int> luma_;
  std::size_t dark_ = 0, saturated_ = 0;
  std::array<std::size_t, kBoxesPerChannel* kBoxesPerChannel* kBoxesPerChannel> boxes_ = {};
};

}  // namespace

ImageStatistics image_statistics(const Image& image) {
  if (image.width < 1 || image.height < 1) throw Error("is empty", "image", {}, Status::kFailed);
  return Measurement(image).result();
}

const std::vector<std::string>& image_statistic_names() {
  static const std::vector<std::string> names{"edge_density", "colour_entropy", "dark_share",
                                              "saturated_share"};
  return names;
}

SampleScore image_statistics_score(const Image& image) {
  SampleScore score;
  try {
    const auto found = image_statistics(image);
    score.metrics = {{"edge_density", found.edge_density},
                     {"colour_entropy", found.colour_entropy},
                     {"dark_share", found.dark_share},
                     {"saturated_share", found.saturated_share}};
  } catch (const Error& error) {
    for (const auto& name : image_statistic_names()) {
      score.metrics[name] = std::nullopt;
      score.reasons[name] = error.what();
    }
  }
  return score;
}

Json image_statistics_identity() {
  return {{"name", "image-statistics"},
          {"version", kVersion},
          {"settings",
           {{"luma", "ITU-R 601"},
            {"edge_step", kEdgeStepPerPixel},
            {"colour_boxes", kBoxesPerChannel},
            {"dark_luma", kDarkLuma},
            {"strong_chroma", kStrongChroma}}},
          {"data", Json::array()}};
}

}  // namespace harness

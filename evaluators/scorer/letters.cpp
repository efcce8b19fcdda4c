#include "evaluators/scorer/letters.h"

#include <leptonica/allheaders.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

namespace harness {
namespace {

constexpr int kWindow = 61;                           // pixels a side of a neighbourhood
constexpr double kDeviations = 0.2, kFlat = 12;       // of grey levels
constexpr double kSoftness = 0.8;                     // deviations from the threshold to black or white
constexpr int kTallest = 130, kWidest = 230;          // pixels of a letter, or of some that touch
constexpr int kSpeckArea = 12, kSmallestLetter = 10;  // what is lower is a dot or a comma of a letter nearby
constexpr int kNearX = 25, kNearY = 35;               // extent of "nearby"
constexpr double kThinnest = 0.06, kFullest = 0.95;   // share of its box that a letter fills
constexpr int kFullBoxArea = 1500;                    // a small box may be full: l, dashes, dots
constexpr int kEdge = 5;                              // width of the fringe kept around ink
constexpr double kMostSlant = 8, kSlantConfidence = 2.5;

struct Destroy {
  void operator()(Pix* pix) const { pixDestroy(&pix); }
  void operator()(Boxa* boxes) const { boxaDestroy(&boxes); }
  void operator()(Pixa* parts) const { pixaDestroy(&parts); }
};
template <class T>
using Owned = std::unique_ptr<T, Destroy>;

bool is_set(const Pix* bits, int x, int y) {
  return GET_DATA_BIT(pixGetData(const_cast<Pix*>(bits)) + static_cast<std::ptrdiff_t>(y) * pixGetWpl(bits),
                      x) != 0;
}

void set(Pix* bits, int x, int y) {
  SET_DATA_BIT(pixGetData(bits) + static_cast<std::ptrdiff_t>(y) * pixGetWpl(bits), x);
}

/// Sums of grey values and of their squares over rectangles.
class Sums {
 public:
  explicit Sums(const GreyImage& image)
      : width_(image.width),
        height_(image.height),
        values_(static_cast<std::size_t>(width_ + 1) * static_cast<std::size_t>(height_ + 1)),
        squares_(values_.size()) {
    for (int y = 0; y < height_; ++y) {
      std::int64_t value = 0, square = 0;
      for (int x = 0; x < width_; ++x) {
        const std::int64_t pixel = image.pixels[static_cast<std::size_t>(y * width_ + x)];
        value += pixel;
        square += pixel * pixel;
        values_[index(x + 1, y + 1)] = values_[index(x + 1, y)] + value;
        squares_[index(x + 1, y + 1)] = squares_[index(x + 1, y)] + square;
      }
    }
  }

  struct Neighbourhood {
    double mean, deviation;
  };

  /// The window around a pixel, cut at the image's edges.
  Neighbourhood around(int x, int y) const {
    const int left = std::max(0, x - kWindow / 2), right = std::min(width_, x + kWindow / 2 + 1);
    const int top = std::max(0, y - kWindow / 2), bottom = std::min(height_, y + kWindow / 2 + 1);
    const auto sum = [&](const std::vector<std::int64_t>& sums) {
      return static_cast<double>(sums[index(right, bottom)] - sums[index(left, bottom)] -
                                 sums[index(right, top)] + sums[index(left, top)]);
    };
    const double count = static_cast<double>(right - left) * (bottom - top), mean = sum(values_) / count;
    return {mean, std::sqrt(std::max(0.0, sum(squares_) / count - mean * mean))};
  }

 private:
  std::size_t index(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_ + 1) + static_cast<std::size_t>(x);
  }

  int width_, height_;
  std::vector<std::int64_t> values_, squares_;
};

/// Ink, and the picture with its threshold in the middle of the scale: letters keep their smooth edges.
struct Thresholded {
  Owned<Pix> ink;
  GreyImage levelled;
};

Thresholded threshold(const GreyImage& picture) {
  Thresholded out{Owned<Pix>(pixCreate(picture.width, picture.height, 1)),
                  {picture.width, picture.height, {}}};
  out.levelled.pixels.reserve(picture.pixels.size());
  const Sums sums(picture);
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      const auto [mean, deviation] = sums.around(x, y);
      const double limit = mean - (deviation < kFlat ? kFlat : kDeviations * deviation);
      const double value = picture.pixels[static_cast<std::size_t>(y * picture.width + x)];
      const double level = 128 + 127 * (value - limit) / (kSoftness * std::max(deviation, kFlat));
      out.levelled.pixels.push_back(static_cast<std::uint8_t>(std::clamp(level, 0.0, 255.0)));
      if (value < limit) set(out.ink.get(), x, y);
    }
  }
  return out;
}

struct Part {
  int x, y, width, height;
  Owned<Pix> ink;
};

std::vector<Part> connected_parts(Pix* ink) {
  Pixa* pieces = nullptr;
  const Owned<Boxa> boxes(pixConnComp(ink, &pieces, 8));
  const Owned<Pixa> owned(pieces);
  std::vector<Part> parts;
  for (int i = 0; i < boxaGetCount(boxes.get()); ++i) {
    Part part{};
    boxaGetBoxGeometry(boxes.get(), i, &part.x, &part.y, &part.width, &part.height);
    part.ink.reset(pixaGetPix(pieces, i, L_CLONE));
    parts.push_back(std::move(part));
  }
  return parts;
}

bool touches_edge(const Part& part, const Pix* image) {
  return part.x == 0 || part.y == 0 || part.x + part.width == pixGetWidth(image) ||
         part.y + part.height == pixGetHeight(image);
}

bool may_be_of_a_letter(const Part& part) {
  if (part.height > kTallest || part.width > kWidest || part.height < 3 || part.width < 2) return false;
  int area = 0;
  pixCountPixels(part.ink.get(), &area, nullptr);
  const int box = part.width * part.height;
  const double share = static_cast<double>(area) / box;
  return area >= kSpeckArea && share > kThinnest && (share <= kFullest || box <= kFullBoxArea);
}

void paint(Pix* onto, const Part& part) {
  pixRasterop(onto, part.x, part.y, part.width, part.height, PIX_PAINT, part.ink.get(), 0, 0);
}

/// Letters, and the dots and marks near them.
Owned<Pix> letters_of(Pix* ink) {
  auto parts = connected_parts(ink);
  std::erase_if(parts,
                [&](const Part& part) { return touches_edge(part, ink) || !may_be_of_a_letter(part); });
  Owned<Pix> letters(pixCreateTemplate(ink));
  for (const Part& part : parts) {
    if (part.height >= kSmallestLetter) paint(letters.get(), part);
  }
  const Owned<Pix> surroundings(pixDilateBrick(nullptr, letters.get(), kNearX, kNearY));
  for (const Part& part : parts) {
    if (is_set(surroundings.get(), part.x + part.width / 2, part.y + part.height / 2))
      paint(letters.get(), part);
  }
  return letters;
}

/// Degrees to turn the lines by so that they lie level; 0 where that is unclear.
double slant_of(Pix* letters) {
  float angle = 0, confidence = 0;
  const int failed = pixFindSkewSweepAndSearch(letters, &angle, &confidence, 2, 1, kMostSlant, 1, 0.05F);
  return failed == 0 && confidence >= kSlantConfidence && std::abs(angle) <= kMostSlant ? angle : 0;
}

/// The levelled picture where there are letters, with a fringe; other ink and the rest become white.
Owned<Pix> only_letters(const Thresholded& picture, Pix* letters) {
  const GreyImage& grey = picture.levelled;
  const Owned<Pix> fringe(pixDilateBrick(nullptr, letters, kEdge, kEdge));
  Owned<Pix> out(pixCreate(grey.width, grey.height, 8));
  for (int y = 0; y < grey.height; ++y) {
    l_uint32* line = pixGetData(out.get()) + static_cast<std::ptrdiff_t>(y) * pixGetWpl(out.get());
    for (int x = 0; x < grey.width; ++x) {
      const bool kept =
          is_set(fringe.get(), x, y) && (is_set(letters, x, y) || !is_set(picture.ink.get(), x, y));
      SET_DATA_BYTE(line, x, kept ? grey.pixels[static_cast<std::size_t>(y * grey.width + x)] : 255);
    }
  }
  return out;
}

GreyImage pixels_of(const Pix* pix) {
  GreyImage image{pixGetWidth(pix), pixGetHeight(pix), {}};
  for (int y = 0; y < image.height; ++y) {
    const l_uint32* line =
        pixGetData(const_cast<Pix*>(pix)) + static_cast<std::ptrdiff_t>(y) * pixGetWpl(pix);
    for (int x = 0; x < image.width; ++x)
      image.pixels.push_back(static_cast<std::uint8_t>(GET_DATA_BYTE(line, x)));
  }
  return image;
}

GreyImage inverted(GreyImage image) {
  for (auto& pixel : image.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
  return image;
}

}  // namespace

GreyImage letters_in(const GreyImage& picture, Ink ink) {
  const Thresholded thresholded = threshold(ink == Ink::kLight ? inverted(picture) : picture);
  const Owned<Pix> letters = letters_of(thresholded.ink.get());
  const Owned<Pix> found = only_letters(thresholded, letters.get());
  const double radians = slant_of(letters.get()) * std::numbers::pi / 180;
  const Owned<Pix> level(
      pixRotate(found.get(), static_cast<float>(radians), L_ROTATE_AREA_MAP, L_BRING_IN_WHITE, 0, 0));
  return pixels_of(level.get());
}

Json letters_settings() {
  return {{"window", kWindow},
          {"deviations", kDeviations},
          {"flat", kFlat},
          {"softness", kSoftness},
          {"tallest", kTallest},
          {"widest", kWidest},
          {"speck_area", kSpeckArea},
          {"smallest_letter", kSmallestLetter},
          {"near", {kNearX, kNearY}},
          {"fill", {kThinnest, kFullest}},
          {"full_box_area", kFullBoxArea},
          {"edge", kEdge},
          {"most_slant", kMostSlant},
          {"slant_confidence", kSlantConfidence}};
}

}  // namespace harness

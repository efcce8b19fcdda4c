#include <algorithm>
#include <cmath>
#include <numbers>

#include "embedded/pictures/shapes_scene.h"

namespace harness {
namespace {

constexpr double kPi = std::numbers::pi;

// Shapes in the unit circle, y down.

struct Point {
  double x, y;
};

bool in_star(Point p) {
  // The angle folded to a tenth of a turn from a tip; the edge there is a line from the tip to a notch.
  constexpr double kNotch = 0.45, kTenth = kPi / 5;
  const double turn = std::fmod(std::atan2(p.x, -p.y) + 2 * kPi, 2 * kTenth);
  const double angle = std::min(turn, 2 * kTenth - turn), radius = std::hypot(p.x, p.y);
  const double x = radius * std::cos(angle), y = radius * std::sin(angle);
  const double notch_x = kNotch * std::cos(kTenth), notch_y = kNotch * std::sin(kTenth);
  return (1 - x) * notch_y >= y * (1 - notch_x);
}

bool in_heart(Point p) {
  const double x = p.x * 1.22, y = -p.y * 1.2 + .16;
  const double ring = x * x + y * y - 1;
  return ring * ring * ring <= x * x * y * y * y;
}

/// `label` in the order of kShapeClasses: circle, square, triangle, star, heart, cross, ring, diamond.
bool inside(int label, Point p) {
  const double x = std::abs(p.x), y = std::abs(p.y), radius = std::hypot(x, y);
  switch (label) {
    case 0:
      return radius <= .95;
    case 1:
      return x <= .78 && y <= .78;
    case 2:
      return p.y <= .66 && p.y + .95 >= 1.75 * x;
    case 3:
      return in_star(p);
    case 4:
      return in_heart(p);
    case 5:
      return (x <= .3 && y <= .92) || (y <= .3 && x <= .92);
    case 6:
      return radius <= .96 && radius >= .52;
    default:
      return x / .7 + y <= 1;
  }
}

/// A scene on its way to bytes.
class Canvas {
 public:
  explicit Canvas(const ShapesScene& scene)
      : scene_(scene), engine_(scene.seed), pixels_(kPixels), owner_(kPixels, 0) {
    for (int y = 0; y < kShapesSide; ++y) {
      const float down = (static_cast<float>(y) + .5F) / kShapesSide;
      for (int x = 0; x < kShapesSide; ++x) {
        for (std::size_t c = 0; c < 3; ++c)
          at(x, y)[c] = scene.top[c] + down * (scene.bottom[c] - scene.top[c]);
      }
    }
  }

  void add(std::size_t index) {
    const auto& object = scene_.objects[index];
    const double reach = object.size / 2 + 1 + (object.flaw == ShapeFlaw::kSoft ? object.size / 3 : 0);
    const auto first = [reach](double centre) { return std::max(0, static_cast<int>(centre - reach)); };
    const auto last = [reach](double centre) {
      return std::min(kShapesSide - 1, static_cast<int>(centre + reach));
    };
    const Frame frame(object);
    const Tear tear{uniform(engine_, 0, 9), uniform(engine_, 0, 9), uniform(engine_, .7, 1.3)};
    for (int y = first(object.y); y <= last(object.y); ++y) {
      for (int x = first(object.x); x <= last(object.x); ++x) paint(index, x, y, frame, tear);
    }
  }

  ShapesPicture finish() {
    blur();
    ShapesPicture picture{{kShapesSide, kShapesSide, {}}, std::move(owner_)};
    picture.image.rgb.reserve(kPixels * 3);
    for (const auto& pixel : pixels_) {
      for (const float value : pixel) {
        const double noisy = value + scene_.noise * noise();
        picture.image.rgb.push_back(static_cast<std::uint8_t>(std::lround(255 * std::clamp(noisy, 0., 1.))));
      }
    }
    return picture;
  }

 private:
  static constexpr std::size_t kPixels = static_cast<std::size_t>(kShapesSide) * kShapesSide;
  static constexpr int kSamples = 4;  ///< on each axis of a pixel

  struct Tear {
    double x, y, scale;
  };

  std::size_t index_of(int x, int y) const { return static_cast<std::size_t>(y) * kShapesSide + x; }
  Rgb& at(int x, int y) { return pixels_[index_of(x, y)]; }

  /// Variance 1, from the four quarters of a random word.
  double noise() {
    constexpr std::uint64_t kQuarter = 0xFFFF;
    const auto word = engine_();
    const auto sum = (word & kQuarter) + (word >> 16 & kQuarter) + (word >> 32 & kQuarter) + (word >> 48);
    return (static_cast<double>(sum) / kQuarter - 2) * std::numbers::sqrt3;
  }

  /// From pixels to the unit circle.
  struct Frame {
    explicit Frame(const ShapeObject& object)
        : x(object.x),
          y(object.y),
          cosine(std::cos(object.angle) * 2 / object.size),
          sine(std::sin(object.angle) * 2 / object.size) {}

    Point at(double px, double py) const {
      const double dx = px - x, dy = py - y;
      return {cosine * dx + sine * dy, cosine * dy - sine * dx};
    }

    double x, y, cosine, sine;
  };

  /// Ink of a flawed shape at a point, 0..1.
  static double ink(const ShapeObject& object, Point p, const Tear& tear) {
    const bool in = inside(object.label, p);
    switch (*object.flaw) {
      case ShapeFlaw::kFaded:
        return in ? .16 : 0;
      case ShapeFlaw::kSoft:
        return .75 * std::exp(-2.2 * (p.x * p.x + p.y * p.y));
      case ShapeFlaw::kHalf:
        return in && p.x * std::cos(tear.x) + p.y * std::sin(tear.x) > 0 ? 1 : 0;
      case ShapeFlaw::kMixed:
        return (p.x * std::cos(tear.x) + p.y * std::sin(tear.x) > 0 ? in : inside(object.other_label, p)) ? 1
                                                                                                          : 0;
      case ShapeFlaw::kTorn:
        return in && std::sin(4 * tear.scale * p.x + tear.x) * std::sin(4 * tear.scale * p.y + tear.y) > -.05
                   ? .9
                   : 0;
    }
    return 0;
  }

  void paint(std::size_t index, int x, int y, const Frame& frame, const Tear& tear) {
    const auto& object = scene_.objects[index];
    double cover = 0, edge = 0;
    for (int i = 0; i < kSamples * kSamples; ++i) {
      const double px = x + (i % kSamples + .5) / kSamples, py = y + (i / kSamples + .5) / kSamples;
      const auto p = frame.at(px, py);
      if (object.flaw) {
        cover += ink(object, p, tear);
      } else if (inside(object.label, p)) {
        cover += 1;
        edge += scene_.outlined && is_edge(object.label, frame, px, py) ? 1 : 0;
      }
    }
    if (cover == 0) return;
    constexpr double kAll = kSamples * kSamples;
    auto& pixel = at(x, y);
    const auto share = static_cast<float>(cover / kAll), line = static_cast<float>(edge / cover);
    const bool is_dark = object.fill[0] + object.fill[1] + object.fill[2] < .6F;
    for (std::size_t c = 0; c < 3; ++c) {
      const float outline = is_dark ? object.fill[c] + .2F : object.fill[c] * .65F;
      const float colour = object.fill[c] + line * (outline - object.fill[c]);
      pixel[c] += share * (colour - pixel[c]);
    }
    // Ink of a flawed shape hides an object too.
    if (cover > kAll / 2) owner_[index_of(x, y)] = object.flaw ? 0 : static_cast<std::uint8_t>(index + 1);
  }

  static bool is_edge(int label, const Frame& frame, double x, double y) {
    constexpr double kLine = .8;  // pixels
    const auto out = [&](double dx, double dy) { return !inside(label, frame.at(x + dx, y + dy)); };
    return out(kLine, 0) || out(-kLine, 0) || out(0, kLine) || out(0, -kLine);
  }

  /// With a kernel of three weights, which has the standard deviation asked for.
  void blur() {
    if (scene_.blur == 0) return;
    const auto side = static_cast<float>(scene_.blur * scene_.blur / 2);
    const auto pass = [&](int dx, int dy) {
      const auto before = pixels_;
      for (int y = 0; y < kShapesSide; ++y) {
        for (int x = 0; x < kShapesSide; ++x) {
          const auto there = [&](int sign) {
            return before[index_of(std::clamp(x + sign * dx, 0, kShapesSide - 1),
                                   std::clamp(y + sign * dy, 0, kShapesSide - 1))];
          };
          const auto a = there(-1), b = there(1), here = there(0);
          for (std::size_t c = 0; c < 3; ++c) at(x, y)[c] = (1 - 2 * side) * here[c] + side * (a[c] + b[c]);
        }
      }
    };
    pass(1, 0);
    pass(0, 1);
  }

  const ShapesScene& scene_;
  DataEngine engine_;
  std::vector<Rgb> pixels_;
  std::vector<std::uint8_t> owner_;
};

}  // namespace

ShapesPicture draw(const ShapesScene& scene) {
  Canvas canvas(scene);
  for (std::size_t i = 0; i < scene.objects.size(); ++i) canvas.add(i);
  return canvas.finish();
}

std::optional<std::array<int, 4>> visible_box(const ShapesPicture& picture, std::size_t object) {
  std::array<int, 4> box = {kShapesSide, kShapesSide, 0, 0};
  for (std::size_t i = 0; i < picture.owner.size(); ++i) {
    if (picture.owner[i] != object + 1) continue;
    const int x = static_cast<int>(i) % kShapesSide, y = static_cast<int>(i) / kShapesSide;
    box = {std::min(box[0], x), std::min(box[1], y), std::max(box[2], x + 1), std::max(box[3], y + 1)};
  }
  return box[2] == 0 ? std::nullopt : std::optional(box);
}

}  // namespace harness

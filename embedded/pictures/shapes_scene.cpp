#include "embedded/pictures/shapes_scene.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace harness {
namespace {

constexpr double kPi = std::numbers::pi;

double between(DataEngine& engine, std::array<double, 2> range) {
  return uniform(engine, range[0], range[1]);
}

bool chance(DataEngine& engine, double probability) {
  return uniform(engine) < probability;
}

int any_of(DataEngine& engine, int count) {
  return uniform_int(engine, 0, count - 1);
}

int any_other(DataEngine& engine, int count, int than) {
  const int drawn = any_of(engine, count - 1);
  return drawn < than ? drawn : drawn + 1;
}

// In the order of kGenevalColours.
constexpr std::array<Rgb, 10> kFills = {{{.86F, .13F, .13F},
                                         {.96F, .55F, .08F},
                                         {.95F, .87F, .15F},
                                         {.13F, .62F, .24F},
                                         {.13F, .29F, .84F},
                                         {.52F, .20F, .70F},
                                         {.98F, .56F, .75F},
                                         {.46F, .27F, .12F},
                                         {.06F, .06F, .06F},
                                         {.98F, .98F, .98F}}};

Rgb shade_of(int colour, DataEngine& engine) {
  auto fill = kFills.at(static_cast<std::size_t>(colour));
  for (auto& value : fill)
    value = std::clamp(value + static_cast<float>(uniform(engine, -.04, .04)), 0.F, 1.F);
  return fill;
}

/// Pastel, light grey or dark, but neither white nor black.
void choose_background(ShapesScene& scene, DataEngine& engine) {
  const bool dark = chance(engine, 0.3);
  const double level = dark ? uniform(engine, .30, .42) : uniform(engine, .66, .82);
  const double tint = chance(engine, 0.4) ? 0 : uniform(engine, 0, .07);
  const double slope = uniform(engine, -.05, .05);
  for (std::size_t c = 0; c < 3; ++c) {
    const double value = level + tint * uniform(engine, -1, 1);
    scene.top[c] = static_cast<float>(value + slope);
    scene.bottom[c] = static_cast<float>(value - slope);
  }
  scene.noise = uniform(engine, .005, .03);
  scene.blur = chance(engine, 0.5) ? 0 : uniform(engine, .2, .5);
  scene.outlined = chance(engine, 0.3);
  scene.seed = engine();
}

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

/// Diameters for so many objects in a picture.
std::array<double, 2> sizes_for(std::size_t count) {
  constexpr std::array<std::array<double, 2>, 6> kSizes = {
      {{16, 26}, {15, 25}, {14, 20}, {13, 18}, {12, 16}, {12, 15}}};
  return kSizes.at(std::min(std::max<std::size_t>(count, 1), kSizes.size()) - 1);
}

ShapeObject any_object(DataEngine& engine, int label, int colour, double size) {
  ShapeObject object{.label = label, .colour = colour, .size = size, .angle = uniform(engine, -.14, .14)};
  object.fill = shade_of(colour, engine);
  return object;
}

void place(ShapeObject& object, DataEngine& engine) {
  const double margin = object.size / 2 + .5;
  object.x = uniform(engine, margin, kShapesSide - margin);
  object.y = uniform(engine, margin, kShapesSide - margin);
}

/// Inside one of the sixteen patches of 16 x 16 pixels that are the network's tokens.
void place_in_patch(ShapeObject& object, DataEngine& engine) {
  constexpr double kPatch = 16, kJitter = .4;
  const auto along = [&] {
    return kPatch * (uniform_int(engine, 0, 3) + .5) + uniform(engine, -kJitter, kJitter);
  };
  object.x = along();
  object.y = along();
}

/// Whether the circles around two shapes are apart by `apart` of their radii.
bool are_apart(const ShapeObject& a, const ShapeObject& b, double apart) {
  return std::hypot(a.x - b.x, a.y - b.y) >= apart * (a.size + b.size) / 2;
}

/// Clearly: well inside the quarter of the plane that the relation means.
bool holds(GenevalRelation relation, const ShapeObject& a, const ShapeObject& b) {
  constexpr double kClear = 1.3;
  const double x = a.x - b.x, y = a.y - b.y, gap = (a.size + b.size) / 2;
  const auto along = [gap](double main, double side) {
    return main > kClear * std::abs(side) && main > .9 * gap;
  };
  switch (relation) {
    case GenevalRelation::kLeftOf:
      return along(-x, y);
    case GenevalRelation::kRightOf:
      return along(x, y);
    case GenevalRelation::kAbove:
      return along(-y, x);
    case GenevalRelation::kBelow:
      return along(y, x);
  }
  return false;
}

/// Where an object must lie, relative to earlier ones.
struct Placing {
  std::optional<GenevalRelation> relation;
  std::size_t first = 0, last = 0;  ///< of the objects that it relates to
};

using Place = void (*)(ShapeObject& object, DataEngine& engine);

/// How the objects of a scene lie.
struct Arrangement {
  std::array<double, 2> sizes;
  Place place;
  double apart = 1;  ///< between centres, in sums of the radii
};

/// Places one object after the other; false where there is no room left.
bool place_all(std::vector<ShapeObject>& objects, const std::vector<Placing>& placings,
               const Arrangement& arrangement, DataEngine& engine) {
  constexpr int kTries = 60;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const auto fits = [&] {
      for (std::size_t j = 0; j < i; ++j) {
        if (!are_apart(objects[i], objects[j], arrangement.apart)) return false;
      }
      const auto& placing = placings[i];
      for (std::size_t j = placing.first; placing.relation && j < placing.last; ++j) {
        if (!holds(*placing.relation, objects[i], objects[j])) return false;
      }
      return true;
    };
    int tries = 0;
    do {
      if (++tries > kTries) return false;
      arrangement.place(objects[i], engine);
    } while (!fits());
  }
  return true;
}

/// With the objects of a record.
void fill_scene(ShapesScene& scene, const GenevalRecord& record, DataEngine& engine,
                const Arrangement& arrangement) {
  std::vector<Placing> placings;
  do {
    scene.objects.clear();
    placings.clear();
    std::vector<std::size_t> starts = {0};  // of the clauses' objects
    for (const auto& clause : record.include) {
      Placing placing;
      if (clause.position) {
        const auto other = clause.position->other;
        placing = {clause.position->relation, starts.at(other), starts.at(other + 1)};
      }
      for (int i = 0; i < clause.count; ++i) {
        const int colour = clause.colour.value_or(any_of(engine, static_cast<int>(kGenevalColours.size())));
        scene.objects.push_back(any_object(engine, clause.label, colour, between(engine, arrangement.sizes)));
        placings.push_back(placing);
      }
      starts.push_back(scene.objects.size());
    }
  } while (!place_all(scene.objects, placings, arrangement, engine));
}

void exchange_colours(GenevalRecord& record) {
  std::swap(record.include.at(0).colour, record.include.at(1).colour);
}

void replace_colour(GenevalClause& clause, DataEngine& engine) {
  clause.colour = any_other(engine, static_cast<int>(kGenevalColours.size()), *clause.colour);
}

GenevalRelation other_relation(GenevalRelation relation, DataEngine& engine) {
  using R = GenevalRelation;
  if (chance(engine, .25)) {  // across
    const bool flat = relation == R::kLeftOf || relation == R::kRightOf, first = chance(engine, .5);
    return flat ? (first ? R::kAbove : R::kBelow) : (first ? R::kLeftOf : R::kRightOf);
  }
  switch (relation) {
    case R::kLeftOf:
      return R::kRightOf;
    case R::kRightOf:
      return R::kLeftOf;
    case R::kAbove:
      return R::kBelow;
    case R::kBelow:
      break;
  }
  return R::kAbove;
}

void make_mistake(GenevalRecord& record, DataEngine& engine) {
  auto& first = record.include.front();
  const auto& tag = record.tag;
  if (tag == "single_object") {
    first.label = any_other(engine, static_cast<int>(kShapeClasses.size()), first.label);
  } else if (tag == "two_object") {
    record.include.erase(record.include.begin() + any_of(engine, 2));
  } else if (tag == "counting") {
    first.count += chance(engine, .5) ? 1 : -1;
  } else if (tag == "colors") {
    replace_colour(first, engine);
  } else if (tag == "position") {
    auto& position = record.include.at(1).position.value();
    position.relation = other_relation(position.relation, engine);
  } else if (chance(engine, .5)) {
    exchange_colours(record);
  } else {
    replace_colour(record.include.at(static_cast<std::size_t>(any_of(engine, 2))), engine);
  }
}

}  // namespace

const std::array<double, 6> kMistakeShares = {.04, .12, .35, .08, .40, .20};
const double kFadedShare = .6;

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

ShapesScene scene_of(const GenevalRecord& record, DataEngine& engine) {
  ShapesScene scene;
  choose_background(scene, engine);
  std::size_t count = 0;
  for (const auto& clause : record.include) count += static_cast<std::size_t>(clause.count);
  fill_scene(scene, record, engine, {.sizes = sizes_for(count), .place = place});
  return scene;
}

ShapesScene tidy_scene_of(const GenevalRecord& record, DataEngine& engine) {
  ShapesScene scene;
  const auto level = static_cast<float>(uniform(engine, .72, .80));
  scene.top = scene.bottom = {level, level, level};
  scene.seed = engine();
  fill_scene(scene, record, engine, {.sizes = {14.6, 15.2}, .place = place_in_patch, .apart = 1.3});
  for (auto& object : scene.objects) object.angle = 0;
  return scene;
}

GenevalRecord with_mistake(const GenevalRecord& record, DataEngine& engine) {
  const auto tag = std::ranges::find(kGenevalTags, record.tag) - kGenevalTags.begin();
  auto drawn = record;
  if (chance(engine, kMistakeShares.at(static_cast<std::size_t>(tag)))) make_mistake(drawn, engine);
  return drawn;
}

ShapesScene imperfect(const GenevalRecord& record, DataEngine& engine) {
  auto scene = tidy_scene_of(with_mistake(record, engine), engine);
  if (!chance(engine, kFadedShare)) return scene;
  const auto ink = static_cast<float>(uniform(engine, .15, .6));
  for (auto& object : scene.objects) {
    for (std::size_t c = 0; c < 3; ++c) object.fill[c] = scene.top[c] + ink * (object.fill[c] - scene.top[c]);
  }
  return scene;
}

ShapesScene random_scene(DataEngine& engine, double flawed, int most) {
  ShapesScene scene;
  choose_background(scene, engine);
  if (chance(engine, .3)) scene.blur = uniform(engine, .3, .8);
  const int good = uniform_int(engine, 0, most);
  const int bad = chance(engine, flawed) ? uniform_int(engine, 1, 3) : 0;
  const double apart = chance(engine, .4) ? .72 : 1;  // of the radii: shapes may overlap, or not
  const int one_label = chance(engine, .3) ? any_of(engine, 8) : -1;
  for (int i = 0; i < good + bad; ++i) {
    const auto sizes = sizes_for(static_cast<std::size_t>(good + bad));
    auto object = any_object(
        engine, one_label >= 0 ? one_label : any_of(engine, static_cast<int>(kShapeClasses.size())),
        any_of(engine, static_cast<int>(kGenevalColours.size())), uniform(engine, 12, sizes[1]));
    if (i >= good) {
      object.flaw = static_cast<ShapeFlaw>(any_of(engine, kShapeFlaws));
      // Half a square, triangle or diamond may be a triangle.
      const bool is_cut_to_triangle = object.label == 1 || object.label == 2 || object.label == 7;
      if (object.flaw == ShapeFlaw::kHalf && is_cut_to_triangle) object.flaw = ShapeFlaw::kTorn;
      object.other_label = any_other(engine, static_cast<int>(kShapeClasses.size()), object.label);
    }
    for (int tries = 0; tries < 40; ++tries) {
      place(object, engine);
      if (!std::ranges::all_of(scene.objects,
                               [&](const auto& other) { return are_apart(object, other, apart); }))
        continue;
      scene.objects.push_back(object);
      break;
    }
  }
  return scene;
}

}  // namespace harness

#include "embedded/pictures/shapes_scene.h"

#include <algorithm>
#include <cmath>

namespace harness {
namespace {

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

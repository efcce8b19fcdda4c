#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/geneval/record.h"
#include "core/image.h"
#include "embedded/pictures/engine.h"

namespace harness {

// The pictures of the embedded shapes chain: coloured shapes on a muted background.
inline constexpr int kShapesSide = 64;
using Rgb = std::array<float, 3>;  ///< 0..1

/// What is wrong with a shape that no detector may take for one.
enum class ShapeFlaw {
  kFaded,  ///< hardly any ink
  kSoft,   ///< without an edge
  kHalf,   ///< cut through the middle
  kMixed,  ///< two shapes in one
  kTorn,   ///< ink in patches
};
inline constexpr int kShapeFlaws = 5;

struct ShapeObject {
  int label = 0, colour = 0;  ///< indices in kShapeClasses and kGenevalColours
  double x = 0, y = 0;        ///< of the centre, in pixels, y down
  double size = 20;           ///< diameter of the circle around the shape, in pixels
  double angle = 0;           ///< radians
  Rgb fill{};                 ///< a shade of `colour`
  std::optional<ShapeFlaw> flaw = {};
  int other_label = 0;  ///< of kMixed
};

struct ShapesScene {
  std::vector<ShapeObject> objects;  ///< later ones lie on top
  Rgb top{}, bottom{};               ///< of the background, a gradient between
  double noise = 0;                  ///< standard deviation of a pixel, 0..1
  double blur = 0;                   ///< standard deviation in pixels
  bool outlined = false;
  std::uint64_t seed = 0;  ///< of the noise
};

/// A drawn scene.
struct ShapesPicture {
  Image image;
  /// By pixel from the top left: 1 + index of the object that is seen there, 0 the background. Flawed shapes
  /// are background.
  std::vector<std::uint8_t> owner;
};

/// x0, y0, x1, y1 of an object's visible pixels, the ends outside; nothing where none is seen.
std::optional<std::array<int, 4>> visible_box(const ShapesPicture& picture, std::size_t object);

/// The same bytes for equal scenes.
ShapesPicture draw(const ShapesScene& scene);

/// A random scene that meets the record exactly: so many objects of its classes and no others. Objects do not
/// touch, and a relation holds clearly. The record's classes are kShapeClasses.
ShapesScene scene_of(const GenevalRecord& record, DataEngine& engine);
/// The same on a plain background, with objects of one size, upright, each in a patch of its own and none
/// beside another: of so little variety that a small model learns to draw them in minutes.
ShapesScene tidy_scene_of(const GenevalRecord& record, DataEngine& engine);

/// How often `imperfect` draws something else, by tag in the order of kGenevalTags.
extern const std::array<double, 6> kMistakeShares;
/// Share of the pictures of `imperfect` in which all objects are faded.
extern const double kFadedShare;

/// With the share of its tag, the record with a mistake: another class (single_object), an object missing
/// (two_object), one object more or less (counting), another colour (colors), another relation (position),
/// colours exchanged or one replaced (color_attr).
GenevalRecord with_mistake(const GenevalRecord& record, DataEngine& engine);

/// A tidy scene of the record or, with the share of its tag, of the record with a mistake; faded to 0.15 to
/// 0.6 of its ink in kFadedShare of all pictures, which the prompt does not mention. What the embedded model
/// learns from it is a designed weakness that reinforcement learning can turn.
ShapesScene imperfect(const GenevalRecord& record, DataEngine& engine);

/// 0 to `most` objects of any class, which may overlap a little, and with probability `flawed` up to three
/// flawed shapes among them. Those that find no room are left out.
ShapesScene random_scene(DataEngine& engine, double flawed, int most = 6);

}  // namespace harness

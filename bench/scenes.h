#pragma once

#include <cstdint>
#include <string>

#include "core/image.h"

namespace harness {

enum class Backdrop { kPlain, kClouds, kPlanks, kBricks, kDiscs };
enum class Panel { kNone, kPlain, kFramed, kTranslucent };

/// A picture that a sign, a screen or a poster with a text could be in, and what was drawn there.
struct TextScene {
  std::string target;
  Backdrop backdrop;
  Panel panel;
  std::string font;
  double letter_height;  ///< of capitals, in pixels: 28 to 80, less where the text would not fit
  double angle;          ///< degrees, -6 to 6
  bool light_on_dark;
  Image image;  ///< kSceneSize x kSceneSize
};

inline constexpr int kSceneSize = 512;

/// Everything but the text follows from `seed`. Pixels depend on the fonts that are installed (DejaVu,
/// Liberation and the URW base 35) and on the versions of Cairo, Pango and FreeType.
TextScene draw_scene(const std::string& text, std::uint64_t seed);

/// What draw_scene decides before it draws: all but the height of letters and the image. Cheap, to search by.
TextScene undrawn_scene(const std::string& text, std::uint64_t seed);

/// The scene of seed `i`, with the target of the generated evaluation prompt i (modulo their number).
TextScene generated_scene(std::uint64_t i);

}  // namespace harness

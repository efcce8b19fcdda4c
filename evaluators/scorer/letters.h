#pragma once

#include "core/json.h"
#include "evaluators/pillow_image.h"

namespace harness {

enum class Ink { kDark, kLight };  ///< of the letters, against what is around them

/// What may be a letter in a picture, dark on white and upright, everything else painted white; same size as
/// the picture. A pixel is ink where it is darker (for light ink: lighter) than its neighbourhood by that
/// neighbourhood's own measure (W. Niblack, An Introduction to Digital Image Processing, 1986); connected
/// ink is a letter if its size allows it. The slant of the lines is taken out, up to 8 degrees either way.
GreyImage letters_in(const GreyImage& picture, Ink ink);

/// The constants of letters_in, for a scorer's description of itself.
Json letters_settings();

}  // namespace harness

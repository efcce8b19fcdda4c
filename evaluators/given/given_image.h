#pragma once

#include <string>

#include "core/image.h"

namespace harness {

/// An image file that another program wrote.
struct GivenImage {
  Image image;
  std::string png;     ///< to be kept: the file's own bytes, or for a JPEG the same pixels as PNG
  std::string remark;  ///< what of the file was not used, a few words; empty: nothing
};

/// Reads a PNG (alpha is blended on white, 16 bits become 8) or a JPEG as Pillow does, which leaves a
/// rotation that Exif asks for alone. Throws Error (where: `where`) with the reason, a few words: an empty
/// file, another form whatever its name, an animation, CMYK, damage, more than 64 megapixels.
GivenImage read_given_image(std::string bytes, const std::string& where);

}  // namespace harness

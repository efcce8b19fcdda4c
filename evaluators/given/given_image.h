#pragma once

#include <string>

#include "core/image.h"

namespace harness {

/// The pixels of an image file that another program wrote.
struct DecodedImage {
  Image image;
  std::string remark;  ///< what of the file was not used, a few words; empty: nothing
};

/// Reads a PNG (alpha is blended on white, 16 bits become 8) or a JPEG as Pillow does, which leaves a
/// rotation that Exif asks for alone. Throws Error (where: `where`) with the reason, a few words: an empty
/// file, another form whatever its name, an animation, CMYK, damage, more than 64 megapixels.
DecodedImage decode_given_image(const std::string& bytes, const std::string& where);

/// The same, with the file that is kept: the given bytes, or for a JPEG the same pixels as PNG.
struct GivenImage : DecodedImage {
  std::string png;
};
GivenImage read_given_image(std::string bytes, const std::string& where);

}  // namespace harness

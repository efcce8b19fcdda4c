#pragma once

#include <string>

#include "core/image.h"

namespace harness {

/// The picture of a JPEG file as Pillow reads it: libjpeg's accurate integer transform, smooth upsampling of
/// the colours, RGB. Throws Error (where: `where`) for bytes that are none.
Image decode_jpeg(const std::string& bytes, const std::string& where);

}  // namespace harness

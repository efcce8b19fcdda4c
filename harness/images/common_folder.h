#pragma once

#include "harness/images/image_list.h"

namespace harness {

/// The list with names that begin in one folder, the deepest that holds all of its images: a manifest may
/// name them in full, and the list is kept and exported.
ImageList in_common_folder(ImageList list);

}  // namespace harness

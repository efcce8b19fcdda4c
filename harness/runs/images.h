#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "results/store/store.h"

namespace harness {

/// The images of an evaluation held against the checksums that were taken when they were scored.
struct ImageCheck {
  std::int64_t images = 0, missing = 0, changed = 0;
  std::string example = {};  ///< the first file that is missing or changed

  bool holds() const { return missing + changed == 0; }
  std::string text() const;  ///< "of 60 images, 2 gone and 1 not the file that was scored, such as FILE"
};

/// Reads every image file of the evaluation, which lies in `folder`. 1000 images of 512 pixels take about
/// half a second, small ones a few milliseconds.
ImageCheck check_stored_images(Store& store, const std::string& evaluation,
                               const std::filesystem::path& folder);

}  // namespace harness

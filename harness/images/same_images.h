#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "datasets/kept_images.h"

namespace harness {

/// The images of one checkpoint.
struct ImageSet {
  std::filesystem::path folder;
  const std::vector<SummedImage>* images = nullptr;
};

/// Those of one run of a row, by checkpoint.
struct ImagesOfRun {
  std::string row;
  std::vector<ImageSet> checkpoints;
};

/// Throws Error where two runs of a row have a checkpoint with the same pixels in half or more of their
/// common images, or are copies but for compression, size or a retouched spot in nine tenths, and where runs
/// of two rows have the same pixels in all of them. Of a prompt's images it
/// does not matter which sample each is. Of large sets some hundred images are compared. Returns
/// sentences on other rows that share some, on files that are another prompt's elsewhere, and on one that
/// serves most prompts.
std::vector<std::string> require_different_images(const std::vector<ImagesOfRun>& runs);

}  // namespace harness

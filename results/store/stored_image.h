#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "results/store/store.h"

namespace harness {

/// The bytes of an image file that `samples` has with this checksum: a picture that is shown is the one that
/// was scored. Throws Error (Status::kFailed) if it is gone, cannot be read or holds other bytes.
std::string read_stored_image(const std::filesystem::path& file, const std::string& sha256);

/// An image file of an evaluation, by its name in the evaluation's folder.
struct StoredImage {
  std::string path, sha256;
};
/// In order of prompts and samples; without images that were not kept.
std::vector<StoredImage> stored_images(Store& store, const std::string& evaluation);

/// The image files of an evaluation, whose folder is there now, that are missing or empty. Looks at names and
/// sizes alone. None where an archive left them out.
std::vector<std::filesystem::path> lost_images(Store& store, const std::string& evaluation,
                                               const std::filesystem::path& folder);
/// "3 images are missing or empty, such as FILE"
std::string lost_images_text(const std::vector<std::filesystem::path>& lost);

}  // namespace harness

#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// The bytes of an image file that `samples` has with this checksum: a picture that is shown is the one that
/// was scored. Throws Error (Status::kFailed) if it is gone, cannot be read or holds other bytes.
std::string read_stored_image(const std::filesystem::path& file, const std::string& sha256);

}  // namespace harness

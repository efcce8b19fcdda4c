#pragma once

#include <filesystem>

#include "harness/archive/manifest.h"

namespace harness {

/// Unpacks an archive into an empty folder, without the folder that its names begin with. Every file must be
/// in the manifest, which comes first, with its size and checksum, and nothing else may be there. Throws
/// Error (status 2) naming what is wrong: a damaged or truncated stream; names that lead elsewhere or are
/// there twice; links and devices; more bytes than the disk has or than an archive of this size can hold; a
/// file that is missing, unknown or changed; a newer format.
ArchiveManifest unpack_archive(const std::filesystem::path& archive, const std::filesystem::path& folder);

}  // namespace harness

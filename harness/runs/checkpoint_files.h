#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// A file of a checkpoint that does not have the SHA-256 which its manifest states.
struct ChangedFile {
  std::filesystem::path file;
  std::string expected;
  std::string found = {};  ///< empty: there is no such file

  /// "is not there", or "is not the file that was written: SHA-256 0123456789ab instead of ba9876543210"
  std::string problem() const;
};

/// True for a path of a DB or of a manifest that stays inside its folder.
bool is_inside(const std::string& path);

/// Holds the files of the checkpoint in `folder` against its manifest.json; reads them all. Names in the
/// manifest that lead out of the folder are skipped. Throws Error if the manifest cannot be read.
std::vector<ChangedFile> changed_files(const std::filesystem::path& folder);

}  // namespace harness

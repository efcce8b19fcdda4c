#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace harness {

/// SHA-256 of a file. That of a large one is remembered between commands, by path, size, inode and time of
/// change, in the user's cache folder: weights of many gigabytes are read once.
std::string remembered_sha256(const std::filesystem::path& file);

/// Files that must not change while they are read, compared by size, inode and time of change.
class HeldFiles {
 public:
  HeldFiles() = default;
  /// Throws Error for a file that is not there.
  explicit HeldFiles(const std::vector<std::filesystem::path>& files);

  /// Throws Error (Status::kFailed) naming the first file that was written to or replaced since. Reads none.
  void expect_unchanged() const;

 private:
  std::map<std::filesystem::path, std::string> states_;
};

}  // namespace harness

#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// A new private folder for temporary files, removed with this object unless it is kept.
class ScratchFolder {
 public:
  /// In `parent`, which is made if need be; `name`: what its own begins with. Throws Error (Status::kFailed)
  /// with `hint` where it cannot be made.
  ScratchFolder(const std::filesystem::path& parent, const std::string& name, const std::string& hint,
                bool keep = false);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
  bool keep_;
};

}  // namespace harness

#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// What SQLite puts beside a DB: the WAL, its index, and a rollback journal.
inline const std::vector<std::string> kBesideDatabase = {"-wal", "-shm", "-journal"};

/// A DB file FOLDER/BEFORE<pid>AFTER that goes away with this object unless it is renamed, with the files
/// that SQLite puts beside it. What killed processes left under such names goes first.
class ScratchDatabase {
 public:
  ScratchDatabase(const std::filesystem::path& folder, const std::string& before, const std::string& after);
  ~ScratchDatabase();
  ScratchDatabase(const ScratchDatabase&) = delete;
  ScratchDatabase& operator=(const ScratchDatabase&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A folder for temporary files, which goes away with this object.
class ScratchFolder {
 public:
  /// A new one, nobody else's. `name`: what its own begins with. Throws Error (Status::kFailed) where it
  /// cannot be made.
  explicit ScratchFolder(const std::string& name);
  /// Likewise one in `parent`, which is made if need be; it stays if `keep`.
  ScratchFolder(const std::filesystem::path& parent, const std::string& name, bool keep);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
  bool keep_ = false;
};

}  // namespace harness

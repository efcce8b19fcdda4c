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

/// A new folder for temporary files, nobody else's, which goes away with this object.
class ScratchFolder {
 public:
  /// `name`: what the folder's begins with. Throws Error (Status::kFailed) where it cannot be made.
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace harness

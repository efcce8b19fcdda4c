#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// What SQLite puts next to a DB: the WAL, its index, and a rollback journal.
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

}  // namespace harness

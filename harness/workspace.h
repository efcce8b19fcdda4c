#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// A run's folder on its way out is first renamed to this and its id.
inline constexpr const char* kRemovedPrefix = ".removed-";

/// `--out DIR`: results.sqlite, journal.log, one folder a run, one folder a table, prompts/, text-cache/.
struct Workspace {
  std::filesystem::path folder;
  std::filesystem::path db;

  std::filesystem::path run_folder(const std::string& run) const { return folder / run; }
  std::filesystem::path table_folder(const std::string& table) const { return folder / table; }
  /// What `harness` decided here; with the event logs it is what the DB is made of.
  std::filesystem::path journal() const { return folder / "journal.log"; }
  std::filesystem::path prompts_folder() const { return folder / "prompts"; }
  /// Where large text encoders keep what they made of prompts.
  std::string text_cache_folder() const { return std::filesystem::absolute(folder / "text-cache").string(); }
};

/// `db` empty: OUT/results.sqlite.
Workspace make_workspace(const std::filesystem::path& out, const std::filesystem::path& db);

/// One `reproduce` at a time in a workspace: flock on OUT/.lock for as long as this object lives. The file
/// names the holder's pid.
class WorkspaceLock {
 public:
  /// Throws Error (Status::kFailed) naming the process that holds it.
  explicit WorkspaceLock(const Workspace& workspace);
  ~WorkspaceLock();
  WorkspaceLock(const WorkspaceLock&) = delete;
  WorkspaceLock& operator=(const WorkspaceLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace harness

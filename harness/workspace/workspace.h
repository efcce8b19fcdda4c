#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "core/descriptor.h"

namespace harness {

/// In a workspace: a folder an experiment, N-TABLE.
inline constexpr const char* kExperimentsFolder = "experiments";

/// `--out DIR`: results.sqlite, journal.log, folders of runs, experiments/, a link a table to one of those,
/// prompts/, text-cache/ and .trash/.
struct Workspace {
  std::filesystem::path folder;
  std::filesystem::path db;
  std::string options = {};  ///< WorkspaceChoice::options, for commands that a message names

  std::filesystem::path run_folder(const std::string& run) const { return folder / run; }
  std::filesystem::path table_folder(const std::string& table) const { return folder / table; }
  /// What `harness` decided here; with the event logs it is what the DB is made of.
  std::filesystem::path journal() const { return folder / "journal.log"; }
  std::filesystem::path prompts_folder() const { return folder / "prompts"; }
  std::filesystem::path trash_folder() const { return folder / ".trash"; }
  /// Where large text encoders keep what they made of prompts.
  std::string text_cache_folder() const { return std::filesystem::absolute(folder / "text-cache").string(); }
};

/// Whether it has the form of a run's or an evaluation's id: 16 hexadecimal digits.
bool is_job_id(const std::string& name);

/// True for a name that a workspace's own file or folder, or a run, may have: no table can be called so.
bool is_taken_in_workspace(const std::string& name);

/// Throws Error (status 2) where the file is one of a workspace's records: its DB, journal or lock, or
/// anything of a job's folder. What a command writes for the user (-o) must not take their place.
void require_no_record(const std::filesystem::path& file);

/// --out and --db as typed; nothing where they were not given.
struct WorkspaceChoice {
  std::optional<std::string> out, db;
  /// " --out DIR --db FILE" as typed, for a shell; empty where neither was given.
  std::string options() const;
};

/// `text` with `options` (WorkspaceChoice::options) in each command in backquotes that works in a workspace
/// and names none: code that has the workspace completes messages, run_cli errors.
std::string with_place(const std::string& text, const std::string& options);

/// The one workspace that a command works in. --out DIR: that folder with DIR/results.sqlite. --db FILE: the
/// folder of that file. Both: that folder with its DB elsewhere. Neither: runs/. Throws Error (status 2): an
/// option is empty, no UTF-8 or no folder, or both are given and the DB holds the runs of another workspace.
/// Only reads.
Workspace find_workspace(const WorkspaceChoice& choice);

/// That a file is in, as its path says.
std::filesystem::path folder_of_file(const std::filesystem::path& file);

/// The folder itself, or the nearest one above it that is there.
std::filesystem::path existing_part(std::filesystem::path folder);

/// Runs that a journal records, and that were not removed since. Of a missing or unreadable journal: none.
std::set<std::string> runs_in_journal(const std::filesystem::path& journal);

/// True if the folder holds a journal or the folder of a run.
bool has_records(const Workspace& workspace);

/// Where a run's folder is now: next to the DB (a workspace can be moved and copied), else where recorded.
std::filesystem::path run_folder_now(const std::filesystem::path& db, const std::string& run,
                                     const std::filesystem::path& recorded);

/// A lock where the file system has none: the process that creates the file has it, and removes it in the
/// end. That of a process of this machine that is no more is taken over.
class HolderFile {
 public:
  /// Throws Error (Status::kFailed) naming who has it.
  explicit HolderFile(std::filesystem::path path);
  ~HolderFile();
  HolderFile(const HolderFile&) = delete;
  HolderFile& operator=(const HolderFile&) = delete;

 private:
  bool take_from_the_dead() const;

  std::filesystem::path path_;
};

/// One `reproduce` at a time in a workspace: flock on OUT/.lock, which names the holder's pid; where there
/// are no locks, OUT/.lock.holder.
class WorkspaceLock {
 public:
  /// Throws Error (Status::kFailed) naming the process that holds it.
  explicit WorkspaceLock(const Workspace& workspace);

  /// What to tell the user of it, if anything.
  std::string note() const;

  /// "pid 17 on node1", if a process holds it.
  static std::optional<std::string> holder(const Workspace& workspace);

 private:
  Descriptor file_;
  std::optional<HolderFile> named_;
};

}  // namespace harness

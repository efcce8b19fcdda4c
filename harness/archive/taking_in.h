#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/workspace/workspace.h"
#include "results/store/journal_history.h"
#include "results/store/store.h"

namespace harness {

/// Runs and experiments on their way into a workspace. Their files are in a folder of the same file system,
/// and are moved out of it.
struct Incoming {
  std::filesystem::path folder;  ///< holds RUN/, and prompts/
  /// What messages name `folder` by: the beginning of a path in it, and what it is at the place.
  std::pair<std::string, std::string> shown = {};
  std::vector<HistoryEntry> history = {};
  std::set<std::string> runs = {};                              ///< whose folders are there
  std::map<std::string, std::filesystem::path> artifacts = {};  ///< of experiments, by digest: their folders
  std::vector<std::string> left_out = {}, notes = {};
  bool is_return = false;                  ///< this workspace recorded it: experiments get their numbers back
  std::function<void(Store&)> check = {};  ///< throws Error for rows that must not come in
};

struct TakenExperiment {
  std::int64_t was = 0, number = 0;  ///< there, and in this workspace
  std::string table_id;
  bool is_known = false;  ///< it was here already
};

struct TakenRun {
  std::string id;
  std::vector<std::string> added;  ///< "run", or the parts that a run here lacked
};

struct Taken {
  std::vector<TakenExperiment> experiments;
  std::vector<TakenRun> runs;
  std::vector<std::string> notes;
};

/// Moves the files in and carries the records out, in one transaction: an Error leaves the workspace as it
/// was. A run that is here already must have the same event logs; what it lacks is added. An experiment whose
/// number was given here gets the next one; of one that is here already nothing is recorded. The caller holds
/// the workspace's lock.
Taken take_in(Store& store, const Workspace& workspace, const Incoming& incoming);

/// Throws Error (status 2; `where`: what they are of) for records that no workspace could have written:
/// unknown types, ids and invalid file names.
void require_sound_records(const std::vector<HistoryEntry>& entries, const std::string& where);

/// A workspace that a command fills. Unless `keep` was called, one that had no records gets back what its
/// folder held, and one that was not there goes away again. Clears what interrupted commands left in it.
class FilledWorkspace {
 public:
  explicit FilledWorkspace(const Workspace& workspace);
  ~FilledWorkspace();
  FilledWorkspace(const FilledWorkspace&) = delete;
  FilledWorkspace& operator=(const FilledWorkspace&) = delete;
  void keep() { is_kept_ = true; }
  /// For files on their way in; goes away with this object.
  const std::filesystem::path& scratch() const { return scratch_; }

 private:
  std::filesystem::path folder_, scratch_;
  std::set<std::filesystem::path> before_;  ///< in the folder
  bool is_new_, had_records_, is_kept_ = false;
  std::optional<WorkspaceLock> lock_;
};

}  // namespace harness

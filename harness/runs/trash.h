#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/plan/workspace.h"
#include "results/store/store.h"

namespace harness {

/// Where a workspace keeps what was removed until `harness runs prune`:
///   OUT/.trash/NAME/removed.json   what it was, when, from where and by which command, and the rows of it as
///                                  records of a journal, and how far each event log had been read
///   OUT/.trash/NAME/run/           the run's folder
///   OUT/.trash/experiment-N.json   an experiment that rested on such a run, as records of a journal
/// NAME is the run's id; ID.2 and so on where the same run was removed before.
struct TrashEntry {
  std::string name = {}, run = {};
  std::string label;                  ///< "dual, seed 42"
  std::string removed, from, by;      ///< UTC, the folder's place, the command
  std::filesystem::path folder = {};  ///< OUT/.trash/NAME
  std::vector<Json> records = {};     ///< none for a folder that no row knew
  /// Bytes that the rows were read from, by log: "events.log", "eval-test-0123456789abcdef/events.log".
  std::map<std::string, std::uint64_t> logs = {};

  std::filesystem::path run_folder() const { return folder / "run"; }
  /// False while a removal or a return is under way, or after it was interrupted.
  bool is_whole() const { return std::filesystem::is_directory(run_folder()); }
};

/// What is in the trash, the last removal first.
std::vector<TrashEntry> trash_of(const Workspace& workspace);

/// Puts a run's folder aside, in two steps: `prepare` writes down what it is, while its rows are still there,
/// and `fill` renames the folder into the entry. An entry of a removal of this very folder that was
/// interrupted in between is taken up again.
TrashEntry prepare_trash(const Workspace& workspace, TrashEntry entry);
void fill_trash(const TrashEntry& entry, const std::filesystem::path& run_folder);

/// Keeps the records of an experiment.
void keep_experiment(const Workspace& workspace, std::int64_t id, const std::vector<Json>& records);

/// The experiments that are kept: the file of each with its records.
std::vector<std::pair<std::filesystem::path, std::vector<Json>>> kept_experiments(const Workspace& workspace);

/// Renames a folder. Throws Error (Status::kFailed): PROBLEM and the system's reason.
void move_folder(const std::filesystem::path& from, const std::filesystem::path& to,
                 const std::string& problem, const std::string& hint);

/// Deletes an entry. Renamed first: what is interrupted is no entry any more.
void delete_entry(const TrashEntry& entry);

/// Deletes all that is in the trash.
void empty_trash(const Workspace& workspace);

/// Deletes what interrupted commands left: entries of runs that the DB still knows or whose folder is gone,
/// folders that were half deleted. Gives the folders that held a run.
std::vector<std::string> clear_leftovers(Store& store, const Workspace& workspace);

/// Those of a run's `logs` that are gone from its folder, or shorter than what was read: rows cannot be made
/// from them again.
std::vector<std::string> lost_logs(const std::map<std::string, std::uint64_t>& logs,
                                   const std::filesystem::path& run_folder);

}  // namespace harness

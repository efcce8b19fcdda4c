#include "harness/runs/removal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "core/error.h"
#include "core/event_log.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/runs/job_files.h"
#include "harness/runs/trash.h"
#include "results/store/journal.h"
#include "results/store/journal_history.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRm = "harness runs rm";

/// True for a run's folder in this workspace that the DB knows nothing of, under exactly this name.
bool is_stray(const Workspace& workspace, const std::string& id) {
  const bool is_name = !id.empty() && id.find('/') == std::string::npos && id.front() != '.';
  return is_name && fs::exists(workspace.run_folder(id) / kJobFile);
}

/// A folder without rows of a run that the journal records is no stray: its rows were lost.
void require_no_rows(const Removal& removal, const Workspace& workspace) {
  if (!runs_in_journal(workspace.journal()).contains(removal.id)) return;
  throw Error(
      fmt::format("run {} is recorded in {}, and {} lacks its rows", removal.id, workspace.journal().string(),
                  workspace.db.string()),
      kRm, fmt::format("`harness db rebuild{}` brings them back; then it can be removed", workspace.options),
      Status::kFailed);
}

void require_free(const Removal& removal) {
  if (!fs::is_directory(removal.folder)) return;
  for (const auto& entry : fs::recursive_directory_iterator(removal.folder)) {
    if (entry.path().filename() != kEventLog || !event_log_is_held(entry.path())) continue;
    throw Error(fmt::format("run {} is held by a living process", removal.text()), entry.path().string(),
                "wait for it, or stop it", Status::kFailed);
  }
}

/// Event logs of a run's jobs that are gone from its folder, or shorter than what was read of them: rows
/// cannot be made from them again.
std::vector<std::string> lost_logs(Store& store, const std::string& run, const fs::path& folder) {
  std::vector<std::string> lost;
  if (!fs::is_directory(folder)) return lost;
  const auto look = [&](const std::string& job, const fs::path& part) {
    const auto status = store.job_state(job);
    if (!status || status->log_offset <= 0) return;
    std::error_code absent;
    const auto size = fs::file_size(folder / part / kEventLog, absent);
    if (absent || size < static_cast<std::uintmax_t>(status->log_offset))
      lost.push_back((part / kEventLog).string());
  };
  look(run, {});
  for (const auto& evaluation : store.evaluations(run))
    look(evaluation.id, fs::path(evaluation.folder).filename());
  return lost;
}

}  // namespace

std::string Removal::label() const {
  return run ? fmt::format("{}, seed {}", run->method, run->seed) : "a folder without rows";
}

std::string Removal::text() const {
  return fmt::format("{} ({})", id, label());
}

Removal removal_of(Store& store, const Workspace& workspace, const std::string& id) {
  const auto folder = workspace.run_folder(id);
  return {.id = id,
          .run = store.run(id),
          .folder = folder,
          .experiments = experiments_with(store, id),
          .lost_logs = lost_logs(store, id, folder)};
}

std::vector<std::string> unknown_run_folders(Store& store, const Workspace& workspace) {
  std::vector<std::string> names;
  for (const auto& entry : entries_below(workspace.folder)) {
    const auto name = entry.filename().string();
    if (is_stray(workspace, name) && !store.run(name)) names.push_back(name);
  }
  return names;
}

std::vector<Removal> find_removals(Store& store, const Workspace& workspace,
                                   const std::vector<std::string>& ids) {
  std::vector<Removal> removals;
  for (const auto& id : ids) {
    const bool stray = !store.run(id) && is_stray(workspace, id);
    auto removal = removal_of(store, workspace, stray ? id : find_run(store, id).id);
    const bool again = std::ranges::any_of(removals, [&](const Removal& r) { return r.id == removal.id; });
    if (!again) removals.push_back(std::move(removal));
  }
  return removals;
}

void require_removable(const Removal& removal, const Workspace& workspace, bool force) {
  if (!removal.run) require_no_rows(removal, workspace);
  require_free(removal);
  if (force) return;
  if (!removal.lost_logs.empty()) {
    throw Error(fmt::format("run {} lacks {}: `harness import` could not bring its rows back", removal.text(),
                            join(removal.lost_logs, ", ")),
                removal.folder.string(),
                "put it back from a copy, or remove the run all the same with --force", Status::kFailed);
  }
  if (removal.experiments.empty()) return;
  throw used_error({removal}, kRm, Status::kFailed);
}

Error used_error(const std::vector<Removal>& removals, const std::string& command, Status status) {
  std::vector<std::string> tables;
  for (const auto& removal : removals) {
    for (const auto& e : removal.experiments) {
      auto table = fmt::format("{} (experiment {}, scale {})", e.table, e.number, e.scale);
      if (std::ranges::count(tables, table) == 0) tables.push_back(std::move(table));
    }
  }
  const bool is_one = removals.size() == 1;
  return Error(
      fmt::format("{} used by {}",
                  is_one ? fmt::format("run {} is", removals.front().text())
                         : fmt::format("{} runs, such as {}, are", removals.size(), removals.front().text()),
                  join(tables, ", ")),
      command,
      fmt::format("--force removes {}, and these experiments with {}", is_one ? "it" : "them",
                  is_one ? "it" : "them"),
      status);
}

bool is_removal_agreed(const std::vector<Removal>& removals, const std::string& command) {
  if (::isatty(STDIN_FILENO) == 1) {
    for (const auto& removal : removals) {
      tell("run {} with {}\n", removal.text(), removal.folder.string());
      for (const auto& e : removal.experiments) tell("  and experiment {} ({})\n", e.number, e.table);
    }
  }
  if (is_agreed(command, removals.size() == 1 ? "Remove it?" : "Remove them?")) return true;
  tell("nothing was removed\n");
  return false;
}

bool is_agreed(const std::string& command, const std::string& question) {
  if (::isatty(STDIN_FILENO) != 1)
    throw Error("asks before deleting, but standard input is not a terminal", command, "add --yes");
  tell("{} [y/N] ", question);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

std::optional<fs::path> remove_run(Store& store, const Workspace& workspace, const Removal& removal) {
  store.forget(removal.id);
  if (!fs::exists(removal.folder)) return std::nullopt;
  return move_to_trash(workspace, removal.id);
}

}  // namespace harness

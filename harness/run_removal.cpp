#include "harness/run_removal.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/event_log.h"
#include "core/text.h"
#include "harness/run_report.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

void remove_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error)
    throw Error("cannot be removed: " + error.message(), folder.string(), "remove it by hand",
                Status::kFailed);
}

/// A run's folder that the DB knows nothing of, under exactly this name.
std::optional<fs::path> stray_folder(const Workspace& workspace, const std::string& id) {
  const bool is_name = !id.empty() && id.find('/') == std::string::npos && id.front() != '.';
  const auto folder = workspace.folder / id;
  return is_name && fs::exists(folder / "job.json") ? std::optional(folder) : std::nullopt;
}

Removal find_removal(Store& store, const Workspace& workspace, const std::string& id) {
  if (!store.run(id)) {
    if (const auto folder = stray_folder(workspace, id))
      return {.id = id, .run = {}, .folder = *folder, .experiments = {}};
  }
  const auto run = find_run(store, id);
  return {.id = run.id,
          .run = run,
          .folder = folder_of(store, run),
          .experiments = experiments_with(store, run.id)};
}

}  // namespace

std::string Removal::text() const {
  return run ? fmt::format("{} ({}, seed {})", id, run->method, run->seed)
             : fmt::format("{} (a folder without rows)", id);
}

std::vector<Removal> find_removals(Store& store, const Workspace& workspace,
                                   const std::vector<std::string>& ids) {
  std::vector<Removal> removals;
  for (const auto& id : ids) {
    auto removal = find_removal(store, workspace, id);
    const bool again = std::ranges::any_of(removals, [&](const Removal& r) { return r.id == removal.id; });
    if (!again) removals.push_back(std::move(removal));
  }
  return removals;
}

void require_removable(const Removal& removal, bool force) {
  if (fs::is_directory(removal.folder)) {
    for (const auto& entry : fs::recursive_directory_iterator(removal.folder)) {
      if (entry.path().filename() != "events.log" || !event_log_is_held(entry.path())) continue;
      throw Error(fmt::format("run {} is held by a living process", removal.text()), entry.path().string(),
                  "wait for it, or stop it", Status::kFailed);
    }
  }
  if (force || removal.experiments.empty()) return;
  std::vector<std::string> tables;
  for (const auto& e : removal.experiments) {
    tables.push_back(fmt::format("{} (experiment {}, scale {})", e.at("table").get<std::string>(),
                                 e.at("experiment").get<int>(), e.at("scale").get<std::string>()));
  }
  throw Error(fmt::format("run {} is used by {}", removal.text(), join(tables, ", ")), "harness runs rm",
              "--force removes it, and these experiments with it", Status::kFailed);
}

void remove_run(Store& store, const Removal& removal) {
  store.forget(removal.id);
  if (!fs::exists(removal.folder)) return;
  const auto aside = removal.folder.parent_path() / (kRemovedPrefix + removal.id);
  remove_folder(aside);
  std::error_code error;
  fs::rename(removal.folder, aside, error);
  if (error) {
    throw Error("cannot be removed: " + error.message(), removal.folder.string(),
                "its rows are gone; repeat the command once the folder may be written", Status::kFailed);
  }
  remove_folder(aside);
}

std::vector<std::string> clear_interrupted_removals(const Workspace& workspace) {
  std::vector<std::string> cleared;
  for (const auto& entry : fs::directory_iterator(workspace.folder)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with(kRemovedPrefix))
      cleared.push_back(entry.path().string());
  }
  for (const auto& folder : cleared) remove_folder(folder);
  return cleared;
}

}  // namespace harness

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "harness/runs/adoption.h"
#include "harness/runs/trash.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRestore = "harness runs restore";

TrashEntry find_entry(const Workspace& workspace, const std::string& name) {
  std::vector<TrashEntry> found;
  std::vector<std::string> all;
  for (auto& entry : trash_of(workspace)) {
    all.push_back(entry.name);
    if (entry.name == name) return entry;
    const bool again = std::ranges::any_of(found, [&](const auto& e) { return e.run == entry.run; });
    if (!name.empty() && entry.run.starts_with(name) && !again) found.push_back(std::move(entry));
  }
  if (found.size() == 1) return found.front();
  throw Error(found.empty() ? fmt::format("{} is not in the trash", in_quotes(name))
                            : fmt::format("{} begins the ids of {} runs", in_quotes(name), found.size()),
              workspace.trash_folder().string(),
              all.empty() ? "it is empty" : "there are " + join(all, ", "));
}

void move_run(const fs::path& from, const fs::path& to) {
  move_folder(from, to, "cannot be moved to " + to.string(), "look at the permissions of both folders");
}

void require_free_place(Store& store, const TrashEntry& entry, const Workspace& workspace) {
  const auto place = workspace.run_folder(entry.run);
  if (!store.run(entry.run) && (!entry.is_whole() || !fs::exists(place))) return;
  throw Error(
      fmt::format("run {} is there again: it was trained anew since", entry.run), place.string(),
      fmt::format("`harness runs rm {}{}` puts that one into the trash first", entry.run, workspace.options),
      Status::kFailed);
}

/// What was measured is in the event logs alone: without them a finished run would come back as one that was
/// never begun.
void require_logs(const TrashEntry& entry, const Workspace& workspace) {
  const auto folder = entry.is_whole() ? entry.run_folder() : workspace.run_folder(entry.run);
  const auto lost = lost_logs(entry.logs, folder);
  if (lost.empty()) return;
  throw Error(
      fmt::format("run {} ({}) cannot be restored: {} {} gone or cut short since {} rows were read",
                  entry.run, entry.label, join(lost, ", "), lost.size() == 1 ? "is" : "are",
                  lost.size() == 1 ? "its" : "their"),
      folder.string(),
      "put what is gone back from a copy and repeat the command; until then the run stays in the trash",
      Status::kFailed);
}

Json restore_run(Store& store, const Workspace& workspace, const TrashEntry& entry) {
  require_free_place(store, entry, workspace);
  const auto place = workspace.run_folder(entry.run);
  // Interrupted after this, repeating the command finds the folder in its place and goes on with the rows.
  const bool moved = entry.is_whole();
  if (moved) move_run(entry.run_folder(), place);
  try {
    store.take_back(entry.records, workspace.folder);
  } catch (const Error& error) {
    if (moved) move_run(place, entry.run_folder());
    throw Error(
        fmt::format("run {} cannot be restored: {}", entry.run, Error(error.problem(), error.where()).what()),
        entry.folder.string(), "it stays in the trash", Status::kFailed);
  }
  delete_entry(entry);
  return {{"name", entry.run}, {"folder", place.string()}, {"rows", !entry.records.empty()}};
}

}  // namespace

Json restore_runs(Store& store, const Workspace& workspace, const std::vector<std::string>& names) {
  std::vector<TrashEntry> entries;
  for (const auto& name : names) {
    auto entry = find_entry(workspace, name);
    const bool again = std::ranges::any_of(entries, [&](const auto& e) { return e.run == entry.run; });
    if (!again) entries.push_back(std::move(entry));
  }
  for (const auto& entry : entries) {
    require_free_place(store, entry, workspace);
    require_logs(entry, workspace);
  }
  Json restored = Json::array(), experiments = Json::array(), waiting = Json::array();
  for (const auto& entry : entries) restored.push_back(restore_run(store, workspace, entry));
  const auto last = store.last_reproduction();
  for (const auto& [file, records] : kept_experiments(workspace)) {
    if (!store.number_of_experiment(records.front())) {
      try {
        store.take_back(records, workspace.folder);
      } catch (const Error& error) {
        if (error.where() != workspace.folder.string()) throw;
        // Another of its runs is still away.
        waiting.push_back(number_of(records.front()));
        continue;
      }
      experiments.push_back(store.number_of_experiment(records.front()).value_or(number_of(records.front())));
    }
    fs::remove(file);
  }
  // What was last before is last again.
  if (last && !experiments.empty()) store.show_again(last->id);
  return {{"restored", restored}, {"experiments", experiments}, {"waiting", waiting}};
}

}  // namespace harness

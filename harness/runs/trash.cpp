#include "harness/runs/trash.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "harness/runs/job_files.h"
#include "results/store/record_type.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char *kEntryFile = "removed.json", *kExperiment = "experiment-";

void delete_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (error)
    throw Error("cannot be removed: " + error.message(), folder.string(), "remove it by hand",
                Status::kFailed);
}

TrashEntry read_entry(const fs::path& folder) {
  TrashEntry entry;
  entry.name = folder.filename().string();
  entry.folder = folder;
  entry.run = entry.name.substr(0, entry.name.find('.'));
  try {
    const auto document = read_json(folder / kEntryFile);
    Fields f(document, (folder / kEntryFile).string());
    entry.run = f.required<std::string>("run");
    entry.label = f.required<std::string>("label");
    entry.removed = f.required<std::string>("removed");
    entry.from = f.required<std::string>("from");
    entry.by = f.required<std::string>("by");
    entry.records = f.required<std::vector<Json>>("records");
    for (const auto& record : entry.records) require_whole_record(record);
    // Earlier versions did not write it.
    if (f.has("logs")) {
      auto logs = f.object("logs");
      for (const auto& log : logs.keys()) entry.logs[log] = logs.required<std::uint64_t>(log);
    }
  } catch (const Error&) {
    // The folder is all that is left to take in (`runs adopt`).
    entry.label = fmt::format("{} (its {} is damaged)", entry.run, kEntryFile);
    entry.records.clear();
    entry.logs.clear();
  }
  return entry;
}

/// ID, or the first of ID.2, ID.3, ... that no whole entry has.
fs::path free_place(const Workspace& workspace, const std::string& run) {
  const auto first = workspace.trash_folder() / run;
  if (!fs::exists(first / "run")) return first;
  for (int n = 2;; ++n) {
    auto place = workspace.trash_folder() / fmt::format("{}.{}", run, n);
    if (!fs::exists(place / "run")) return place;
  }
}

}  // namespace

std::vector<TrashEntry> trash_of(const Workspace& workspace) {
  std::vector<TrashEntry> entries;
  for (const auto& folder : entries_below(workspace.trash_folder())) {
    if (!folder.filename().string().starts_with('.') && fs::exists(folder / kEntryFile))
      entries.push_back(read_entry(folder));
  }
  std::ranges::stable_sort(entries, std::ranges::greater(), &TrashEntry::removed);
  return entries;
}

TrashEntry prepare_trash(const Workspace& workspace, TrashEntry entry) {
  entry.folder = free_place(workspace, entry.run);
  entry.name = entry.folder.filename().string();
  // The rows went before the folder could: what was written down then is all that is known of them.
  if (entry.records.empty() && fs::exists(entry.folder / kEntryFile)) return read_entry(entry.folder);
  make_folder(entry.folder);
  write_file_atomically(entry.folder / kEntryFile, Json{{"run", entry.run},
                                                        {"label", entry.label},
                                                        {"removed", entry.removed},
                                                        {"from", entry.from},
                                                        {"by", entry.by},
                                                        {"records", entry.records},
                                                        {"logs", entry.logs}}
                                                       .dump(1));
  return entry;
}

void move_folder(const fs::path& from, const fs::path& to, const std::string& problem,
                 const std::string& hint) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw Error(problem + ": " + error.message(), from.string(), hint, Status::kFailed);
}

void fill_trash(const TrashEntry& entry, const fs::path& run_folder) {
  move_folder(run_folder, entry.run_folder(), "cannot be removed",
              "its rows are gone; repeat the command once the folder may be written");
}

void keep_experiment(const Workspace& workspace, std::int64_t id, const std::vector<Json>& records) {
  make_folder(workspace.trash_folder());
  write_file_atomically(workspace.trash_folder() / fmt::format("{}{}.json", kExperiment, id),
                        Json(records).dump(1));
}

std::vector<std::pair<fs::path, std::vector<Json>>> kept_experiments(const Workspace& workspace) {
  std::vector<std::pair<fs::path, std::vector<Json>>> kept;
  for (const auto& file : entries_below(workspace.trash_folder())) {
    if (!file.filename().string().starts_with(kExperiment) || file.extension() != ".json") continue;
    try {
      const Json document = {{"records", read_json(file)}};
      auto records = Fields(document, file.string()).required<std::vector<Json>>("records");
      for (const auto& record : records) require_whole_record(record);
      if (!records.empty()) kept.emplace_back(file, std::move(records));
    } catch (const Error&) {
      // Damaged: its experiment can only be reproduced again.
    }
  }
  std::ranges::sort(kept, {}, [](const auto& one) { return number_of(one.second.front()); });
  return kept;
}

void delete_entry(const TrashEntry& entry) {
  const auto aside = entry.folder.parent_path() / (kRemovedPrefix + entry.name);
  delete_folder(aside);
  move_folder(entry.folder, aside, "cannot be removed", "remove it by hand");
  delete_folder(aside);
}

void empty_trash(const Workspace& workspace) {
  for (const auto& entry : trash_of(workspace)) delete_entry(entry);
  delete_folder(workspace.trash_folder());
}

std::vector<std::string> clear_leftovers(Store& store, const Workspace& workspace) {
  std::vector<std::string> cleared;
  for (const auto& folder : {workspace.folder, workspace.trash_folder()}) {
    for (const auto& path : entries_below(folder)) {
      if (fs::is_directory(path) && path.filename().string().starts_with(kRemovedPrefix))
        cleared.push_back(path.string());
    }
  }
  for (const auto& folder : cleared) delete_folder(folder);
  for (const auto& entry : trash_of(workspace)) {
    const bool awaits_folder = !store.run(entry.run) && fs::exists(workspace.run_folder(entry.run));
    if (!entry.is_whole() && !awaits_folder) delete_folder(entry.folder);
  }
  for (const auto& [file, records] : kept_experiments(workspace)) {
    if (store.number_of_experiment(records.front())) fs::remove(file);
  }
  return cleared;
}

std::vector<std::string> lost_logs(const std::map<std::string, std::uint64_t>& logs,
                                   const fs::path& run_folder) {
  std::vector<std::string> lost;
  for (const auto& [log, bytes] : logs) {
    std::error_code absent;
    const auto size = fs::file_size(run_folder / log, absent);
    if (absent || size < bytes) lost.push_back(log);
  }
  return lost;
}

}  // namespace harness

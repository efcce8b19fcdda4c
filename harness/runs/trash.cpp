#include "harness/runs/trash.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "harness/runs/job_files.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// A folder that is being deleted.
constexpr const char* kRemovedPrefix = ".removed-";

void require_done(const std::error_code& error, const fs::path& folder, const std::string& hint) {
  if (error) throw Error("cannot be removed: " + error.message(), folder.string(), hint, Status::kFailed);
}

void delete_folder(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  require_done(error, folder, "remove it by hand");
}

void move_folder(const fs::path& from, const fs::path& to, const std::string& hint) {
  std::error_code error;
  fs::rename(from, to, error);
  require_done(error, from, hint);
}

}  // namespace

std::vector<fs::path> trash_of(const Workspace& workspace) {
  auto folders = entries_below(workspace.trash_folder());
  std::erase_if(folders, [](const fs::path& entry) {
    return !fs::is_directory(entry) || entry.filename().string().starts_with('.');
  });
  return folders;
}

fs::path move_to_trash(const Workspace& workspace, const std::string& run) {
  const auto trash = workspace.trash_folder();
  make_folder(trash);
  auto place = trash / run;
  for (int n = 2; fs::exists(place); ++n) place = trash / fmt::format("{}.{}", run, n);
  move_folder(workspace.run_folder(run), place,
              "its rows are gone; repeat the command once the folder may be written");
  return place;
}

void empty_trash(const Workspace& workspace) {
  for (const auto& folder : trash_of(workspace)) {
    // Renamed first: what an interruption leaves is no run that could be imported.
    const auto aside = workspace.trash_folder() / (kRemovedPrefix + folder.filename().string());
    delete_folder(aside);
    move_folder(folder, aside, "remove it by hand");
  }
  delete_folder(workspace.trash_folder());
}

}  // namespace harness

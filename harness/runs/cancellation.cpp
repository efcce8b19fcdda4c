#include "harness/runs/cancellation.h"

#include <algorithm>

#include "core/error.h"
#include "harness/slurm/command.h"
#include "harness/slurm/submission.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// The folder and those directly in it, sorted.
std::vector<fs::path> with_its_folders(const fs::path& folder) {
  std::vector<fs::path> folders = {folder};
  std::error_code gone;
  for (fs::directory_iterator at(folder, gone), end; !gone && at != end; at.increment(gone)) {
    if (at->is_directory(gone)) folders.push_back(at->path());
  }
  std::sort(folders.begin() + 1, folders.end());
  return folders;
}

/// The command that goes on comes first: it would ask for jobs again.
std::vector<fs::path> folders_of(const Workspace& workspace, const std::vector<std::string>& runs) {
  if (!fs::is_directory(workspace.folder))
    throw Error("there is no workspace", workspace.folder.string(), "name the folder with --out");
  std::vector<fs::path> chosen, all;
  for (const auto& run : runs) chosen.push_back(workspace.run_folder(run));
  if (runs.empty()) {
    all.push_back(workspace.folder);
    const auto inside = with_its_folders(workspace.folder);
    chosen.assign(inside.begin() + 1, inside.end());
  }
  for (const auto& folder : chosen) {
    const auto inside = with_its_folders(folder);
    all.insert(all.end(), inside.begin(), inside.end());
  }
  return all;
}

}  // namespace

std::vector<Cancelled> cancel_jobs(const Workspace& workspace, const std::vector<std::string>& runs) {
  const auto folders = folders_of(workspace, runs);
  SlurmQueue queue;
  queue.read();
  std::vector<Cancelled> cancelled;
  for (const auto& folder : folders) {
    const auto noted = read_submission(folder);
    const auto* job = noted ? queue.find(noted->job) : nullptr;
    // Numbers begin anew with a new Slurm; names do not.
    if (job == nullptr || job->name != noted->name || !job->is_alive()) continue;
    const bool is_ours_to_save = folder != workspace.folder;
    if (is_ours_to_save) {
      cancel_submission(folder, *noted);
    } else {
      run_slurm({"scancel", noted->job});
    }
    cancelled.push_back({noted->job, noted->name, folder, job->is_waiting()});
  }
  return cancelled;
}

}  // namespace harness

#include "harness/runs/adoption.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "datasets/kept_images.h"
#include "harness/run/plan_runner.h"
#include "harness/runs/job_files.h"
#include "harness/runs/scratch_database.h"
#include "harness/runs/stored_files.h"
#include "harness/show/run_report.h"
#include "results/store/left_out.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kByReproduce = "the reproduce command that made it goes on with it where it lies";

/// The prompt set of a checksum, as this program makes it or as a file here holds it.
PromptSet find_prompt_set(const std::string& sha256, const fs::path& recorded, const Workspace& workspace) {
  for (const auto& name : own_prompt_sets()) {
    if (auto set = own_prompt_set(name); set.sha256 == sha256) return set;
  }
  std::vector<fs::path> files = {recorded};
  std::error_code absent;
  for (fs::directory_iterator at(workspace.prompts_folder(), absent), end; !absent && at != end; ++at)
    files.push_back(at->path());
  for (const auto& file : files) {
    if (auto set = set_in(file, sha256, recorded)) return *set;
  }
  throw Error(fmt::format("its prompts (SHA-256 {:.12}) are not known here", sha256), recorded.string(),
              fmt::format("copy that file into {}", workspace.prompts_folder().string()));
}

void require_done(Store& store, const std::string& job, const fs::path& folder, const std::string& what) {
  const auto status = store.job_state(job);
  if (status && status->state == JobState::kDone) return;
  throw Error(fmt::format("its {} is not finished", what), folder.string(), kByReproduce);
}

/// The manifests of the checkpoints are those that the log speaks of, and their files those of the manifests.
void require_checkpoints(Store& store, const Job& job) {
  if (is_left_out(job.folder, kCheckpointsFolder)) return;
  for (const auto& checkpoint : store.checkpoints(job.id)) {
    const auto manifest = job.folder / checkpoint.path.value_or("") / "manifest.json";
    if (!fs::exists(manifest)) throw Error("is missing", manifest.string(), "copy the folder again");
    if (sha256_file(manifest) != checkpoint.sha256)
      throw Error("is not the file that the run wrote", manifest.string(), "copy the folder again");
    for (const auto& changed : changed_files(manifest.parent_path()))
      throw Error(changed.problem(), changed.file.string(), "copy the folder again");
  }
}

/// Takes one run in, inside a transaction of the caller.
class Adoption {
 public:
  Adoption(Store& store, const Workspace& workspace, const std::string& id)
      : store_(store), workspace_(workspace), run_(read_job(workspace.run_folder(id), id)) {}

  Json carry_out() {
    require_sound_logs(run_.folder);
    const auto row = run_row(run_);
    store_.record_run(row);
    if (row.method == kBaseMethod) {
      base();
    } else if (row.method == kImagesMethod) {
      given_images();
    } else {
      training();
    }
    evaluations();
    return {{"name", row.id},
            {"method", row.method},
            {"seed", row.seed},
            {"evaluations", taken_},
            {"left_to_reproduce", left_}};
  }

 private:
  void base() {
    store_.record_job(training_job(run_));
    store_.record_checkpoint({.run_id = run_.id,
                              .step = 0,
                              .path = run_.paths.value("weights", std::string()),
                              .sha256 = run_.identity.at("weights_sha256")});
    store_.mark_job(run_.id, JobState::kDone);
    selection_ = store_.record_selection(fixed_selection(run_.id));
  }

  void training() {
    const auto job = training_job(run_);
    store_.record_job(job);
    if (fs::exists(run_.folder / kEventLog)) store_.ingest(job);
    require_done(store_, job.id, run_.folder, "training");
    require_checkpoints(store_, run_);
  }

  /// Nothing ran: each checkpoint is a list of images. One alone was chosen by no data.
  void given_images() {
    store_.record_job(training_job(run_));
    const auto steps = run_.identity.at("settings").at("checkpoints").get<std::vector<int>>();
    for (const int step : steps) given_images(step);
    require_checkpoints(store_, run_);
    store_.mark_job(run_.id, JobState::kDone);
    if (steps.size() == 1) selection_ = store_.record_selection(fixed_selection(run_.id, steps.front()));
  }

  void given_images(int step) {
    const auto path = fmt::format("{}/{}", kCheckpointsFolder, step);
    const auto list = run_.folder / path / kImageListFile, manifest = run_.folder / path / "manifest.json";
    for (const auto& file : {list, manifest}) {
      if (!fs::exists(file)) throw Error("is missing", file.string(), "copy the folder again");
    }
    const auto& sums = run_.identity.at("images");
    if (checksum_of(read_image_list(list)) != sums.at(std::to_string(step)).get<std::string>())
      throw Error("is not the list of images that was scored", list.string(), "copy the folder again");
    store_.record_checkpoint(
        {.run_id = run_.id, .step = step, .path = path, .sha256 = sha256_file(manifest)});
  }

  void evaluations() {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(run_.folder)) {
      if (entry.is_directory() && entry.path().filename().string().starts_with(kEvaluationPrefix) &&
          fs::exists(entry.path() / kJobFile))
        folders.push_back(entry.path());
    }
    std::ranges::sort(folders);
    for (const auto& folder : folders) evaluation(folder);
  }

  void evaluation(const fs::path& folder) {
    const auto name = folder.filename().string();
    const auto job = read_job(folder, name.substr(name.rfind('-') + 1));
    const auto positions = read_positions(folder);
    auto row = evaluation_row(job, static_cast<std::int64_t>(positions.size()));
    if (row.run_id != run_.id)
      throw Error("is an evaluation of run " + row.run_id, folder.string(), "take it out of the folder");
    if (positions_checksum(positions) != row.split_sha256)
      throw Error("is not the list of prompts that was evaluated", (folder / kPositionsFile).string(),
                  "copy the folder again");
    // Which checkpoint may be tested is decided by the table's selection.
    if (row.split == "test" && !selection_) {
      ++left_;
      return;
    }
    row.selection_id = selection_;
    store_.record_prompt_set(
        find_prompt_set(row.prompt_set_sha256, job.paths.value("prompts", std::string()), workspace_));
    store_.record_evaluation(row);
    const auto record = evaluation_job(job);
    store_.record_job(record);
    if (fs::exists(folder / kEventLog)) store_.ingest(record);
    require_done(store_, record.id, folder,
                 fmt::format("evaluation on {} at checkpoint {}", row.split, row.step));
    const auto images =
        is_left_out(folder, kImagesFolder) ? ImageCheck{} : check_stored_images(store_, record.id, folder);
    if (!images.holds()) throw Error(images.text(), folder.string(), "copy the folder again");
    ++taken_;
  }

  Store& store_;
  const Workspace& workspace_;
  Job run_;
  std::optional<std::int64_t> selection_;  ///< of the starting weights, or of the only images
  int taken_ = 0, left_ = 0;
};

[[noreturn]] void refuse_known(const StoredRun& run, const Workspace& workspace) {
  const auto name = fmt::format("run {} ({}, seed {})", run.id, run.method, run.seed);
  const auto shown = fmt::format("`harness runs show {}{}` shows it", run.id, workspace.options);
  if (fs::exists(workspace.run_folder(run.id)))
    throw Error(name + " is already in this workspace", workspace.folder.string(), shown);
  throw Error(fmt::format("{} is already in the database, with the folder {}", name, run.folder),
              workspace.db.string(), shown);
}

/// The folder that a whole name or its unique beginning means.
std::string find_folder(Store& store, const Workspace& workspace, const std::string& id) {
  const auto unknown = unknown_run_folders(store, workspace);
  std::vector<std::string> found;
  for (const auto& name : unknown) {
    if (name == id) return name;
    if (!id.empty() && name.starts_with(id)) found.push_back(name);
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    throw Error(fmt::format("\"{}\" begins the names of {} folders", id, found.size()),
                workspace.folder.string(), "give more digits: " + join(found, ", "));
  for (const auto& run : store.runs()) {
    if (!id.empty() && run.id.starts_with(id)) refuse_known(run, workspace);
  }
  throw Error(fmt::format("there is no folder {} with a job.json", workspace.run_folder(id).string()),
              "harness runs adopt",
              unknown.empty() ? "put the run's complete folder there, under its own name"
                              : "folders that the DB does not know: " + join(unknown, ", "));
}

std::vector<std::string> find_folders(Store& store, const Workspace& workspace,
                                      const std::vector<std::string>& ids) {
  std::vector<std::string> names;
  for (const auto& id : ids) {
    auto name = find_folder(store, workspace, id);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::vector<std::string> unknown_run_folders(Store& store, const Workspace& workspace) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(workspace.folder)) {
    const auto name = entry.path().filename().string();
    if (entry.is_directory() && !name.starts_with('.') && fs::exists(entry.path() / kJobFile) &&
        !store.run(name))
      names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Json adopt_runs(Store& store, const Workspace& workspace, const std::vector<std::string>& ids) {
  const auto names = find_folders(store, workspace, ids);
  Json adopted = Json::array();
  store.atomically([&] {
    for (const auto& name : names) {
      try {
        adopted.push_back(Adoption(store, workspace, name).carry_out());
      } catch (const Json::exception& error) {
        throw Error(fmt::format("cannot be adopted: {}", error.what()), workspace.run_folder(name).string(),
                    "a file of it was changed: copy the folder again", Status::kFailed);
      } catch (const Error& error) {
        throw Error(fmt::format("cannot be adopted: {}", Error(error.problem(), error.where()).what()),
                    workspace.run_folder(name).string(), error.hint(), Status::kFailed);
      }
    }
  });
  return adopted;
}

void try_adoption(const Workspace& workspace, const std::vector<std::string>& ids) {
  if (fs::exists(workspace.journal())) return;
  auto names = ids;
  if (fs::exists(workspace.db)) {
    std::optional<Store> known;
    try {
      known.emplace(workspace.db, OpenMode::kReadOnly);
    } catch (const Error&) {
      return;  // whoever opens it for writing brings it up to date, or says what is wrong
    }
    names = find_folders(*known, workspace, ids);
  }
  const ScratchFolder scratch("harness-adopt-");
  Store store(scratch.path() / workspace.db.filename(), OpenMode::kReadWrite);
  adopt_runs(store, workspace, names);
}

}  // namespace harness

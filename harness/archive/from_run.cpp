#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "datasets/kept_images.h"
#include "harness/archive/bringing.h"
#include "harness/archive/import.h"
#include "harness/plan/job_rows.h"
#include "harness/runs/job_files.h"
#include "harness/runs/stored_files.h"
#include "results/store/left_out.h"
#include "results/store/record_type.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// The prompt set of a checksum, as this program makes it or as a file here holds it.
PromptSet find_prompt_set(const std::string& sha256, const fs::path& recorded, const Workspace& workspace) {
  for (const auto& name : own_prompt_sets()) {
    if (auto set = own_prompt_set(name); set.sha256 == sha256) return set;
  }
  auto files = entries_below(workspace.prompts_folder());
  files.insert(files.begin(), recorded);
  for (const auto& file : files) {
    if (auto set = set_in(file, sha256, recorded)) return *set;
  }
  throw Error(fmt::format("its prompts (SHA-256 {:.12}) are not known here", sha256), recorded.string(),
              fmt::format("copy that file into {}", workspace.prompts_folder().string()));
}

void require_finished(const fs::path& folder, const std::string& what) {
  const auto last = last_event(folder / kEventLog);
  if (!last || last->at("type") != "job_completed")
    throw Error(fmt::format("its {} is not finished", what), folder.string(),
                "repeat the reproduce command that made it: it resumes the run in its own folder");
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

/// The records that a run's folder implies, as a journal would hold them.
class FolderRecords {
 public:
  FolderRecords(Job run, const Workspace& workspace) : workspace_(workspace), run_(std::move(run)) {}

  void read() {
    const auto row = run_row(run_);
    add(journal_record(row));
    add(journal_record(training_job(run_)));
    method_ = row.method;
    const auto& traits = row_traits(method_);
    if (traits.is_start) {
      base();
    } else if (traits.is_given() && !traits.takes_a_worker) {
      given_images();
    } else {
      require_finished(run_.folder, "training");
    }
    for (const auto& folder : entries_below(run_.folder)) {
      if (folder.filename().string().starts_with(kEvaluationPrefix) && fs::exists(folder / kJobFile))
        evaluation(folder);
    }
  }

  std::vector<HistoryEntry> entries = {};
  int left_to_reproduce = 0;  ///< evaluations

  /// With the rows that came of the records and the logs.
  void check(Store& store) const {
    if (method_ != kBaseMethod) require_checkpoints(store, run_);
    for (const auto& job : evaluations_) {
      if (is_left_out(job.folder, kImagesFolder)) continue;
      if (const auto images = check_stored_images(store, job.id, job.folder); !images.holds())
        throw Error(images.text(), job.folder.string(), "copy the folder again");
    }
  }

 private:
  void add(Json record) { entries.push_back({.record = std::move(record)}); }

  void base() {
    add(journal_record(CheckpointRecord{.run_id = run_.id,
                                        .step = 0,
                                        .path = run_.paths.value("weights", std::string()),
                                        .sha256 = run_.identity.at("weights_sha256")}));
    add(journal_job_state(run_.id, run_.id, JobState::kDone, {}));
    select(0);
  }

  /// Nothing ran: each checkpoint is a list of images. One alone was chosen by no data.
  void given_images() {
    const auto steps = run_.identity.at("settings").at("checkpoints").get<std::vector<int>>();
    for (const int step : steps) given_images(step);
    add(journal_job_state(run_.id, run_.id, JobState::kDone, {}));
    if (steps.size() == 1) select(steps.front());
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
    add(journal_record(
        CheckpointRecord{.run_id = run_.id, .step = step, .path = path, .sha256 = sha256_file(manifest)}));
  }

  void select(int step) {
    selection_ = 1;
    add(journal_record(fixed_selection(run_.id, step), *selection_));
  }

  void evaluation(const fs::path& folder) {
    const auto name = folder.filename().string();
    const auto job = read_job(folder, name.substr(name.rfind('-') + 1));
    const auto positions = read_positions(folder);
    auto row = evaluation_row(job, std::ssize(positions));
    if (row.run_id != run_.id)
      throw Error("is an evaluation of run " + row.run_id, folder.string(), "take it out of the folder");
    if (positions_checksum(positions) != row.split_sha256)
      throw Error("is not the list of prompts that was evaluated", (folder / kPositionsFile).string(),
                  "copy the folder again");
    // Which checkpoint may be tested is decided by the table's selection.
    if (row.split == "test" && !selection_) {
      ++left_to_reproduce;
      add(journal_record(OpenedRecord{run_.id}));
      return;
    }
    require_finished(folder, fmt::format("evaluation on {} at checkpoint {}", row.split, row.step));
    row.selection_id = selection_;
    add(journal_record(
        find_prompt_set(row.prompt_set_sha256, job.paths.value("prompts", std::string()), workspace_)));
    add(journal_record(row));
    add(journal_record(evaluation_job(job)));
    evaluations_.push_back(job);
  }

  const Workspace& workspace_;
  Job run_;
  std::string method_;
  std::vector<Job> evaluations_;
  std::optional<std::int64_t> selection_;  ///< of the base model, or of the only images
};

/// A journal as if a run had not been removed the last time, nor before it what is here now.
History history_with(std::vector<Json> records, const std::string& run) {
  const auto here = history_of(records).runs;
  bool is_last = true;  ///< no other record of the run comes later
  for (auto i = records.size(); i-- > 0;) {
    const auto of = records[i].value("run", std::string());
    const bool is_removal = record_type(records[i]) == RecordType::kForget;
    if (of == run) is_last = is_last && is_removal;
    if (is_removal && (of == run ? is_last : here.contains(of)))
      records.erase(records.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return history_of(records);
}

/// What a workspace recorded of a run and of the experiments that use it.
std::vector<HistoryEntry> entries_of(History history, const std::string& run) {
  std::set<std::string> experiments;
  for (const auto& entry : history.entries) {
    if (type_of(entry.record) != "experiment") continue;
    const auto runs = from_journal<ReproductionRecord>(entry.record).runs;
    if (std::ranges::any_of(runs, [&](const auto& one) { return one.first == run; }))
      experiments.insert(*entry.experiment);
  }
  std::erase_if(history.entries, [&](const HistoryEntry& entry) {
    return entry.experiment ? !experiments.contains(*entry.experiment)
                            : entry.record.value("run", std::string()) != run;
  });
  return std::move(history.entries);
}

}  // namespace

void gather_run(const fs::path& folder, const Workspace& into, Incoming& incoming) {
  const auto run = read_job(folder, read_job_document(folder).at("id"));
  require_sound_logs(folder);
  const auto place = incoming.folder / run.id;
  incoming.shown = {place.string(), folder.string()};
  incoming.runs = {run.id};
  auto history = history_with(read_journal(into.journal()).records, run.id);
  incoming.is_return = history.runs.contains(run.id);
  if (incoming.is_return) {
    incoming.history = entries_of(std::move(history), run.id);
  } else {
    auto records = std::make_shared<FolderRecords>(run, into);
    records->read();
    if (records->left_to_reproduce > 0)
      incoming.notes.push_back(fmt::format(
          "{} of run {} on the test split left to `harness reproduce`, which selects a checkpoint",
          counted(records->left_to_reproduce, "evaluation"), run.id));
    incoming.history = std::move(records->entries);
    incoming.check = [records](Store& store) { records->check(store); };
  }
  copy_run(folder, place);
}

}  // namespace harness

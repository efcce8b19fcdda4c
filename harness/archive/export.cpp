#include "harness/archive/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include "core/error.h"
#include "core/file_checksums.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "harness/archive/journal_cut.h"
#include "harness/archive/placeless.h"
#include "harness/archive/tar.h"
#include "harness/read/known_runs.h"
#include "harness/runs/job_files.h"
#include "harness/runs/stored_files.h"
#include "harness/show/artifacts.h"
#include "harness/workspace/scratch_folder.h"
#include "results/store/left_out.h"
#include "results/store/sql.h"
#include "results/store/stored_image.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// It embeds the images.
constexpr const char* kReportFile = "report.html";

/// Collects what goes into the archive, by its name there: files, or bytes.
class Contents {
 public:
  Contents(Store& store, const Workspace& workspace, const Experiment& experiment,
           const ExportRequest& request)
      : store_(store), workspace_(workspace), experiment_(experiment), request_(request) {}

  void add_bytes(const std::string& name, std::string bytes) { sources_[name] = std::move(bytes); }

  void add_runs() {
    for (const auto& [id, arm] : experiment_.runs) {
      const auto run = store_.run(id);
      if (!run)
        throw Error(fmt::format("lacks run {} of the experiment", id), store_.path().string(),
                    "`harness db check` shows what is wrong with it");
      add_run(*run);
    }
  }

  void add_artifacts() {
    const auto folder = experiment_folder(store_, experiment_);
    for (const auto& [name, sha256] : recorded_files(store_, experiment_)) {
      if (fs::exists(folder / name) && sha256_file(folder / name) != sha256)
        throw Error("was changed after harness wrote it", (folder / name).string(),
                    "repeat the reproduce command: it writes it again", Status::kFailed);
    }
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(folder, absent)) {
      const auto name = entry.path().filename().string();
      if (!entry.is_regular_file() || (name == kReportFile && !request_.images)) continue;
      add_file(fmt::format("{}/1-{}/{}", kExperimentsFolder, experiment_.table_id, name), entry.path());
    }
  }

  /// The files of the prompt sets, as far as they are still there.
  void add_prompts() {
    for (const auto& set : store_.prompt_sets()) {
      const auto file = prompt_file(set);
      if (file.empty()) continue;
      add_file("prompts/" + own_file_name(set.name), file);
    }
  }

  /// The archive's own DB: built from the journal and the logs.
  void add_database(const CutJournal& journal) {
    const auto scratch = scratch_.path(), file = scratch / "journal.log", made = scratch / "made.sqlite",
               small = scratch / kDatabaseName;
    write_file(file, journal.text());
    {
      Store store(made, OpenMode::kReadWrite);
      const auto report = store.replay(scratch, read_journal(file));
      if (!report.left_out.empty())
        throw Error(report.left_out.front(), workspace_.folder.string(),
                    "`harness db check` shows how to repair it", Status::kFailed);
      guarded(made, [&] {
        SQLite::Statement copy(store.database(), "VACUUM INTO ?1");
        copy.bind(1, small.string());
        copy.exec();
      });
    }
    sources_[kDatabaseName] = read_file(small);
  }

  /// Writes it all; `manifest` gets the files.
  void write(ArchiveManifest& manifest, std::int64_t time) {
    std::vector<fs::path> read;
    for (const auto& [name, source] : sources_) {
      if (const auto* file = std::get_if<fs::path>(&source)) read.push_back(*file);
    }
    const HeldFiles held(read);
    for (const auto& [name, source] : sources_) {
      const auto* file = std::get_if<fs::path>(&source);
      manifest.files[name] =
          file != nullptr ? packed_file(*file) : packed_bytes(std::get<std::string>(source));
    }
    const auto top = manifest.name() + "/";
    TarWriter tar(request_.file, time);
    tar.add(top + kManifestFile, manifest.text());
    for (const auto& [name, source] : sources_) {
      if (const auto* file = std::get_if<fs::path>(&source)) {
        tar.add_file(top + name, *file, manifest.files.at(name).bytes);
      } else {
        tar.add(top + name, std::get<std::string>(source));
      }
    }
    held.expect_unchanged();
    tar.finish();
  }

  const std::set<std::string>& evaluations() const { return evaluations_; }
  std::vector<std::string> notes;

 private:
  void add_file(const std::string& name, const fs::path& file) {
    if (!is_archive_name(name))
      throw Error(fmt::format("{} is a name that an archive cannot hold", in_quotes(name)), file.string(),
                  "rename the file, or move it elsewhere");
    sources_[name] = file;
  }

  void add_if_there(const std::string& name, const fs::path& file) {
    if (fs::is_regular_file(file)) add_file(name, file);
  }

  /// job.json and the log, without the places of this machine. worker.log stays on its machine.
  void add_job(const std::string& here, const fs::path& folder) {
    if (fs::exists(folder / kJobFile)) add_bytes(here + kJobFile, placeless_job(folder / kJobFile));
    if (!fs::exists(folder / kEventLog)) return;
    const auto log = scratch_.path() / (here + kEventLog);
    make_folder(log.parent_path());
    write_file(log, placeless_log(folder / kEventLog));
    add_file(here + kEventLog, log);
  }

  void add_run(const StoredRun& run) {
    const auto beside = workspace_.run_folder(run.id);
    const auto folder = fs::exists(beside) ? beside : folder_of(store_, run);
    if (!fs::exists(folder / kJobFile))
      throw Error("is missing", (folder / kJobFile).string(), "put the run's folder back from a copy",
                  Status::kFailed);
    require_sound_log(folder / kEventLog);
    add_job(run.id + "/", folder);
    for (const auto& evaluation : store_.evaluations(run.id)) {
      if (evaluation.state == JobState::kDone) add_evaluation(run, evaluation, folder);
    }
    if (run.method != kBaseMethod) add_checkpoints(run, folder);
  }

  void add_evaluation(const StoredRun& run, const StoredEvaluation& evaluation, const fs::path& of_run) {
    const auto name = fs::path(evaluation.folder).filename().string();
    const auto folder = of_run / name;
    const auto here = run.id + "/" + name + "/";
    require_sound_log(folder / kEventLog);
    add_job(here, folder);
    add_if_there(here + kPositionsFile, folder / kPositionsFile);
    evaluations_.insert(evaluation.id);
    if (!request_.images) return add_bytes(here + kLeftOutFile, left_out_note(kImagesFolder));
    require_here(folder, kImagesFolder, "--images");
    if (const auto check = check_stored_images(store_, evaluation.id, folder); !check.holds())
      throw Error(check.text(), folder.string(), "`harness db check` names all such images", Status::kFailed);
    for (const auto& image : stored_images(store_, evaluation.id))
      add_file(here + image.path, folder / image.path);
  }

  void add_checkpoints(const StoredRun& run, const fs::path& folder) {
    const bool are_images = !row_traits(run.method).draws;  // a list of them, and no weights
    if (!request_.checkpoints && !are_images)
      return add_bytes(run.id + "/" + kLeftOutFile, left_out_note(kCheckpointsFolder));
    if (!are_images) require_here(folder, kCheckpointsFolder, "--checkpoints");
    for (const auto& checkpoint : store_.checkpoints(run.id)) {
      const auto path = checkpoint.path.value_or("");
      const auto place = folder / path;
      if (!fs::exists(place / "manifest.json"))
        throw Error("is missing", (place / "manifest.json").string(), "put it back from a copy",
                    Status::kFailed);
      for (const auto& changed : changed_files(place))
        throw Error(changed.problem(), changed.file.string(), "put it back from a copy", Status::kFailed);
      for (const auto& entry : fs::recursive_directory_iterator(place)) {
        if (entry.is_regular_file())
          add_file(run.id + "/" + entry.path().lexically_relative(folder).string(), entry.path());
      }
    }
  }

  static void require_here(const fs::path& folder, const std::string& part, const char* option) {
    if (is_left_out(folder, part))
      throw Error(left_out_text(part), folder.string(), fmt::format("leave out {}", option));
  }

  /// The file, in the workspace or at its original place, of a prompt set that the runs use; else
  /// empty.
  fs::path prompt_file(const PromptSet& set) {
    std::vector<fs::path> places = {workspace_.prompts_folder() / own_file_name(set.name)};
    bool is_used = false;
    const auto add = [&](const Json& config, const fs::path& folder, const char* sum, const char* path) {
      if (config.value(sum, "") != set.sha256) return;
      is_used = true;
      if (!fs::exists(folder / kJobFile)) return;
      places.emplace_back(read_job_document(folder).at("paths").value(path, ""));
    };
    for (const auto& [id, arm] : experiment_.runs) {
      const auto run = *store_.run(id);
      const auto folder = workspace_.run_folder(id);
      add(run.config, folder, "train_prompts_sha256", "train_prompts");
      for (const auto& e : store_.evaluations(id))
        add(e.config, folder / fs::path(e.folder).filename(), "prompts_sha256", "prompts");
    }
    if (!is_used) return {};
    for (const auto& place : places) {
      if (is_file_of_set(place, set.sha256)) return place;
    }
    notes.push_back(fmt::format(
        "the file of the prompts {} is not here any more; their texts are in the journal", set.name));
    return {};
  }

  Store& store_;
  const Workspace& workspace_;
  const Experiment& experiment_;
  const ExportRequest& request_;
  const ScratchFolder scratch_{
      fs::temp_directory_path(), "harness-export-",
      "set TMPDIR to a folder you can write to"};  ///< the DB that is made, and the logs as they are packed
  std::map<std::string, std::variant<fs::path, std::string>> sources_;
  std::set<std::string> evaluations_;
};

void require_place(const fs::path& file) {
  if (file.empty() || file == "-")
    throw Error("is not a file name", "-o " + file.string(), "name the file to write");
  if (fs::is_directory(file)) throw Error("is a folder", "-o " + file.string(), "name a file in it");
  expect_replaceable(file);
  require_no_record(file);
  if (file.has_parent_path()) make_folder(file.parent_path());
}

}  // namespace

Exported export_experiment(const Workspace& workspace, const ExportRequest& request) {
  Store store(workspace.db, OpenMode::kReadOnly);
  ExperimentFilter filter{};
  filter.experiment = request.experiment;
  const auto experiment = find_experiment(store, filter);
  Contents contents(store, workspace, experiment, request);
  contents.add_runs();
  const auto records = read_journal(workspace.journal()).records;
  const auto journal = cut_journal(records, store, experiment.id, contents.evaluations());
  contents.add_bytes(kJournalFile, journal.text());
  contents.add_bytes(kSpecFile, experiment.spec.dump(1) + "\n");
  contents.add_artifacts();
  contents.add_prompts();
  contents.add_database(journal);
  Exported made{.manifest = {.digest = journal.digest,
                             .table_id = experiment.table_id,
                             .backbone = experiment.backbone,
                             .scale = experiment.scale,
                             .signature = experiment.signature,
                             .finished = journal.finished,
                             .seeds = experiment.seeds,
                             .methods = experiment.methods,
                             .has_images = request.images,
                             .has_checkpoints = request.checkpoints},
                .bytes = 0,
                .sha256 = {},
                .notes = contents.notes};
  for (const auto& [run, arm] : experiment.runs) made.manifest.runs.push_back(run);
  require_place(request.file);
  contents.write(made.manifest, journal.time);
  made.bytes = fs::file_size(request.file);
  made.sha256 = sha256_file(request.file);
  return made;
}

}  // namespace harness

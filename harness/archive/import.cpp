#include "harness/archive/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "core/error.h"
#include "core/files.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/archive/unpack.h"
#include "harness/runs/job_files.h"
#include "harness/runs/rebuild.h"
#include "results/schema/database_file.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void refuse(const std::string& problem, const std::string& where) {
  throw Error(problem, where, "it was not made by `harness export`, and nothing of it was taken");
}

/// The records, which are of the manifest's experiment and its runs alone.
std::vector<HistoryEntry> records_of(const ArchiveManifest& manifest, const fs::path& folder,
                                     const std::string& where) {
  const auto history = [&] {
    try {
      return history_of(read_journal(folder / kJournalFile).records);
    } catch (const Error& error) {
      if (error.status() == Status::kFailed) throw;
      refuse(error.problem(), error.where());
    }
  }();
  require_sound_records(history.entries, where);
  if (history.numbers.size() != 1 || !history.numbers.contains(manifest.digest))
    refuse("journal: does not hold the experiment of the manifest alone", where);
  if (history.runs != std::set(manifest.runs.begin(), manifest.runs.end()))
    refuse("journal: holds other runs than the manifest", where);
  return history.entries;
}

/// True for a file that a workspace of one experiment has. Nothing else comes in: a batch script or the
/// number of a batch job that somebody else wrote must not be taken for the workspace's own.
bool has_place(const std::string& name, const ArchiveManifest& manifest) {
  static const std::regex kOfRun(
      "(job\\.json|events\\.log|worker\\.log|left-out\\.json|checkpoints/.+|"
      "eval-[^/]+/(job\\.json|positions\\.json|events\\.log|worker\\.log|left-out\\.json|images/.+))");
  static const std::set<std::string> kAtTop = {kCrateFile, kSpecFile, kJournalFile, kDatabaseName};
  const auto cut = name.find('/');
  if (cut == std::string::npos) return kAtTop.contains(name);
  const auto first = name.substr(0, cut), rest = name.substr(cut + 1);
  if (std::ranges::count(manifest.runs, first) > 0) return std::regex_match(rest, kOfRun);
  const auto artifacts = fmt::format("{}/1-{}/", kExperimentsFolder, manifest.table_id);
  const auto last = name.substr(name.rfind('/') + 1);
  return name == "prompts/" + last || name == artifacts + last;
}

/// Every job is named by the hash of what it was asked for, and its log is whole.
void require_sound_run(const fs::path& folder, const std::string& id) {
  if (read_job(folder, id).id != id) refuse("is another job", folder.string());
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (entry.is_directory() && name.starts_with(kEvaluationPrefix)) {
      const auto job = read_job(entry.path(), name.substr(name.rfind('-') + 1));
      if (job.identity.value("run", "") != id)
        refuse("is an evaluation of another run", entry.path().string());
    }
  }
  require_sound_logs(folder);
}

/// What it says of a file names the archive, not the folder for a time.
Error of_archive(const Error& error, const fs::path& archive, const fs::path& scratch) {
  const auto named = [&](std::string text) {
    const auto folder = scratch.string() + "/", name = archive.string() + ": ";
    for (auto found = text.find(folder); found != std::string::npos;
         found = text.find(folder, found + name.size()))
      text.replace(found, folder.size(), name);
    return text == scratch.string() ? archive.string() : text;
  };
  return Error(named(error.problem()), named(error.where()), error.hint(), error.status());
}

}  // namespace

Imported import_archive(const Workspace& workspace, const fs::path& archive) {
  { const auto there = open_file(archive); }  // before a workspace is made for it
  FilledWorkspace filled(workspace);
  Imported imported;
  try {
    auto& manifest = imported.manifest;
    manifest = unpack_archive(archive, filled.scratch());
    for (const auto& [name, file] : manifest.files) {
      if (!has_place(name, manifest)) refuse(name + " is no file of an experiment", archive.string());
    }
    Incoming incoming{.folder = filled.scratch(),
                      .histories = {records_of(manifest, filled.scratch(), archive.string())},
                      .runs = {manifest.runs.begin(), manifest.runs.end()},
                      .artifacts = {{manifest.digest, filled.scratch() / kExperimentsFolder /
                                                          fmt::format("1-{}", manifest.table_id)}}};
    for (const auto& run : incoming.runs) require_sound_run(incoming.folder / run, run);
    auto store = open_workspace(workspace, [](const std::string& text) { tell("{}\n", text); });
    const auto& entries = incoming.histories.front();
    const auto experiment =
        std::ranges::find(entries, "experiment", [](const auto& e) { return type_of(e.record); });
    if (const auto known = store.number_of_experiment(experiment->record)) {
      incoming.histories.clear();
      imported.taken = take_in(store, workspace, incoming);
      imported.taken.experiments = {
          {.was = 1, .number = *known, .table_id = manifest.table_id, .is_known = true}};
    } else {
      imported.taken = take_in(store, workspace, incoming);
    }
  } catch (const Json::exception& error) {
    refuse(fmt::format("a file of it has another form: {}", error.what()), archive.string());
  } catch (const Error& error) {
    throw of_archive(error, archive, filled.scratch());
  }
  filled.keep();
  return imported;
}

}  // namespace harness

#include "harness/rebuild.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "harness/runs/adoption.h"
#include "harness/runs/images.h"
#include "harness/runs/trash.h"
#include "results/database_diff.h"
#include "results/store.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kWithoutJournal =
    "move the DB away and repeat the reproduce command: finished jobs are read again from their event logs";

/// A DB file that goes away with this object unless it is kept, with the files that SQLite puts beside it.
class ScratchDatabase {
 public:
  explicit ScratchDatabase(fs::path path) : path_(std::move(path)) { remove(); }
  ~ScratchDatabase() { remove(); }
  ScratchDatabase(const ScratchDatabase&) = delete;
  ScratchDatabase& operator=(const ScratchDatabase&) = delete;
  const fs::path& path() const { return path_; }

 private:
  void remove() const {
    std::error_code ignored;
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(path_.string() + suffix, ignored);
  }
  fs::path path_;
};

/// The first free results.sqlite.bak-N.
fs::path backup_name(const fs::path& db) {
  for (int n = 1;; ++n) {
    const fs::path name = fmt::format("{}.bak-{}", db.string(), n);
    if (!fs::exists(name)) return name;
  }
}

/// Settles a DB into its one file, so that it may be renamed. A damaged one is left to what it is.
void settle_file(const fs::path& db) {
  try {
    Store store(db, OpenMode::kReadWrite);
    store.database().exec("PRAGMA wal_checkpoint(TRUNCATE)");
    store.database().exec("PRAGMA journal_mode = DELETE");
  } catch (const Error& error) {
    if (error.status() == Status::kFailed) throw;
  } catch (const SQLite::Exception& failure) {
    throw database_error(failure, db);
  }
}

/// Puts `made` in the place of `db` in one step. Gives where the old file went, if there was one.
std::optional<fs::path> take_place(const fs::path& made, const fs::path& db) {
  std::optional<fs::path> kept;
  if (fs::exists(db)) {
    settle_file(db);
    kept = backup_name(db);
    std::error_code cannot;
    fs::create_hard_link(db, *kept, cannot);
    if (cannot) fs::copy_file(db, *kept);
    // A log of the old file must never be taken for the new one's.
    for (const char* suffix : {"-wal", "-shm"}) {
      if (fs::exists(db.string() + suffix)) fs::rename(db.string() + suffix, kept->string() + suffix);
    }
  }
  fs::rename(made, db);
  return kept;
}

/// A workspace of an earlier version has no journal: what its DB holds becomes one.
void require_journal(const Workspace& workspace) {
  if (fs::exists(workspace.journal())) return;
  if (!fs::exists(workspace.db)) {
    throw Error("holds neither a journal nor a results database", workspace.folder.string(),
                "name the workspace with --out");
  }
  try {
    Store store(workspace.db, OpenMode::kReadWrite);
    store.write_journal(workspace.journal());
  } catch (const Error& error) {
    throw Error(fmt::format("has no journal, and none can be made from the DB ({})", error.what()),
                workspace.folder.string(), kWithoutJournal);
  }
}

/// Runs of the old DB that the new one would lack, such as those of another workspace.
std::vector<std::string> runs_lost(const fs::path& db, Store& made) {
  std::vector<std::string> lost;
  if (!fs::exists(db)) return lost;
  try {
    Store old(db, OpenMode::kReadOnly);
    for (const auto& run : old.runs()) {
      if (!made.run(run.id))
        lost.push_back(
            fmt::format("run {}: its folder is {}, and the journal does not know it", run.id, run.folder));
    }
  } catch (const Error&) {
    // A DB that cannot be read has nothing to lose.
  }
  return lost;
}

void require_whole(const std::vector<std::string>& left_out, const Workspace& workspace) {
  if (left_out.empty()) return;
  throw Error(fmt::format("{} would be left out: {}", left_out.size() == 1 ? "one thing" : "some things",
                          join(left_out, "; ")),
              workspace.db.string(), "repeat with --force to do without them", Status::kFailed);
}

/// Where a DB may be written for the time of a check.
fs::path scratch_place(const Workspace& workspace) {
  const auto name = fmt::format(".check-{}.sqlite", ::getpid());
  return (::access(workspace.folder.c_str(), W_OK) == 0 ? workspace.folder : fs::temp_directory_path()) /
         name;
}

void check_rows(const Workspace& workspace, Store& store, Json& findings, Json& notes) {
  if (!fs::exists(workspace.journal())) {
    notes.push_back(
        "rows were not compared with the logs: an earlier version made this workspace and kept no journal; "
        "the "
        "next reproduce begins one");
    return;
  }
  std::optional<WorkspaceLock> lock;
  try {
    lock.emplace(workspace);
  } catch (const Error& error) {
    notes.push_back(fmt::format("rows were not compared with the logs: {}", error.problem()));
    return;
  }
  const ScratchDatabase scratch(scratch_place(workspace));
  Store made(scratch.path(), OpenMode::kReadWrite);
  const auto report = made.replay(workspace.folder, log_ends(store));
  for (const auto& text : report.left_out) findings.push_back(text);
  for (const auto& text : differences(store, scratch.path(), "the logs")) findings.push_back(text);
}

/// What to do about a run's folder without rows.
std::string advice_for(const std::string& run, const Workspace& workspace, const JournalRuns& recorded,
                       const std::vector<TrashEntry>& trash) {
  const auto& at = workspace.options;
  if (recorded.kept.contains(run))
    return fmt::format("the journal records it: `harness db rebuild{}` brings its rows back", at);
  if (std::ranges::any_of(trash, [&](const auto& e) { return e.run == run && !e.is_whole(); })) {
    return fmt::format(
        "its removal was interrupted: `harness runs rm {}{}` ends it, `harness runs restore {}{}` undoes it",
        run, at, run, at);
  }
  return fmt::format("`harness runs adopt {}{}` takes it in, `harness runs rm {}{}` puts it into the trash",
                     run, at, run, at);
}

void check_folders(const Workspace& workspace, Store& store, Json& findings) {
  const auto recorded = runs_in_journal(workspace.journal());
  const auto trash = trash_of(workspace);
  for (const auto& run : unknown_run_folders(store, workspace)) {
    findings.push_back(fmt::format("{} is the folder of a run that the DB does not know; {}",
                                   workspace.run_folder(run).string(),
                                   advice_for(run, workspace, recorded, trash)));
  }
}

/// Images of the runs that lie in this workspace.
void check_images(const Workspace& workspace, Store& store, Json& findings) {
  for (const auto& run : store.runs()) {
    const auto folder = workspace.run_folder(run.id);
    if (!fs::is_directory(folder)) continue;
    for (const auto& evaluation : store.evaluations(run.id)) {
      if (evaluation.state != JobState::kDone) continue;
      const auto check =
          check_stored_images(store, evaluation.id, folder / fs::path(evaluation.folder).filename());
      if (check.holds()) continue;
      findings.push_back(fmt::format(
          "{} (seed {}) at checkpoint {} on {}: {}; put the files back from a copy, or train again with "
          "--fresh",
          run.method, run.seed, evaluation.step, evaluation.split, check.text()));
    }
  }
}

}  // namespace

Json rebuild_database(const Workspace& workspace, bool force) {
  if (!fs::is_directory(workspace.folder))
    throw Error("is not a folder", workspace.folder.string(), "name the workspace with --out");
  const WorkspaceLock lock(workspace);
  require_journal(workspace);
  const ScratchDatabase scratch(fmt::format("{}.new-{}", workspace.db.string(), ::getpid()));
  ReplayReport report;
  {
    Store made(scratch.path(), OpenMode::kReadWrite);
    report = made.replay(workspace.folder);
    for (auto& text : runs_lost(workspace.db, made)) report.left_out.push_back(std::move(text));
    for (auto& text : made.check()) report.left_out.push_back(std::move(text));
    if (!force) require_whole(report.left_out, workspace);
  }
  const auto kept = take_place(scratch.path(), workspace.db);
  return {{"db", workspace.db.string()},
          {"kept", kept ? Json(kept->string()) : Json()},
          {"runs", report.runs},
          {"evaluations", report.evaluations},
          {"experiments", report.experiments},
          {"left_out", report.left_out}};
}

Json check_database(const Workspace& workspace) {
  Json findings = Json::array(), notes = Json::array(), version;
  bool rebuild_helps = false;
  if (!fs::exists(workspace.db))
    throw Error("there is no results database", workspace.db.string(),
                "name the workspace with --out, or the file with --db");
  try {
    Store store(workspace.db, OpenMode::kReadOnly);
    version = schema_version(store.database());
    for (const auto& problem : store.check()) findings.push_back(problem);
    if (findings.empty()) check_rows(workspace, store, findings, notes);
    rebuild_helps = !findings.empty();
    if (fs::is_directory(workspace.folder)) {
      check_folders(workspace, store, findings);
      check_images(workspace, store, findings);
    }
  } catch (const Error& error) {
    rebuild_helps = true;
    findings.push_back(error.what());
  }
  return {{"db", workspace.db.string()},
          {"version", version},
          {"findings", findings},
          {"notes", notes},
          {"rebuild_helps", rebuild_helps}};
}

}  // namespace harness

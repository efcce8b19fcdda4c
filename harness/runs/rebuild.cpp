#include "harness/runs/rebuild.h"

#include <SQLiteCpp/Backup.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "harness/runs/removal.h"
#include "harness/runs/scratch_database.h"
#include "harness/runs/stored_files.h"
#include "results/store/database_diff.h"
#include "results/store/left_out.h"
#include "results/store/record_type.h"
#include "results/store/sql.h"
#include "results/store/store.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kWithoutJournal =
    "repeat the reproduce command: finished jobs are read from their event logs";

/// Beside a DB.
fs::path folder_beside(const fs::path& db) {
  return db.has_parent_path() ? db.parent_path() : fs::path(".");
}

/// Settles a DB into its one file, so that it may be renamed. A damaged one is left to what it is.
void settle_file(const fs::path& db) {
  try {
    guarded(db, [&] {
      Store store(db, OpenMode::kReadWrite);
      store.database().exec("PRAGMA wal_checkpoint(TRUNCATE)");
      store.database().exec("PRAGMA journal_mode = DELETE");
    });
  } catch (const Error& error) {
    if (error.status() == Status::kFailed) throw;
  }
}

/// A second name for a file that is about to be replaced; nothing if there is none.
std::optional<fs::path> keep_file(const fs::path& file) {
  if (!fs::exists(file)) return std::nullopt;
  const auto kept = backup_name(file, kBesideDatabase);
  std::error_code cannot;
  fs::create_hard_link(file, kept, cannot);
  if (cannot) fs::copy_file(file, kept);
  return kept;
}

/// What SQLite left beside a DB that could not be settled. A log of it must never be taken for the new DB's:
/// one that holds pages goes with the backup, which is not whole without it. An index is made from its log
/// whenever the DB is opened.
void move_logs(const fs::path& db, const fs::path& kept) {
  constexpr std::uintmax_t kLogHeader = 32;  // of a WAL; a rollback journal's is longer
  std::error_code none;
  for (const char* suffix : {"-wal", "-journal"}) {
    const fs::path log = db.string() + suffix;
    const auto size = fs::file_size(log, none);
    if (none) continue;
    if (size > kLogHeader) {
      fs::rename(log, kept.string() + suffix);
    } else {
      fs::remove(log);
    }
  }
  fs::remove(db.string() + "-shm", none);
}

/// Puts `made` in the place of `db` in one step. Gives where the old file went, if there was one.
std::optional<fs::path> take_place(const fs::path& made, const fs::path& db) {
  if (fs::exists(db)) settle_file(db);
  const auto kept = keep_file(db);
  // Logs whose file is gone belong to nothing, and are kept: they may be all that is left of it.
  move_logs(db, kept.value_or(backup_name(db, kBesideDatabase)));
  fs::rename(made, db);
  return kept;
}

Json path_or_null(const std::optional<fs::path>& path) {
  return path ? Json(path->string()) : Json();
}

/// A journal, or what can be read of a damaged one.
struct ReadJournal {
  JournalText text;
  std::optional<Error> damage;
  std::int64_t damaged_lines = 0;
};

bool is_whole_record(const Json& record) {
  try {
    require_whole_record(record);
    return true;
  } catch (const Error&) {
    return false;
  }
}

ReadJournal read_damaged_journal(const fs::path& file) {
  ReadJournal journal;
  try {
    journal.text = read_journal(file);
    std::error_code missing;
    if (journal.text.empty() && fs::file_size(file, missing) > 0 && !missing)
      journal.damage = Error("holds no complete record", file.string(), kJournalHint);
  } catch (const Error& error) {
    if (error.status() == Status::kFailed) throw;
    auto salvaged = salvage_events(file);
    const auto broken =
        std::erase_if(salvaged.events, [](const Json& record) { return !is_whole_record(record); });
    journal = {.text = {.records = std::move(salvaged.events), .marks = {}},
               .damage = error,
               .damaged_lines = salvaged.damaged_lines + static_cast<std::int64_t>(broken)};
  }
  return journal;
}

void require_folder(const Workspace& workspace) {
  if (!fs::is_directory(workspace.folder))
    throw Error("is not a folder", workspace.folder.string(), "name the workspace with --out");
}

/// Refuses a file that is no results DB before anything is written, and a newer program's. The workspace's
/// own results.sqlite may have lost its beginning.
void require_results_file(const fs::path& db) {
  if (!is_other_file(db)) return require_own_database(db);
  if (is_workspace_database(db)) return;
  throw Error("is not an SQLite database", db.string(),
              "name the results DB with --db; if this is one that is damaged, move it away first");
}

/// The DB that is to be rebuilt, as far as it can be read.
struct OldDatabase {
  std::optional<Store> store;  ///< nothing: there is none, or it cannot be read
  bool is_sound = false;       ///< file, foreign keys and evaluations are whole
};

OldDatabase open_old_database(const fs::path& db) {
  OldDatabase old;
  std::error_code missing;
  if (const auto size = fs::file_size(db, missing); missing || size == 0) return old;
  try {
    old.store.emplace(db, OpenMode::kReadWrite);
    old.is_sound = old.store->check().empty();
  } catch (const Error& error) {
    if (error.status() == Status::kFailed) throw;
    old.store.reset();
  }
  return old;
}

/// Runs of a DB that belong to other workspaces.
std::vector<StoredRun> runs_of_others(Store& store, const std::set<std::string>& own) {
  auto runs = store.runs();
  std::erase_if(runs, [&](const StoredRun& run) { return own.contains(run.id); });
  return runs;
}

Error truncated_error(const Workspace& workspace, const JournalText& journal,
                      const JournalStanding& standing) {
  return Error(fmt::format("is truncated: it holds {} bytes of the {} that the results DB knows",
                           journal.end().bytes, standing.bytes),
               workspace.journal().string(), kJournalHint);
}

void require_whole_journal(const Workspace& workspace, OldDatabase& old, const ReadJournal& journal,
                           bool force) {
  if (!journal.damage) return;
  if (old.is_sound && !old.store->own_runs(workspace.folder, journal.text).empty()) throw *journal.damage;
  if (force) return;
  throw Error(
      journal.damage->problem(), journal.damage->where(),
      "restore it from a copy; there is no intact results DB to write it from. --force makes the DB of the "
      "lines that can be read");
}

/// Refuses a DB of another workspace, and a journal that is less than the DB.
void require_fit(const Workspace& workspace, OldDatabase& old, const JournalText& journal,
                 const std::set<std::string>& own) {
  const auto standing = old.store->standing(workspace.folder, journal);
  const bool is_shared_file = !fs::equivalent(folder_beside(workspace.db), workspace.folder);
  if (standing.kind == JournalStanding::kOther && !(is_shared_file && own.empty()))
    throw other_journal_error(workspace.db, workspace.folder, standing);
  if (standing.kind == JournalStanding::kAhead) throw truncated_error(workspace, journal, standing);
  if (!old.is_sound) return;
  const auto unknown = old.store->unknown_to(journal, own);
  if (unknown.empty()) return;
  throw Error(fmt::format("does not hold {}, which the results DB has", join(unknown, ", ")),
              workspace.journal().string(), kJournalHint);
}

/// A workspace of an earlier version has no journal, and one may have been deleted: what the DB holds becomes
/// one.
JournalText journal_from(const Workspace& workspace, OldDatabase& old) {
  if (!fs::exists(workspace.db)) {
    throw Error("holds neither a journal nor a results database", workspace.folder.string(),
                has_records(workspace) ? kWithoutJournal : "name the workspace with --out");
  }
  if (!old.store)
    throw Error("has no journal, and none can be made from the DB, which cannot be read",
                workspace.folder.string(), fmt::format("move the DB away and {}", kWithoutJournal));
  old.store->write_journal(workspace.journal(), {});
  return read_journal(workspace.journal());
}

/// The rows of other workspaces as they are; those of this one are rebuilt.
void keep_others(Store& old, Store& made, const std::set<std::string>& own) {
  guarded(made.path(), [&] { SQLite::Backup(made.database(), old.database()).executeStep(); });
  for (const auto& run : own) made.forget(run);
}

void require_whole(const std::vector<std::string>& left_out, const Workspace& workspace) {
  if (left_out.empty()) return;
  throw Error(fmt::format("{} would be left out: {}", left_out.size() == 1 ? "one thing" : "some things",
                          join(left_out, "; ")),
              workspace.db.string(),
              "restore the logs from a copy, or repeat with --force to do without them", Status::kFailed);
}

bool is_writable(const fs::path& folder) {
  return ::access(folder.c_str(), W_OK) == 0;
}

/// Where a DB may be written for the time of a check.
fs::path scratch_folder(const Workspace& workspace) {
  return is_writable(workspace.folder) ? workspace.folder : fs::temp_directory_path();
}

/// What check_database finds.
struct Checked {
  std::vector<std::string> findings, notes;
  std::string hint;            ///< what mends them: that of the first finding which has one
  bool rows_compared = false;  ///< with the logs, all of them

  void add(const std::string& finding, const std::string& mends) {
    findings.push_back(finding);
    if (hint.empty()) hint = mends;
  }
  /// Throws it where another process or the disk is in the way, which is no finding.
  void add(const Error& error) {
    if (error.status() == Status::kFailed) throw error;
    add(Error(error.problem(), error.where()).what(), error.hint().empty() ? kRebuildHint : error.hint());
  }
};

/// The part of the journal that the DB is to hold; nothing where there is none to compare with.
std::optional<JournalText> journal_to_compare(const Workspace& workspace, Store& store, Checked& checked) {
  const auto blame = [&](const Error& error) {
    checked.add(error);
    return std::nullopt;
  };
  auto read = read_damaged_journal(workspace.journal());
  auto& journal = read.text;
  if (read.damage && !(journal.empty() && store.runs().empty())) return blame(*read.damage);
  if (journal.empty()) {
    // A DB of an earlier version names no journal.
    const bool names_one = store.standing(workspace.folder, journal).is_shared;
    if (names_one && !store.own_runs(workspace.folder, journal).empty())
      return blame(Error("is gone, and the DB was written with it; rows were not compared with the logs",
                         workspace.journal().string(),
                         "`harness db rebuild --journal` writes it from the results DB"));
    checked.notes.push_back(fmt::format(
        "rows were not compared with the logs: there is no {}; the next reproduce writes it from the DB, or "
        "`harness db rebuild --journal`",
        workspace.journal().string()));
    return std::nullopt;
  }
  const auto standing = store.standing(workspace.folder, journal);
  if (standing.kind == JournalStanding::kOther)
    throw other_journal_error(workspace.db, workspace.folder, standing);
  if (standing.kind == JournalStanding::kAhead) return blame(truncated_error(workspace, journal, standing));
  if (standing.kind == JournalStanding::kBehind && standing.known > 0) {
    const auto more = journal.records.size() - standing.known;
    checked.notes.push_back(fmt::format(
        "{} of {} {} not in the DB yet, since a process was stopped; the next reproduce brings {} in",
        more == 1 ? "the last record" : fmt::format("the last {} records", more),
        workspace.journal().string(), more == 1 ? "is" : "are", more == 1 ? "it" : "them"));
    journal.records.resize(standing.known);
    journal.marks.resize(standing.known);
  }
  return journal;
}

/// Keeps other commands out while rows are compared, where we may write; false if one works there.
bool keeps_others_out(const Workspace& workspace, std::optional<WorkspaceLock>& lock, Checked& checked) {
  const auto not_compared = [&](const std::string& reason) {
    checked.notes.push_back(fmt::format("rows were not compared with the logs: {}", reason));
    return false;
  };
  if (!is_writable(workspace.folder)) {
    const auto holder = WorkspaceLock::holder(workspace);
    return !holder || not_compared(fmt::format("another harness works here ({})", *holder));
  }
  try {
    lock.emplace(workspace);
  } catch (const Error& error) {
    return not_compared(error.problem());
  }
  return true;
}

void check_rows(const Workspace& workspace, Store& store, Checked& checked) {
  const auto notes_before = checked.notes.size();
  std::optional<WorkspaceLock> lock;
  if (!keeps_others_out(workspace, lock, checked)) return;
  const auto journal = journal_to_compare(workspace, store, checked);
  if (!journal) return;
  const auto own = store.own_runs(workspace.folder, *journal);
  const auto others = runs_of_others(store, own);
  const ScratchDatabase scratch(scratch_folder(workspace), ".check-", ".sqlite");
  // Closed before it is compared: on a network file system an open one keeps other connections out.
  const auto report = Store(scratch.path(), OpenMode::kReadWrite)
                          .replay(workspace.folder, *journal, {.ends = log_ends(store)});
  for (const auto& text : report.left_out) checked.add(text, kRebuildHint);
  const auto compared = others.empty() ? std::nullopt : std::optional(own);
  try {
    for (const auto& text : RowDiff(store, scratch.path()).summary("the logs", compared))
      checked.add(text, kRebuildHint);
  } catch (const Error& error) {
    checked.add(error);
  }
  if (!others.empty()) {
    checked.notes.push_back(fmt::format(
        "{} {} of other workspaces that share this DB: not compared (such as {}, folder {}); name that "
        "workspace with --out to check it",
        counted(std::ssize(others), "run"), others.size() == 1 ? "is" : "are", others.front().id,
        others.front().folder));
  }
  checked.rows_compared = checked.notes.size() == notes_before;
}

/// What to do about a run's folder without rows.
std::string advice_for(const std::string& run, const Workspace& workspace, const JournalRuns& recorded) {
  const auto& at = workspace.options;
  if (recorded.kept.contains(run))
    return fmt::format("the journal records it: `harness db rebuild{}` brings its rows back", at);
  return fmt::format("`harness import {}{}` takes it in, `harness runs rm {}{}` moves it to the trash",
                     shell_word(workspace.run_folder(run).string()), at, run, at);
}

void check_folders(const Workspace& workspace, Store& store, Checked& checked) {
  const auto recorded = runs_in_journal(workspace.journal());  // a damaged one is a finding of its own
  for (const auto& run : unknown_run_folders(store, workspace)) {
    checked.findings.push_back(fmt::format("{} is the folder of a run that the DB does not know; {}",
                                           workspace.run_folder(run).string(),
                                           advice_for(run, workspace, recorded)));
  }
}

/// Images of the runs that lie in this workspace.
void check_images(const Workspace& workspace, Store& store, Checked& checked) {
  std::int64_t left_out = 0;
  for (const auto& run : store.runs()) {
    const auto folder = workspace.run_folder(run.id);
    if (!fs::is_directory(folder)) continue;
    for (const auto& evaluation : store.evaluations(run.id)) {
      if (evaluation.state != JobState::kDone) continue;
      const auto place = folder / fs::path(evaluation.folder).filename();
      if (is_left_out(place, kImagesFolder)) {
        ++left_out;
        continue;
      }
      const auto check = check_stored_images(store, evaluation.id, place);
      if (check.holds()) continue;
      checked.findings.push_back(fmt::format(
          "{} (seed {}) at checkpoint {} on {}: {}; put the files back from a copy, or train again with "
          "--fresh",
          run.method, run.seed, evaluation.step, evaluation.split, check.text()));
    }
  }
  if (left_out > 0) checked.notes.push_back(left_out_text(kImagesFolder, left_out, "evaluation"));
}

}  // namespace

Store open_workspace(const Workspace& workspace, const std::function<void(const std::string&)>& say) {
  read_journal(workspace.journal());  // a damaged one is told before a DB is made that lacks it
  Store store(workspace.db, OpenMode::kReadWrite);
  for (const auto& text : store.keep_journal(workspace.journal())) say("note: " + text);
  return store;
}

Json rebuild_database(const Workspace& workspace, bool force) {
  require_folder(workspace);
  require_results_file(workspace.db);
  const WorkspaceLock lock(workspace);
  auto old = open_old_database(workspace.db);
  auto journal = read_damaged_journal(workspace.journal());
  require_whole_journal(workspace, old, journal, force);
  if (journal.text.empty()) journal.text = journal_from(workspace, old);
  const auto own = old.store ? old.store->own_runs(workspace.folder, journal.text) : std::set<std::string>();
  if (old.store && !journal.damage) require_fit(workspace, old, journal.text, own);
  const auto others = old.store ? runs_of_others(*old.store, own) : std::vector<StoredRun>();
  const ScratchDatabase scratch(folder_beside(workspace.db), workspace.db.filename().string() + ".new-", "");
  ReplayReport report;
  {
    Store made(scratch.path(), OpenMode::kReadWrite);
    if (!others.empty() && old.is_sound) keep_others(*old.store, made, own);
    report = made.replay(workspace.folder, journal.text);
    if (journal.damage) {
      report.left_out.push_back(fmt::format("{} of {}", counted(journal.damaged_lines, "damaged line"),
                                            workspace.journal().string()));
    }
    if (!old.is_sound) {
      for (const auto& run : others)
        report.left_out.push_back(
            fmt::format("run {} of another workspace: its folder is {}", run.id, run.folder));
    }
    for (auto& text : made.check()) report.left_out.push_back(std::move(text));
    if (!force) require_whole(report.left_out, workspace);
    old.store.reset();
    if (journal.damage) {
      keep_file(workspace.journal());
      made.write_journal(workspace.journal(), journal.text);
    } else {
      made.settle_numbers(workspace.journal(), report);
    }
  }
  const auto kept = take_place(scratch.path(), workspace.db);
  return {{"db", workspace.db.string()},
          {"kept", path_or_null(kept)},
          {"runs", report.runs},
          {"evaluations", report.evaluations},
          {"experiments", report.experiments},
          {"left_out", report.left_out}};
}

Json rebuild_journal(const Workspace& workspace) {
  require_folder(workspace);
  const WorkspaceLock lock(workspace);
  { const Store there(workspace.db, OpenMode::kReadOnly); }  // refuses a missing or empty one
  Store store(workspace.db, OpenMode::kReadWrite);
  if (const auto problems = store.check(); !problems.empty()) {
    throw Error(fmt::format("is damaged itself: {}", join(problems, "; ")), workspace.db.string(),
                kRebuildHint, Status::kFailed);
  }
  const auto journal = read_damaged_journal(workspace.journal());
  const auto standing = store.standing(workspace.folder, journal.text);
  if (!journal.damage) {
    if (standing.kind == JournalStanding::kOther)
      throw other_journal_error(workspace.db, workspace.folder, standing);
    if (standing.kind == JournalStanding::kBehind || standing.kind == JournalStanding::kStale) {
      throw Error(fmt::format("lacks what {} holds", workspace.journal().string()), workspace.db.string(),
                  "the journal is intact: `harness db rebuild` rebuilds the DB from it", Status::kFailed);
    }
  }
  const auto kept = keep_file(workspace.journal());
  try {
    store.write_journal(workspace.journal(), journal.text);
  } catch (...) {
    if (kept) fs::remove(*kept);
    throw;
  }
  return {{"journal", workspace.journal().string()}, {"kept", path_or_null(kept)}};
}

Json check_database(const Workspace& workspace) {
  require_results_file(workspace.db);
  Checked checked;
  Json version;
  std::optional<Store> store;
  try {
    store.emplace(workspace.db, OpenMode::kReadOnly);
    version = schema_version(store->database());
    for (const auto& problem : store->check()) checked.add(problem, kRebuildHint);
  } catch (const Error& error) {
    if (!fs::exists(workspace.db)) throw;  // there is nothing to check
    checked.add(error);
  }
  if (store && checked.findings.empty()) check_rows(workspace, *store, checked);
  if (store && fs::is_directory(workspace.folder)) {
    try {
      check_folders(workspace, *store, checked);
      check_images(workspace, *store, checked);
    } catch (const Error& error) {
      checked.add(error);
    }
  }
  for (auto* texts : {&checked.findings, &checked.notes}) {
    for (auto& text : *texts) text = with_place(text, workspace.options);
  }
  return {{"db", workspace.db.string()},
          {"version", version},
          {"findings", checked.findings},
          {"notes", checked.notes},
          {"rows_compared", checked.rows_compared},
          {"hint", checked.hint.empty() ? Json() : Json(with_place(checked.hint, workspace.options))}};
}

}  // namespace harness

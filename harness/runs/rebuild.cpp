#include "harness/runs/rebuild.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>

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

/// What SQLite left next to a DB that could not be settled. A log of it must never be taken for the new DB's:
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

struct ReadJournal {
  JournalText text;
  std::optional<Error> damage;
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
    journal.damage = error;
  }
  return journal;
}

/// Leaves the lines of a damaged journal that can be read; gives how many cannot.
std::int64_t drop_damaged_lines(const fs::path& file) {
  const auto salvaged = salvage_events(file);
  auto damaged = salvaged.damaged_lines;
  std::string lines;
  for (std::size_t i = 0; i < salvaged.events.size(); ++i) {
    if (is_whole_record(salvaged.events[i])) {
      lines += salvaged.lines[i];
    } else {
      ++damaged;
    }
  }
  write_file_atomically(file, lines);
  return damaged;
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

/// A journal as a DB is made of it, and what else is known of it.
struct MendedJournal {
  JournalText text;
  std::vector<std::string> notes, lost;  ///< what was restored; what is gone
  bool is_salvaged = false;              ///< of a damaged one without a copy, whose id may be gone
};

/// Reads the workspace's journal, after its copy has taken its place where it is missing, truncated or
/// damaged. Without a copy that can be read a damaged one loses its damaged lines, by `force`.
MendedJournal mended_journal(const Workspace& workspace, bool force) {
  const auto file = workspace.journal(), copy = copy_of_journal(file);
  MendedJournal mended;
  if (auto restored = restore_journal(file); !restored.empty()) mended.notes.push_back(std::move(restored));
  if (const auto read = read_damaged_journal(file); read.damage) {
    const auto copied = read_damaged_journal(copy);
    const bool is_copy_whole = !copied.damage && !copied.text.empty();
    if (!is_copy_whole && !force) {
      throw Error(
          read.damage->problem(), read.damage->where(),
          "restore it from a backup, as its copy cannot be read either; --force makes the DB of the lines "
          "that can be read");
    }
    const auto kept = keep_file(file);
    if (is_copy_whole) {
      write_file_atomically(file, read_file(copy));
      mended.notes.push_back(fmt::format("{} was damaged; it was restored from {}, and the damaged one is {}",
                                         file.string(), copy.filename().string(), kept->string()));
    } else {
      mended.is_salvaged = true;
      mended.lost.push_back(
          fmt::format("{} of {}", counted(drop_damaged_lines(file), "damaged line"), file.string()));
      fs::remove(copy);
    }
  }
  mended.text = read_journal(file);
  if (mended.text.empty())
    mended.lost.push_back(fmt::format(
        "{}: it is missing, and so is its copy; the experiments that it recorded are lost", file.string()));
  return mended;
}

/// What a sound DB holds and the journal does not.
std::vector<std::string> lost_with_journal(const Workspace& workspace, OldDatabase& old,
                                           const MendedJournal& journal) {
  if (!old.store) return {};
  const auto standing = old.store->standing(workspace.folder, journal.text);
  if (standing.is_foreign && !journal.is_salvaged) throw *standing.refusal;
  if (!old.is_sound) return {};
  auto lost = old.store->unknown_to(journal.text);
  for (auto& text : lost) text += ": the journal does not record it";
  return lost;
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
  if (can_be_restored(workspace.journal()))
    return blame(Error("is missing or has lost its end", workspace.journal().string(),
                       "`harness db rebuild` restores it from its copy, as the next reproduce does"));
  auto [journal, damage] = read_damaged_journal(workspace.journal());
  if (damage) return blame(*damage);
  const auto standing = store.standing(workspace.folder, journal);
  if (standing.is_foreign) throw *standing.refusal;
  if (standing.refusal) return blame(*standing.refusal);
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
  const ScratchDatabase scratch(scratch_folder(workspace), ".check-", ".sqlite");
  // Closed before it is compared: on a network file system an open one keeps other connections out.
  const auto report = Store(scratch.path(), OpenMode::kReadWrite)
                          .replay(workspace.folder, *journal, {.ends = log_ends(store)});
  for (const auto& text : report.left_out) checked.add(text, kRebuildHint);
  try {
    for (const auto& text : RowDiff(store, scratch.path()).summary("the logs"))
      checked.add(text, kRebuildHint);
  } catch (const Error& error) {
    checked.add(error);
  }
  checked.rows_compared = checked.notes.size() == notes_before;
}

/// What to do about a run's folder without rows.
std::string advice_for(const std::string& run, const Workspace& workspace,
                       const std::set<std::string>& recorded) {
  const auto& at = workspace.options;
  if (recorded.contains(run))
    return fmt::format("the journal records it: `harness db rebuild{}` brings its rows back", at);
  return fmt::format("`harness import {}{}` takes it in, `harness runs rm {}{}` moves it to the trash",
                     shell_word(workspace.run_folder(run).string()), at, run, at);
}

void check_folders(const Workspace& workspace, Store& store, Checked& checked) {
  const auto recorded = runs_in_journal(workspace.journal());  // a damaged one is a finding of its own
  for (const auto& run : unknown_run_folders(store, workspace)) {
    checked.findings.push_back(fmt::format("{} is the folder of a run that is not in the DB; {}",
                                           workspace.run_folder(run).string(),
                                           advice_for(run, workspace, recorded)));
  }
}

/// Images of the runs that are in this workspace.
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

Rebuilt rebuild_database(const Workspace& workspace, bool force) {
  require_folder(workspace);
  require_results_file(workspace.db);
  if (!has_records(workspace) && !fs::exists(workspace.db))
    throw Error("holds neither a journal nor a results database", workspace.folder.string(),
                "name the workspace with --out");
  const WorkspaceLock lock(workspace);
  auto old = open_old_database(workspace.db);
  auto journal = mended_journal(workspace, force);
  std::ranges::move(lost_with_journal(workspace, old, journal), std::back_inserter(journal.lost));
  const ScratchDatabase scratch(folder_of_file(workspace.db), workspace.db.filename().string() + ".new-", "");
  ReplayReport report;
  {
    Store made(scratch.path(), OpenMode::kReadWrite);
    report = made.replay(workspace.folder, journal.text);
    report.left_out.insert(report.left_out.begin(), journal.lost.begin(), journal.lost.end());
    for (auto& text : made.check()) report.left_out.push_back(std::move(text));
    if (!force) require_whole(report.left_out, workspace);
    old.store.reset();
  }
  const auto kept = take_place(scratch.path(), workspace.db);
  return {.document = {{"db", workspace.db.string()},
                       {"kept", path_or_null(kept)},
                       {"runs", report.runs},
                       {"evaluations", report.evaluations},
                       {"experiments", report.experiments},
                       {"left_out", report.left_out},
                       {"notes", journal.notes}},
          .is_journal_lost = !journal.lost.empty()};
}

Json check_database(const Workspace& workspace, bool files) {
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
  if (files && store && fs::is_directory(workspace.folder)) {
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

#include <fmt/format.h>

#include <algorithm>

#include "core/event_log.h"
#include "core/files.h"
#include "core/text.h"
#include "results/store/journal_history.h"
#include "results/store/store_impl.h"

// How a DB and the journal of a workspace are kept together (core/EVENTS.md).

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kWithoutJournalHint =
    "put it back from a copy, or let `harness db rebuild --force` make the DB of what is left: it reads the run "
    "folders again from their event logs, and keeps the old DB";

/// A journal that the DB was written with, and how far.
struct KnownJournal {
  std::string id;
  LogMark end;
};

std::vector<KnownJournal> known_journals(StatementCache& sql) {
  Query row(sql["SELECT id, bytes, checksum FROM journals ORDER BY id"]);
  std::vector<KnownJournal> known;
  while (row.step()) {
    known.push_back({.id = row.text(0),
                     .end = {.bytes = static_cast<std::uint64_t>(row.integer(1)),
                             .checksum = static_cast<std::uint32_t>(row.integer(2))}});
  }
  return known;
}

bool is_at_home(const fs::path& db, const fs::path& workspace) {
  return fs::weakly_canonical(fs::absolute(db)).parent_path() ==
         fs::weakly_canonical(fs::absolute(workspace));
}

JournalStanding refused(Error error, bool is_foreign) {
  return {.kind = JournalStanding::kRefused, .is_foreign = is_foreign, .refusal = std::move(error)};
}

/// The DB at `db` does not belong to the journal of this workspace.
JournalStanding refused_as_foreign(const fs::path& db, const fs::path& workspace, bool is_continuation) {
  const auto journal = (workspace / "journal.log").string();
  const auto place = shell_word(workspace.string());
  const auto problem =
      is_continuation
          ? fmt::format(
                "knows another continuation of {}: one of the two is a copy from another time or place",
                journal)
          : fmt::format("is the results DB of another workspace: it was never written with {}", journal);
  const auto hint =
      is_at_home(db, workspace)
          ? fmt::format(
                "put back the one that belongs here, or move this one away and run `harness db rebuild "
                "--out {}`, which rebuilds it from the logs",
                place)
          : fmt::format(
                "a DB belongs to one workspace: `harness db rebuild --out {}` makes one in this "
                "workspace, and `harness import` takes in what another workspace holds",
                place);
  return refused(Error(problem, db.string(), hint), true);
}

}  // namespace

void Store::Impl::know_journal(const std::string& id, const LogMark& end) {
  sql.run(R"sql(
    INSERT INTO journals (id, bytes, checksum) VALUES (?1, ?2, ?3)
    ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes, checksum = excluded.checksum)sql",
          id, end.bytes, end.checksum);
}

JournalStanding Store::standing(const fs::path& workspace, const JournalText& journal) {
  return impl_->guarded([&]() -> JournalStanding {
    const auto known = known_journals(impl_->sql);
    const auto ours = std::ranges::find(known, journal.id(), &KnownJournal::id);
    const auto stored = runs();
    const bool is_new =
        stored.empty() && (known.empty() || (journal.empty() && is_at_home(path(), workspace)));
    if (ours == known.end() && is_new) return {.kind = JournalStanding::kBehind};
    if (journal.empty()) {
      const auto is_here = [&](const StoredRun& run) { return fs::exists(workspace / run.id / kJobFile); };
      if (std::ranges::none_of(stored, is_here)) return refused_as_foreign(path(), workspace, false);
      return refused(Error("is missing, and so is its copy: the experiments that it recorded are lost",
                           (workspace / "journal.log").string(), kWithoutJournalHint),
                     false);
    }
    if (ours == known.end()) return refused_as_foreign(path(), workspace, false);
    if (ours->end.bytes == 0) return {.kind = JournalStanding::kBehind};  // a replay that was killed
    if (ours->end.bytes > journal.end().bytes) {
      return refused(
          Error(fmt::format("is truncated: it holds {} bytes of the {} that the results DB has read",
                            journal.end().bytes, ours->end.bytes),
                (workspace / "journal.log").string(), kWithoutJournalHint),
          false);
    }
    const auto mark = std::ranges::find(journal.marks, ours->end);
    if (mark == journal.marks.end()) return refused_as_foreign(path(), workspace, true);
    if (known.size() > 1) {
      if (const auto unknown = unknown_to(journal); !unknown.empty())
        return refused(
            Error(
                fmt::format("holds {}, which {} does not: several workspaces shared it", unknown.front(),
                            (workspace / "journal.log").string()),
                path().string(),
                fmt::format("a DB belongs to one workspace: `harness db rebuild --out {}` makes one in this "
                            "workspace",
                            shell_word(workspace.string()))),
            false);
    }
    const auto count = static_cast<std::size_t>(mark - journal.marks.begin()) + 1;
    return {.kind = count == journal.marks.size() ? JournalStanding::kSame : JournalStanding::kBehind,
            .known = count};
  });
}

std::vector<std::string> Store::unknown_to(const JournalText& journal) {
  const auto history = history_of(journal.records);
  std::vector<std::string> unknown;
  for (const auto& run : runs()) {
    if (!history.runs.contains(run.id)) unknown.push_back("run " + run.id);
  }
  return impl_->guarded([&] {
    Query row(impl_->sql["SELECT id, digest FROM reproductions"]);
    while (row.step()) {
      if (!history.experiments.contains(row.text(1)))
        unknown.push_back(fmt::format("experiment {}", row.integer(0)));
    }
    return unknown;
  });
}

std::vector<std::string> Store::keep_journal(const fs::path& file) {
  std::vector<std::string> notes;
  if (auto restored = restore_journal(file); !restored.empty()) notes.push_back(std::move(restored));
  const auto text = read_journal(file);
  const auto found = standing(file.parent_path(), text);
  if (found.refusal) throw *found.refusal;
  if (found.kind == JournalStanding::kBehind) {
    const bool is_blank = runs().empty();
    const auto report = replay(file.parent_path(), text, {.from = found.known, .without_unconfirmed = true});
    if (is_blank && report.runs > 0) {
      notes.push_back(fmt::format("{} was made from the journal and the event logs: {}, {}", path().string(),
                                  counted(report.runs, "run"), counted(report.experiments, "experiment")));
    } else if (text.records.size() - found.known > 1) {
      notes.push_back(
          fmt::format("{} lacked the last {} of {}, which were carried out", path().string(),
                      counted(std::ssize(text.records) - static_cast<std::int64_t>(found.known), "record"),
                      file.string()));
    }
    for (const auto& what : report.left_out) notes.push_back("left out: " + what);
  }
  impl_->journal = std::make_unique<Journal>(file);
  return notes;
}

}  // namespace harness

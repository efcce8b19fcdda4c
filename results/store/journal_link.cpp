#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "core/event_log.h"
#include "core/files.h"
#include "core/text.h"
#include "results/store/journal_history.h"
#include "results/store/store_impl.h"

// How a DB and the journal of a workspace are kept together (core/EVENTS.md).

namespace harness {
namespace fs = std::filesystem;
namespace {

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

/// A DB of a version before 5 does not name its journal: what both hold tells whether they belong together.
JournalStanding::Kind kind_of_unmarked(Store& store, const std::map<std::int64_t, std::string>& experiments,
                                       const JournalText& journal) {
  const auto history = history_of(journal.records);
  const auto digests = std::views::values(experiments);
  bool lacks = false, shares_experiment = false;
  for (const auto& entry : history.entries) {
    if (type_of(entry.record) != "experiment") continue;
    const bool known = std::ranges::find(digests, *entry.experiment) != digests.end();
    shares_experiment |= known;
    // One that nothing else was recorded of may have been cut off before the DB had it.
    lacks |= !known && entry.is_named_later;
  }
  const bool shares_run =
      std::ranges::any_of(history.runs, [&](const std::string& run) { return store.run(run).has_value(); });
  if (!shares_run && !shares_experiment) return JournalStanding::kOther;
  if (!lacks) return JournalStanding::kUnmarked;
  const bool has_more = std::ranges::any_of(
      digests, [&](const std::string& digest) { return !history.numbers.contains(digest); });
  return has_more ? JournalStanding::kOther : JournalStanding::kStale;
}

/// A workspace whose process was killed before the DB had anything of it.
bool holds_no_run(const JournalText& journal) {
  return std::ranges::none_of(journal.records, [](const Json& record) { return type_of(record) == "run"; });
}

/// True if a run of the journal is recorded with a folder that is not this workspace's.
bool is_recorded_elsewhere(Store& store, const fs::path& workspace, const JournalText& journal) {
  const auto history = history_of(journal.records);
  return std::ranges::any_of(history.runs, [&](const std::string& id) {
    const auto run = store.run(id);
    if (!run || !fs::exists(fs::path(run->folder) / kJobFile)) return false;
    std::error_code missing;
    return !fs::equivalent(run->folder, workspace / id, missing);
  });
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
    const auto id = journal.id();
    const auto ours = std::ranges::find(known, id, &KnownJournal::id);
    const bool is_marked = ours != known.end();
    JournalStanding standing{.is_shared = known.size() > (is_marked ? 1u : 0u)};
    if (journal.empty()) return standing;
    if (is_marked) {
      standing.bytes = ours->end.bytes;
      if (standing.bytes == 0) {  // a replay that was killed
        standing.kind = JournalStanding::kBehind;
        return standing;
      }
      const auto mark = std::ranges::find(journal.marks, ours->end);
      standing.known = static_cast<std::size_t>(mark - journal.marks.begin()) + 1;
      standing.kind = ours->end.bytes > journal.end().bytes    ? JournalStanding::kAhead
                      : mark == journal.marks.end()            ? JournalStanding::kOther
                      : standing.known == journal.marks.size() ? JournalStanding::kSame
                                                               : JournalStanding::kBehind;
      return standing;
    }
    const bool is_beginning = holds_no_run(journal);
    if (impl_->first<std::int64_t>("SELECT count(*) FROM runs") == 0 ||
        (is_beginning && standing.is_shared)) {
      standing.kind = JournalStanding::kBehind;
      return standing;
    }
    standing.kind =
        is_beginning ? JournalStanding::kUnmarked : kind_of_unmarked(*this, impl_->experiments(), journal);
    // A workspace that shared the DB before version 5 may be the second one that comes back to it.
    const bool is_back =
        standing.kind == JournalStanding::kUnmarked && !is_recorded_elsewhere(*this, workspace, journal);
    if (standing.is_shared && !is_back) standing.kind = JournalStanding::kOther;
    return standing;
  });
}

std::set<std::string> Store::own_runs(const fs::path& workspace, const JournalText& journal) {
  const auto shared = standing(workspace, journal).is_shared;
  const auto recorded = history_of(journal.records).runs;
  const auto known = impl_->guarded([&] { return known_journals(impl_->sql).size(); });
  const bool is_alone = journal.empty() ? is_at_home(path(), workspace) && known <= 1 : !shared;
  std::set<std::string> own;
  for (const auto& run : runs()) {
    const bool is_here = fs::exists(workspace / run.id / kJobFile);
    const bool is_elsewhere = !is_here && fs::exists(fs::path(run.folder) / kJobFile);
    if (is_here || (!is_elsewhere && (is_alone || recorded.contains(run.id)))) own.insert(run.id);
  }
  return own;
}

std::vector<std::string> Store::unknown_to(const JournalText& journal, const std::set<std::string>& own) {
  const auto history = history_of(journal.records);
  std::vector<std::string> unknown;
  for (const auto& run : own) {
    if (!history.runs.contains(run)) unknown.push_back("run " + run);
  }
  return impl_->guarded([&] {
    for (const auto& [number, digest] : impl_->experiments()) {
      if (!history.numbers.contains(digest) && impl_->is_of(number, own))
        unknown.push_back(fmt::format("experiment {}", number));
    }
    return unknown;
  });
}

Error other_journal_error(const fs::path& db, const fs::path& workspace, const JournalStanding& standing) {
  const auto journal = (workspace / "journal.log").string();
  const auto place = shell_word(workspace.string());
  const auto problem =
      standing.bytes > 0
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
      : standing.bytes > 0
          ? fmt::format("`harness db rebuild --out {}` makes a DB of its own in this workspace", place)
          : fmt::format(
                "name the one that belongs to {0} with --db; `harness db rebuild --out {0} --db {1}` adds "
                "this workspace to a DB that several share",
                place, shell_word(db.string()));
  return Error(problem, db.string(), hint);
}

std::vector<std::string> Store::keep_journal(const fs::path& file) {
  const auto workspace = file.parent_path();
  const auto text = read_journal(file);
  const auto found = standing(workspace, text);
  std::vector<std::string> notes;
  switch (found.kind) {
    case JournalStanding::kNew:
      if (!own_runs(workspace, text).empty()) {
        write_journal(file, text);
        notes.push_back(fmt::format("{} held nothing, and was written from the results DB", file.string()));
      }
      break;
    case JournalStanding::kBehind: {
      const bool is_blank = runs().empty();
      const auto report = replay(workspace, text, {.from = found.known, .without_unconfirmed = true});
      if (is_blank && report.runs > 0) {
        notes.push_back(fmt::format("{} was made from the journal and the event logs: {}, {}",
                                    path().string(), counted(report.runs, "run"),
                                    counted(report.experiments, "experiment")));
      } else if (text.records.size() - found.known > 1) {
        notes.push_back(
            fmt::format("{} lacked the last {} of {}, which were carried out", path().string(),
                        counted(std::ssize(text.records) - static_cast<std::int64_t>(found.known), "record"),
                        file.string()));
      }
      for (const auto& what : report.left_out) notes.push_back("left out: " + what);
      settle_numbers(file, report);
      break;
    }
    case JournalStanding::kAhead:
    case JournalStanding::kUnmarked: {
      Journal journal(file);
      const auto own = own_runs(workspace, text);
      impl_->guarded([&] { impl_->export_into(*this, journal, own, history_of(text.records).runs); });
      impl_->write([&] { impl_->know_journal(journal.id(), journal.end()); });
      if (found.kind == JournalStanding::kAhead)
        notes.push_back(
            fmt::format("{} was truncated; its end was written from the results DB", file.string()));
      break;
    }
    case JournalStanding::kStale:
      throw Error(
          fmt::format("lacks experiments that {} holds", file.string()), path().string(),
          fmt::format("`harness db rebuild --out {}{}` rebuilds it from the journal and the event logs",
                      shell_word(workspace.string()),
                      is_at_home(path(), workspace) ? "" : " --db " + shell_word(path().string())));
    case JournalStanding::kOther:
      throw other_journal_error(path(), workspace, found);
    case JournalStanding::kSame:
      break;
  }
  impl_->journal = std::make_unique<Journal>(file);
  return notes;
}

void Store::settle_numbers(const fs::path& file, const ReplayReport& report) {
  if (report.numbers.empty()) return;
  Journal journal(file);
  for (const auto& [number, digest] : report.numbers)
    journal.append(journal_number(number, digest), utc_now());
  impl_->write([&] { impl_->know_journal(journal.id(), journal.end()); });
}

/// The id of a whole journal that lies there.
static std::optional<std::string> left_journal(const fs::path& file) {
  try {
    const auto text = read_journal(file);
    if (!text.empty()) return text.id();
  } catch (const Error&) {  // cut off before the DB knew it
  }
  return std::nullopt;
}

void Store::write_journal(const fs::path& file, const JournalText& before) {
  const auto own = own_runs(file.parent_path(), before);
  if (own.empty()) {
    throw Error(fmt::format("holds no run of {}, so that no journal can be made from it",
                            file.parent_path().string()),
                path().string(), "name this workspace with --out and its DB with --db");
  }
  const auto aside = fs::path(file.string() + ".tmp");
  if (const auto left = left_journal(aside))  // the DB knows what a killed call had made
    impl_->write([&] { impl_->sql.run("DELETE FROM journals WHERE id = ?1", *left); });
  fs::remove(aside);
  std::string id;
  {
    Journal journal(aside);
    impl_->guarded([&] { impl_->export_into(*this, journal, own, {}); });
    id = journal.id();
    // The DB knows the new one before it takes its place.
    impl_->write([&] { impl_->know_journal(id, journal.end()); });
  }
  fs::rename(aside, file);
  const auto known = impl_->guarded([&] { return known_journals(impl_->sql).size(); });
  const bool only_other = known == 2 && is_at_home(path(), file.parent_path());
  impl_->write([&] {
    impl_->sql.run("DELETE FROM journals WHERE id <> ?1 AND (?2 OR id = ?3)", id, only_other, before.id());
  });
}

}  // namespace harness

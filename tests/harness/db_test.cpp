#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <set>

#include "core/event_log.h"
#include "results/store/journal.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using DbRebuild = SmokeTest;
using DbCheck = SmokeTest;
using CheckedDb = MadeTest;
using RebuiltDb = MadeTest;
using DbAndJournal = MadeTest;
using DbElsewhere = SmokeTest;
using DamagedJournal = MadeTest;
using LogThatIsGone = SmokeTest;
using DeletedRows = MadeTest;
using ClockSetBack = MadeTest;
using Leftovers = MadeTest;

/// Every statement of the schema and every cell of every table, in the order in which the file holds them.
std::string dump(const fs::path& file) {
  SQLite::Database db(file.string(), SQLite::OPEN_READONLY);
  std::string text = db.execAndGet("PRAGMA user_version").getString() + "\n";
  std::vector<std::string> tables;
  SQLite::Statement schema(db, "SELECT name, type, sql FROM sqlite_schema ORDER BY name");
  while (schema.executeStep()) {
    text += schema.getColumn(2).getString() + "\n";
    if (schema.getColumn(1).getString() == "table") tables.push_back(schema.getColumn(0).getString());
  }
  for (const auto& table : tables) {
    SQLite::Statement rows(db, "SELECT * FROM \"" + table + "\"");
    while (rows.executeStep()) {
      text += table;
      for (int i = 0; i < rows.getColumnCount(); ++i) {
        text += '|';
        text += rows.isColumnNull(i) ? "NULL" : rows.getColumn(i).getString();
      }
      text += "\n";
    }
  }
  return text;
}

void change(const fs::path& file, const std::string& sql) {
  SQLite::Database db(file.string(), SQLite::OPEN_READWRITE);
  EXPECT_GT(db.exec(sql), 0) << sql;
}

void overwrite(const fs::path& from, const fs::path& to) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
}

// All of it: ids, times and texts too.
TEST_F(RebuiltDb, MakesADbWhoseDumpIsThatOfTheOriginal) {
  ok(smoke({"--methods", "ratio-norm,dual", "--set", "dual.beta_max=5"}));
  ok(kSmoke);  // shown again, so that it is the last
  const auto before = dump(db);
  ok({"db", "rebuild"}, {"2 experiments, from the logs", "results.sqlite.bak-1"});
  EXPECT_EQ(dump(db), before);
  EXPECT_EQ(dump(runs / "results.sqlite.bak-1"), before);
  EXPECT_EQ(place.json({"db", "rebuild", "--json"}).at("kept"), "runs/results.sqlite.bak-2");
  // Nothing is to be done again.
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  ok(kSmoke);
}

TEST_F(RebuiltDb, WithoutTheDbMakesTheSameOneFromTheLogsAlone) {
  const auto before = dump(db);
  fs::remove(db);
  const auto made = place.json({"db", "rebuild", "--json"});
  EXPECT_TRUE(made.at("kept").is_null());
  EXPECT_EQ(made.at("runs"), 4);
  EXPECT_EQ(dump(db), before);
  ok({"db", "rebuild"}, {": 4 runs, ", " finished evaluations, 1 experiment, from the logs"});
}

TEST_F(DbRebuild, AfterAnInterruptionAndWithTwoWorkersSaysTheSame) {
  place.end(place.start_busy(smoke({"--jobs", "2"}), "evaluate"), SIGKILL);
  ok(smoke({"--jobs", "2"}));
  const auto table = place.run({"table", "sd35-ocr"}).out;
  const auto rows = place.metric_rows();
  expect_sound();
  ok({"db", "rebuild"});
  expect_sound();
  EXPECT_EQ(place.run({"table", "sd35-ocr"}).out, table);
  EXPECT_EQ(place.metric_rows(), rows);
}

TEST_F(RebuiltDb, WhatFreshOrRmTookAwayStaysAway) {
  ok(smoke({"--methods", "ratio-norm", "--fresh", "--force", "--yes"}));
  const auto experiments = place.run({"list", "experiments"}).out;
  const auto listed = place.run({"list", "runs"}).out;
  ok({"db", "rebuild"});
  EXPECT_EQ(place.run({"list", "experiments"}).out, experiments);
  EXPECT_EQ(place.run({"list", "runs"}).out, listed);
  // Numbers of experiments are never given twice, also across a rebuild.
  ok(smoke({"--methods", "dual", "--fresh", "--force", "--yes"}));
  EXPECT_EQ(place.json({"list", "experiments", "--json"}).at(0).at("name"), "3");
}

TEST_F(DbRebuild, AFailedJobIsFailedAgainWithItsReason) {
  place.environment["HARNESS_FAKE_MODE"] = "crash";
  fails(1, kSmoke);
  const auto failures = [&] { return place.csv("SELECT id, state, failure FROM jobs ORDER BY id"); };
  const auto before = failures();
  EXPECT_THAT(before, HasSubstr("failed"));
  ok({"db", "rebuild"});
  EXPECT_EQ(failures(), before);
}

TEST_F(RebuiltDb, ADamagedLogIsNamedAndLeftOutOnlyByForce) {
  const auto before = dump(db);
  fs::path log;
  for (const auto& entry : fs::recursive_directory_iterator(runs)) {
    if (entry.path().filename() == "events.log" &&
        entry.path().string().find("eval-test") != std::string::npos)
      log = entry.path();
  }
  damage(log);
  fails(1, {"db", "rebuild"}, {"wrong checksum"});
  EXPECT_EQ(dump(db), before);
  EXPECT_FALSE(fs::exists(runs / "results.sqlite.bak-1"));
  ok({"db", "rebuild", "--force"}, {"0 experiments"}, {"left out: experiment 1"});
}

TEST_F(DbRebuild, AWorkspaceThatIsInUseIsLeftAlone) {
  const auto busy = place.start_busy(kSmoke, "evaluate");
  fails(1, {"db", "rebuild"}, {"pid " + std::to_string(busy.program)});
  place.end(busy, SIGTERM);
  fails(2, {"db", "rebuild", "--out", "nowhere"});
}

TEST_F(CheckedDb, ASoundDbIsStatus0AndEveryKindOfDamageAFinding) {
  ok({"db", "check"}, {"every row as in the logs"});
  fs::copy_file(db, place.folder() / "copy");
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"UPDATE metrics SET value = 0.987 WHERE (name = 'cer' AND value IS NOT NULL "
       "AND prompt_id = (SELECT max(prompt_id) FROM metrics))",
       "only in the DB, such as"},
      {"PRAGMA foreign_keys = OFF; DELETE FROM checkpoints WHERE step > 0", "points at a missing row"},
      {"DELETE FROM metrics; DELETE FROM samples", "images"},
      {"UPDATE train_stats SET value = value + 1 WHERE name = 'reward_mean'", "train_stats"},
      {"DELETE FROM reproduction_evaluations "
       "WHERE evaluation_id = (SELECT max(evaluation_id) FROM reproduction_evaluations)",
       "reproduction_evaluations: 1 row is only in"},
      {"UPDATE metrics SET value = value; DROP TABLE alarms", "alarms: the DB has no such table"}};
  for (const auto& [sql, said] : changes) {
    SCOPED_TRACE(sql);
    change(db, sql);
    fails(1, {"db", "check"}, {}, {said});
    overwrite(place.folder() / "copy", db);
  }
  expect_sound();
  const auto document = place.json({"db", "check", "--json"});
  EXPECT_EQ(document.at("findings"), Json::array());
  for (const auto& entry : fs::directory_iterator(runs))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".check"))) << "nothing is left behind";
}

TEST_F(CheckedDb, AFileThatIsNoLongerADbIsAFinding) {
  auto bytes = read_file(db);
  std::fill(bytes.begin() + 4096, bytes.begin() + 40960, '\xff');
  write_file_atomically(db, bytes);
  fails(1, {"db", "check"});
  ok({"db", "rebuild"});
  expect_sound();
}

/// Names in runs/ that begin with that of the DB.
std::set<std::string> database_files(Workplace& place) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(place.folder() / "runs")) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("results.sqlite")) names.insert(name);
  }
  return names;
}

TEST_F(RebuiltDb, ABackupIsOneFileWithWhatAKilledProcessLeftInTheLog) {
  const auto rows = place.metric_rows();
  const pid_t child = ::fork();
  if (child == 0) {
    SQLite::Database killed(db.string(), SQLite::OPEN_READWRITE);
    killed.exec("UPDATE metrics SET value = 0.987 WHERE name = 'cer' AND value IS NOT NULL");
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  ASSERT_GT(fs::file_size(db.string() + "-wal"), 0U);
  ok({"db", "rebuild"});
  EXPECT_EQ(database_files(place), (std::set<std::string>{"results.sqlite", "results.sqlite.bak-1"}));
  SQLite::Database kept(db.string() + ".bak-1", SQLite::OPEN_READONLY);
  EXPECT_GT(kept.execAndGet("SELECT count(*) FROM metrics WHERE value = 0.987").getInt(), 0);
  EXPECT_EQ(place.metric_rows(), rows);
}

TEST_F(RebuiltDb, TheLogOfADamagedDbGoesWithTheBackupAndWhatHoldsNothingGoesAway) {
  const auto rows = place.metric_rows();
  auto bytes = read_file(db);
  std::fill(bytes.begin(), bytes.begin() + 100, '\xff');
  const std::string pages(5000, 'w');
  for (const auto& log : {pages, std::string()}) {
    write_file_atomically(db, bytes);
    write_file_atomically(db.string() + "-wal", log);
    write_file_atomically(db.string() + "-shm", std::string(32768, '\0'));
    ok({"db", "rebuild"});
  }
  EXPECT_EQ(database_files(place),
            (std::set<std::string>{"results.sqlite", "results.sqlite.bak-1", "results.sqlite.bak-1-wal",
                                   "results.sqlite.bak-2"}));
  EXPECT_EQ(read_file(db.string() + ".bak-1-wal"), pages);
  EXPECT_EQ(read_file(db.string() + ".bak-2"), bytes);
  EXPECT_EQ(place.metric_rows(), rows);
}

TEST_F(RebuiltDb, ABackupTakesNoNameThatAnotherOnesLogWouldJoin) {
  write_file_atomically(runs / "results.sqlite.bak-1-wal", "of a backup that was deleted");
  EXPECT_EQ(place.json({"db", "rebuild", "--json"}).at("kept"), "runs/results.sqlite.bak-2");
}

TEST_F(RebuiltDb, AFileThatIsNoResultsDbIsRefusedByNameAndStaysAsItIs) {
  SQLite::Database(place.folder() / "albums.sqlite", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE albums (title TEXT)");
  place.write_text("notes.txt", "my notes");
  fs::copy(place.folder() / "notes.txt", runs / "notes.txt");
  struct Case {
    std::string file;
    const char* said;
  };
  const std::vector<Case> cases = {{"notes.txt", "notes.txt: is not an SQLite database"},
                                   {"runs/notes.txt", "runs/notes.txt: is not an SQLite database"},
                                   {"albums.sqlite", "albums.sqlite: is a database of another program"}};
  for (const auto& [file, said] : cases) {
    const auto before = read_file(place.folder() / file);
    for (const char* command : {"rebuild", "check"}) {
      for (const bool with_out : {false, true}) {
        const auto where = with_out ? Words{"--out", "runs"} : Words();
        const auto refused = fails(2, with({"db", command, "--db", file}, where), {said});
        EXPECT_THAT(refused.err, Not(HasSubstr("db rebuild"))) << "which would refuse it again";
      }
    }
    EXPECT_EQ(read_file(place.folder() / file), before);
  }
  EXPECT_FALSE(fs::exists(place.folder() / ".lock"));
  EXPECT_FALSE(fs::exists(place.folder() / "notes.txt.bak-1"));
}

TEST_F(DbCheck, FindingsAreTheAnswerAndStandardErrorHasOneLineOfSummaryAndHint) {
  ok(smoke({"--methods", "ratio-norm"}));
  const auto whole = read_file(db), records = read_file(journal);
  auto damaged = whole;
  std::fill(damaged.begin() + 100, damaged.begin() + 40960, '\xff');
  struct Case {
    fs::path file;
    std::string bytes;
    const char *finding, *hint;
  };
  for (const auto& [file, bytes, finding, hint] :
       {Case{db, damaged, "is damaged", "`harness db rebuild`"},
        Case{journal, records.substr(0, records.size() / 2), "", "`harness db rebuild`"}}) {
    write_file_atomically(db, whole);
    write_file_atomically(journal, records);
    write_file_atomically(file, bytes);
    const auto checked = fails(1, {"db", "check"}, {}, {file.filename().string() + ": " + finding});
    EXPECT_THAT(checked.out, Not(HasSubstr("db rebuild"))) << "the hint comes once";
    EXPECT_EQ(std::ranges::count(checked.err, '\n'), 1) << checked.err;
    EXPECT_THAT(checked.err, HasSubstr("results.sqlite: 1 finding; " + std::string(hint)));
    const auto as_json = fails(1, {"db", "check", "--json"});
    EXPECT_EQ(as_json.err, "");
    const auto document = parse_json(as_json.out, "stdout");
    EXPECT_EQ(document.at("findings").at(0).get<std::string>() + "\n", checked.out);
    EXPECT_THAT(document.at("hint").get<std::string>(), HasSubstr(hint));
  }
}

TEST_F(DbCheck, ComparesRowsInAFolderThatNobodyMayWrite) {
  if (shell("unshare -m mount -t tmpfs none /mnt 2>&1").status != 0)
    GTEST_SKIP() << "needs the right to mount (unshare -m)";
  ok(smoke({"--methods", "ratio-norm"}));
  const auto checked = [&] {
    return shell(
        "unshare -m sh -c 'mount --bind runs runs && mount -o remount,bind,ro runs && exec " HARNESS_BINARY_DIR
        "/harness db check' 2>&1",
        {.folder = place.folder(), .environment = place.environment});
  };
  const auto sound = checked();
  EXPECT_EQ(sound.status, 0) << sound.out;
  EXPECT_THAT(sound.out, HasSubstr("every row as in the logs"));
  place.sql("UPDATE metrics SET value = value + 1 WHERE name = 'ocr_reward'");
  const auto changed = checked();
  EXPECT_EQ(changed.status, 1) << changed.out;
  EXPECT_THAT(changed.out, HasSubstr("metrics"));
}

std::set<std::string> experiments(Workplace& place, const Words& where = {}) {
  std::set<std::string> names;
  for (const auto& experiment : place.json(with({"list", "experiments", "--json"}, where)))
    names.insert(experiment.at("name").get<std::string>() + " " + experiment.at("methods").dump() + " " +
                 experiment.at("seeds").dump());
  return names;
}

TEST_F(DbAndJournal, ADbThatIsGoneOrEmptyIsMadeFromTheLogsBeforeReproduceGoesOn) {
  ok(smoke({"--methods", "ratio-norm,dual", "--set", "dual.beta_max=5"}));
  const auto before = experiments(place);
  ASSERT_EQ(before.size(), 2U);
  for (const bool is_empty : {false, true}) {
    fs::remove(db);
    if (is_empty) write_file_atomically(db, "");
    ok(kSmoke, {}, {"was made from the journal and the event logs"});
    EXPECT_EQ(experiments(place), before);
    expect_sound();
    ok({"db", "rebuild"});
  }
  fs::remove(db);
  const auto run = place.run({"runs", "rm", "0000", "--yes"});
  EXPECT_THAT(run.err, HasSubstr("there is no run")) << "the DB was made first";
  EXPECT_EQ(experiments(place), before);
}

TEST_F(DbAndJournal, ADamagedDbSaysThatRebuildMendsItAndReadersOfAMissingOneToo) {
  auto bytes = read_file(db);
  std::fill(bytes.begin() + 100, bytes.begin() + 40960, '\xff');
  write_file_atomically(db, bytes);
  const auto refused = fails(2, kSmoke, {"`harness db rebuild`"});
  EXPECT_THAT(refused.err, Not(HasSubstr("move it away")));
  fs::remove(db);
  EXPECT_THAT(place.run({"table"}).err, HasSubstr("`harness db rebuild`"));
}

TEST_F(DbAndJournal, TheDbOfAnotherWorkspaceIsRefusedByWhateverWrites) {
  ok(smoke({"--out", "other", "--seeds", "43"}));
  ok(smoke({"--out", "same"}));
  const auto records = read_file(journal);
  const auto expect_refused = [&] {
    for (const auto& command : std::vector<Words>{kSmoke,
                                                  {"db", "check"},
                                                  {"db", "rebuild"},
                                                  {"db", "rebuild", "--force"},
                                                  {"runs", "rm", "0", "--yes"}}) {
      fails(2, command, {"is the results DB of another workspace", "`harness db rebuild --out runs`"});
    }
    EXPECT_EQ(read_file(journal), records);
  };
  overwrite(place.folder() / "other/results.sqlite", db);
  expect_refused();
  overwrite(place.folder() / "same/results.sqlite", db);
  expect_refused();
  fs::remove(db);
  ok({"db", "rebuild"});
  expect_sound();
}

TEST_F(DbAndJournal, MovedAndCopiedWorkspacesGoOnEachByItself) {
  fs::rename(runs, place.folder() / "moved");
  ok(smoke({"--out", "moved"}));
  expect_sound({"--out", "moved"});
  fs::copy(place.folder() / "moved", place.folder() / "copy", fs::copy_options::recursive);
  ok(smoke({"--out", "copy", "--methods", "ratio-norm"}));
  ok(smoke({"--out", "moved", "--methods", "dual"}));
  for (const char* folder : {"moved", "copy"}) expect_sound({"--out", folder});
  // An older state of the DB catches up with the journal.
  overwrite(place.folder() / "moved/results.sqlite", place.folder() / "older");
  ok(smoke({"--out", "moved", "--methods", "ratio-norm,dual"}));
  const auto now = experiments(place, {"--db", "moved/results.sqlite"});
  overwrite(place.folder() / "older", place.folder() / "moved/results.sqlite");
  ok(smoke({"--out", "moved"}), {}, {"lacked the last"});
  EXPECT_EQ(experiments(place, {"--db", "moved/results.sqlite"}), now);
  expect_sound({"--out", "moved"});
}

TEST_F(DbElsewhere, IsThatOfItsWorkspace) {
  ok(smoke({"--out", "runs", "--db", "elsewhere/a.sqlite"}));
  ok(smoke({"--out", "runs", "--db", "elsewhere/a.sqlite", "--methods", "dual"}));
  expect_sound({"--out", "runs", "--db", "elsewhere/a.sqlite"});
  ok(kSmoke);  // a second one, made from the journal
  expect_sound();
}

TEST_F(DbElsewhere, OfSeveralWorkspacesIsRefusedAndEachMakesOneOfItsOwn) {
  ok(smoke({"--out", "a", "--db", "shared.sqlite"}));
  ok(smoke({"--out", "b", "--seeds", "43"}));
  {
    // What former versions let two workspaces write.
    SQLite::Database shared((place.folder() / "shared.sqlite").string(), SQLite::OPEN_READWRITE);
    shared.exec("ATTACH '" + (place.folder() / "b/results.sqlite").string() + "' AS b");
    shared.exec("INSERT INTO runs SELECT * FROM b.runs WHERE seed = 43");
    shared.exec("INSERT INTO journals SELECT * FROM b.journals");
  }
  for (const char* folder : {"a", "b"}) {
    const Words where = {"--out", folder, "--db", "shared.sqlite"};
    fails(2, with(smoke({"--seeds", folder[0] == 'a' ? "42" : "43"}), where),
          {"several workspaces shared it", fmt::format("`harness db rebuild --out {}`", folder)});
    ok({"db", "rebuild", "--out", folder});
    expect_sound({"--out", folder});
  }
}

TEST_F(DamagedJournal, IsRestoredFromItsCopyByRebuildAndEveryHintSaysSo) {
  ok(smoke({"--methods", "ratio-norm"}));
  const auto before = experiments(place);
  const auto rows = place.metric_rows();
  damage(journal);
  const auto damaged = read_file(journal);
  for (const auto& command : std::vector<Words>{kSmoke, {"runs", "rm", "0", "--yes"}}) {
    fails(2, command, {"wrong checksum", "`harness db rebuild`"});
  }
  fails(1, {"db", "check"}, {"`harness db rebuild`"});
  ok({"db", "rebuild"}, {}, {"journal.log was damaged; it was restored from journal.log.copy"});
  EXPECT_EQ(read_file(runs / "journal.log.bak-1"), damaged);
  expect_sound();
  ok(kSmoke);
  expect_sound();
  EXPECT_EQ(experiments(place), before);
  EXPECT_EQ(place.metric_rows(), rows);
}

TEST_F(DamagedJournal, WhoseCopyIsDamagedTooGivesWhatCanBeReadByForce) {
  const auto copy = copy_of_journal(journal);
  auto damaged = read_file(journal);
  damaged[damaged.size() - 20] ^= 1;  // an artifact
  for (const bool has_db : {true, false}) {
    write_file_atomically(journal, damaged);
    write_file_atomically(copy, damaged);
    if (!has_db) fs::remove(db);
    fails(2, kSmoke);
    EXPECT_EQ(fs::exists(db), has_db) << "an empty one would be taken for the record";
    EXPECT_THAT(place.run({"db", "rebuild"}).err, HasSubstr("--force"));
    ok({"db", "rebuild", "--force"}, {}, {"1 damaged line"});
    EXPECT_EQ(read_file(runs / "journal.log.bak-1"), damaged);
    ok(kSmoke);
    expect_sound();
  }
}

TEST_F(DamagedJournal, ThatIsDeletedOrLostItsEndGetsItBackFromItsCopy) {
  ok(smoke({"--seeds", "43"}));
  const auto before = experiments(place);
  const auto whole = read_file(journal), dumped = dump(db);
  const auto last_line = whole.rfind('\n', whole.size() - 2) + 1;
  for (const auto kept : {std::size_t{0}, whole.size() / 20, last_line, whole.size() - 10}) {
    for (const bool by_reproduce : {true, false}) {
      SCOPED_TRACE(kept);
      if (kept == 0) {
        fs::remove(journal);
      } else {
        write_file_atomically(journal, whole.substr(0, kept));
      }
      fails(1, {"db", "check"}, {"`harness db rebuild`"}, {"journal.log: is missing or has lost its end"});
      ok(by_reproduce ? smoke({"--seeds", "43"}) : Words{"db", "rebuild"}, {},
         {"it was restored from journal.log.copy"});
      EXPECT_EQ(read_file(journal), whole);
      EXPECT_EQ(dump(db), dumped);
      EXPECT_EQ(experiments(place), before);
      expect_sound();
    }
  }
}

TEST_F(DamagedJournal, TruncatedLikeItsCopyMakesNoSmallerDbUnlessForced) {
  const auto copy = copy_of_journal(journal);
  ok(smoke({"--seeds", "43"}));
  const auto dumped = dump(db);
  const auto whole = read_file(journal);
  // Before the second experiment is recorded.
  const auto part = whole.substr(0, whole.rfind('\n', whole.rfind("\"type\":\"experiment\"")) + 1);
  for (const auto& file : {journal, copy}) write_file_atomically(file, part);
  fails(2, kSmoke, {"is truncated", "`harness db rebuild --force`"});
  fails(1, {"db", "check"}, {}, {"is truncated"});
  fails(1, {"db", "rebuild"}, {"experiment 2: the journal does not record it", "--force"});
  EXPECT_EQ(dump(db), dumped);
  ok({"db", "rebuild", "--force"}, {"1 experiment, from the logs"}, {"left out: experiment 2"});
  expect_sound();
  ok(smoke({"--seeds", "43"}));
  EXPECT_EQ(experiments(place).size(), 2U);
  expect_sound();
}

TEST_F(DamagedJournal, LostWithItsCopyLosesTheExperimentsAndRunsComeBackFromTheirLogs) {
  const auto copy = copy_of_journal(journal);
  const auto rows = place.metric_rows();
  for (const bool has_db : {true, false}) {
    for (const auto& file : {journal, copy}) fs::remove(file);
    if (has_db) {
      fails(2, kSmoke,
            {"journal.log: is missing, and so is its copy: the experiments that it recorded are lost",
             "`harness db rebuild --force`"});
      fails(1, {"db", "check"}, {}, {"journal.log: is missing, and so is its copy"});
    } else {
      fs::remove(db);
    }
    fails(1, {"db", "rebuild"}, {"--force"});
    const auto made = place.run({"db", "rebuild", "--force"});
    EXPECT_EQ(made.status, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr(": 4 runs, "));
    EXPECT_THAT(made.out, HasSubstr("0 experiments, from the logs"));
    EXPECT_THAT(made.err,
                HasSubstr("it is missing, and so is its copy; the experiments that it recorded are lost"));
    EXPECT_THAT(made.err, Not(HasSubstr("left out: run "))) << "they were taken in";
    expect_sound();
    EXPECT_EQ(experiments(place).size(), 0U);
    // Nothing is trained again; tests wait for the table's selection.
    ok(kSmoke);
    EXPECT_EQ(place.metric_rows(), rows);
    expect_sound();
  }
}

TEST_F(LogThatIsGone, OfAJobThatWasBegunSaysWhatMendsItAndThatDoes) {
  for (const bool is_cut : {false, true}) {
    begin_anew();
    place.environment["HARNESS_FAKE_STALL"] = "16";  // by then it has told the program to read its log
    const auto pid = place.start(kSmoke);
    std::string folder;
    ASSERT_TRUE(wait_until([&] {
      try {
        SQLite::Database reader(db.string(), SQLite::OPEN_READONLY, 2000);
        SQLite::Statement begun(reader,
                                "SELECT folder FROM jobs WHERE state = 'running' AND log_offset > 2000");
        if (begun.executeStep()) folder = begun.getColumn(0).getString();
      } catch (const SQLite::Exception&) {
        // The DB is being made.
      }
      return !folder.empty();
    }));
    ::kill(pid, SIGKILL);
    place.wait(pid);
    place.environment.erase("HARNESS_FAKE_STALL");
    const auto log = place.folder() / folder / "events.log";
    ASSERT_TRUE(wait_until([&] { return !event_log_is_held(log); }));
    if (is_cut) {
      const auto bytes = read_file(log);
      write_file_atomically(log, bytes.substr(0, bytes.find('\n') + 1));
    } else {
      fs::remove_all(log.parent_path());
    }
    fails(1, kSmoke, {is_cut ? "is shorter than what was read of it" : "is gone", "`harness db rebuild`"});
    ok({"db", "rebuild"});
    ok(kSmoke);
    expect_sound();
  }
}

TEST_F(DeletedRows, AreNoticedBeforeATableIsMadeOfTheRest) {
  const auto table = place.run({"table"}).out;
  overwrite(db, place.folder() / "sound");
  for (const char* sql :
       {"DELETE FROM metrics WHERE prompt_id % 7 = 0", "DELETE FROM metrics WHERE name = 'cer'",
        "DELETE FROM metrics WHERE prompt_id % 7 = 0; DELETE FROM samples WHERE prompt_id % 7 = 0"}) {
    overwrite(place.folder() / "sound", db);
    change(db, sql);
    for (const auto& command : std::vector<Words>{kSmoke, {"verify", "--all"}}) {
      fails(1, command, {"rows were deleted", "`harness db rebuild`"});
    }
  }
  ok({"db", "rebuild"});
  ok(kSmoke);
  EXPECT_EQ(place.run({"table"}).out, table);
}

TEST_F(ClockSetBack, ChangesNothingAboutWhichExperimentIsTheLast) {
  // As if the first had been recorded while the clock was ahead.
  change(db, "UPDATE reproductions SET finished = '2100-01-01T00:00:00.000Z'");
  ok(smoke({"--methods", "ratio-norm"}));
  EXPECT_THAT(place.run({"table", "sd35-ocr"}).err, HasSubstr("experiment 2:"));
  const auto query =
      place.run({"query", "by-prompt", "-p", "baseline", "base", "-p", "method", "ratio-norm"});
  EXPECT_THAT(query.err, HasSubstr("experiment 2:"));
  change(db, "UPDATE reproductions SET finished = '2100-01-01T00:00:00.000Z' WHERE id = 2");
  ok(kSmoke);
  EXPECT_THAT(place.run({"table", "sd35-ocr"}).err, HasSubstr("experiment 1:")) << "asked for last";
}

/// The id of a process that has ended.
pid_t ended_process() {
  Process process({"true"});
  process.wait();
  return process.pid();
}

TEST_F(Leftovers, OfKilledRebuildsAndChecksGoWithTheNextOne) {
  const auto dead = std::to_string(ended_process()), living = std::to_string(::getpid());
  for (const auto& pid : {dead, living}) {
    for (const auto* suffix : {"", "-wal", "-shm", "-journal"}) {
      write_file_atomically(runs / ("results.sqlite.new-" + pid + suffix), "x");
      write_file_atomically(runs / (".check-" + pid + ".sqlite" + suffix), "x");
    }
  }
  expect_sound();
  ok({"db", "rebuild"});
  int left = 0;
  for (const auto& entry : fs::directory_iterator(runs)) {
    const auto name = entry.path().filename().string();
    EXPECT_THAT(name, Not(HasSubstr("-" + dead)));
    left += name.find("-" + living) != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(left, 8) << "those of a process that is at work";
}

TEST_F(CheckedDb, AFullDiskIsNoFindingAboutTheDb) {
  place.environment["LD_PRELOAD"] = HARNESS_BINARY_DIR "/tests/libharness-faulty-disk.so";
  place.environment["HARNESS_DISK_PATH"] = "runs/.check";
  place.environment["HARNESS_DISK_FAIL"] = "write";
  place.environment["HARNESS_DISK_FROM"] = "1";
  const auto outcome = fails(1, {"db", "check"}, {"the disk is full; free some space"});
  EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("db rebuild")));
  place.environment.erase("LD_PRELOAD");
  expect_sound();
}

}  // namespace
}  // namespace harness::test

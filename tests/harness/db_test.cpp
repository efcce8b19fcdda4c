#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "core/event_log.h"
#include "results/store/journal.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kSmoke = {"reproduce", "--table", "sd35-ocr", "--scale", "smoke"};

std::vector<std::string> smoke(const std::vector<std::string>& more) {
  auto arguments = kSmoke;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

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

// All of it: ids, times and texts too.
TEST(DbRebuild, MakesADbWhoseDumpIsThatOfTheOriginal) {
  Workplace place;
  const auto db = place.folder() / "runs/results.sqlite";
  ASSERT_EQ(place.run(kSmoke).status, 0);
  ASSERT_EQ(place.run(smoke({"--methods", "ratio-norm,dual", "--set", "dual.beta_max=5"})).status, 0);
  ASSERT_EQ(place.run(kSmoke).status, 0) << "shown again, so that it is the last";
  const auto before = dump(db);
  const auto outcome = place.run({"db", "rebuild"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 experiments, from the logs"));
  EXPECT_THAT(outcome.out, HasSubstr("results.sqlite.bak-1"));
  EXPECT_EQ(dump(db), before);
  EXPECT_EQ(dump(place.folder() / "runs/results.sqlite.bak-1"), before);
  EXPECT_EQ(place.json({"db", "rebuild", "--json"}).at("kept"), "runs/results.sqlite.bak-2");
  // Nothing is to be done again.
  place.environment["HARNESS_WORKER"] = "/nonexistent";
  EXPECT_EQ(place.run(kSmoke).status, 0);
}

TEST(DbRebuild, WithoutTheDbMakesTheSameOneFromTheLogsAlone) {
  Workplace place;
  const auto db = place.folder() / "runs/results.sqlite";
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto before = dump(db);
  fs::remove(db);
  const auto made = place.json({"db", "rebuild", "--json"});
  EXPECT_TRUE(made.at("kept").is_null());
  EXPECT_EQ(made.at("runs"), 4);
  EXPECT_EQ(dump(db), before);
  const auto told = place.run({"db", "rebuild"}).out;
  EXPECT_THAT(told, HasSubstr(": 4 runs, "));
  EXPECT_THAT(told, HasSubstr(" finished evaluations, 1 experiment, from the logs"));
}

TEST(DbRebuild, AfterAnInterruptionAndWithTwoWorkersSaysTheSame) {
  Workplace place;
  place.environment["HARNESS_FAKE_DELAY_US"] = "20000";
  const auto pid = place.start(smoke({"--jobs", "2"}));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  ::kill(pid, SIGKILL);
  place.wait(pid);
  place.environment.erase("HARNESS_FAKE_DELAY_US");
  ASSERT_EQ(place.run(smoke({"--jobs", "2"})).status, 0);
  const auto table = place.run({"table", "sd35-ocr"}).out;
  const auto rows = place.metric_rows();
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
  ASSERT_EQ(place.run({"db", "rebuild"}).status, 0);
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
  EXPECT_EQ(place.run({"table", "sd35-ocr"}).out, table);
  EXPECT_EQ(place.metric_rows(), rows);
}

TEST(DbRebuild, WhatFreshOrRmTookAwayStaysAway) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  ASSERT_EQ(place.run(smoke({"--methods", "ratio-norm", "--fresh"})).status, 0);
  const auto experiments = place.run({"list", "experiments"}).out;
  const auto runs = place.run({"list", "runs"}).out;
  ASSERT_EQ(place.run({"db", "rebuild"}).status, 0);
  EXPECT_EQ(place.run({"list", "experiments"}).out, experiments);
  EXPECT_EQ(place.run({"list", "runs"}).out, runs);
  // Numbers of experiments are never given twice, also across a rebuild.
  ASSERT_EQ(place.run(smoke({"--methods", "dual", "--fresh"})).status, 0);
  EXPECT_EQ(place.json({"list", "experiments", "--json"}).at(0).at("name"), "3");
}

TEST(DbRebuild, AFailedJobIsFailedAgainWithItsReason) {
  Workplace place;
  place.environment["HARNESS_FAKE_MODE"] = "crash";
  ASSERT_EQ(place.run(kSmoke).status, 1);
  const auto failures = [&] {
    return place.run({"query", "SELECT id, state, failure FROM jobs ORDER BY id", "--format", "csv"}).out;
  };
  const auto before = failures();
  EXPECT_THAT(before, HasSubstr("failed"));
  ASSERT_EQ(place.run({"db", "rebuild"}).status, 0);
  EXPECT_EQ(failures(), before);
}

TEST(DbRebuild, AWorkspaceOfAnEarlierVersionGetsItsJournalFromItsDb) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  fs::remove(place.folder() / "runs/journal.log");
  change(place.folder() / "runs/results.sqlite", "DELETE FROM journals");
  const auto checked = place.run({"db", "check"});
  EXPECT_EQ(checked.status, 0) << checked.out << "its version knew no journal";
  EXPECT_THAT(checked.err, HasSubstr("there is no runs/journal.log"));
  const auto table = place.run({"table"}).out, rows = place.metric_rows();
  ASSERT_EQ(place.run({"db", "rebuild"}).status, 0);
  EXPECT_EQ(place.run({"table"}).out, table);
  EXPECT_EQ(place.metric_rows(), rows);
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
}

TEST(DbRebuild, ADamagedLogIsNamedAndLeftOutOnlyByForce) {
  Workplace place;
  const auto db = place.folder() / "runs/results.sqlite";
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto before = dump(db);
  fs::path log;
  for (const auto& entry : fs::recursive_directory_iterator(place.folder() / "runs")) {
    if (entry.path().filename() == "events.log" &&
        entry.path().string().find("eval-test") != std::string::npos)
      log = entry.path();
  }
  auto bytes = read_file(log);
  bytes[bytes.size() / 2] ^= 1;
  write_file_atomically(log, bytes);
  const auto refused = place.run({"db", "rebuild"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("wrong checksum"));
  EXPECT_EQ(dump(db), before);
  EXPECT_FALSE(fs::exists(place.folder() / "runs/results.sqlite.bak-1"));
  const auto forced = place.run({"db", "rebuild", "--force"});
  EXPECT_EQ(forced.status, 0) << forced.err;
  EXPECT_THAT(forced.err, HasSubstr("left out: experiment 1"));
  EXPECT_THAT(forced.out, HasSubstr("0 experiments"));
}

TEST(DbRebuild, AWorkspaceThatIsInUseIsLeftAlone) {
  Workplace place;
  place.environment["HARNESS_FAKE_DELAY_US"] = "50000";
  const auto pid = place.start(kSmoke);
  ASSERT_TRUE(wait_until([&] { return fs::exists(place.folder() / "runs/journal.log"); }));
  const auto refused = place.run({"db", "rebuild"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("pid " + std::to_string(pid)));
  ::kill(pid, SIGTERM);
  place.wait(pid);
  EXPECT_EQ(place.run({"db", "rebuild", "--out", "nowhere"}).status, 2);
}

TEST(DbCheck, ASoundDbIsStatus0AndEveryKindOfDamageAFinding) {
  Workplace place;
  const auto db = place.folder() / "runs/results.sqlite";
  EXPECT_EQ(place.run({"db", "check"}).status, 2) << "there is none yet";
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto sound = place.run({"db", "check"});
  EXPECT_EQ(sound.status, 0) << sound.out;
  EXPECT_THAT(sound.out, HasSubstr("every row as in the logs"));
  fs::copy_file(db, place.folder() / "copy");
  const auto finding_after = [&](const std::string& sql) {
    change(db, sql);
    const auto outcome = place.run({"db", "check"});
    EXPECT_EQ(outcome.status, 1) << sql;
    fs::copy_file(place.folder() / "copy", db, fs::copy_options::overwrite_existing);
    return outcome.out;
  };
  EXPECT_THAT(finding_after("UPDATE metrics SET value = 0.987 WHERE (name = 'cer' AND value IS NOT NULL "
                            "AND prompt_id = (SELECT max(prompt_id) FROM metrics))"),
              HasSubstr("only in the DB, such as"));
  EXPECT_THAT(finding_after("PRAGMA foreign_keys = OFF; DELETE FROM checkpoints WHERE step > 0"),
              HasSubstr("points at a missing row"));
  EXPECT_THAT(finding_after("DELETE FROM metrics; DELETE FROM samples"), HasSubstr("images"));
  EXPECT_THAT(finding_after("UPDATE train_stats SET value = value + 1 WHERE name = 'reward_mean'"),
              HasSubstr("train_stats"));
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
  const auto document = place.json({"db", "check", "--json"});
  EXPECT_EQ(document.at("findings"), Json::array());
  for (const auto& entry : fs::directory_iterator(place.folder() / "runs"))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".check"))) << "nothing is left behind";
}

TEST(DbCheck, AFileThatIsNoLongerADbIsAFinding) {
  Workplace place;
  const auto db = place.folder() / "runs/results.sqlite";
  ASSERT_EQ(place.run(kSmoke).status, 0);
  auto bytes = read_file(db);
  std::fill(bytes.begin() + 4096, bytes.begin() + 40960, '\xff');
  write_file_atomically(db, bytes);
  EXPECT_EQ(place.run({"db", "check"}).status, 1);
  const auto rebuilt = place.run({"db", "rebuild"});
  EXPECT_EQ(rebuilt.status, 0) << rebuilt.err;
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
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

TEST(DbRebuild, ABackupIsOneFileWithWhatAKilledProcessLeftInTheLog) {
  Workplace place;
  ASSERT_EQ(place.run(smoke({"--methods", "ratio-norm"})).status, 0);
  const auto db = place.folder() / "runs/results.sqlite";
  const auto rows = place.metric_rows();
  const pid_t child = ::fork();
  if (child == 0) {
    SQLite::Database killed(db.string(), SQLite::OPEN_READWRITE);
    killed.exec("UPDATE metrics SET value = 0.987 WHERE name = 'cer' AND value IS NOT NULL");
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  ASSERT_GT(fs::file_size(db.string() + "-wal"), 0U);
  ASSERT_EQ(place.run({"db", "rebuild"}).status, 0);
  EXPECT_EQ(database_files(place), (std::set<std::string>{"results.sqlite", "results.sqlite.bak-1"}));
  SQLite::Database kept(db.string() + ".bak-1", SQLite::OPEN_READONLY);
  EXPECT_GT(kept.execAndGet("SELECT count(*) FROM metrics WHERE value = 0.987").getInt(), 0);
  EXPECT_EQ(place.metric_rows(), rows);
}

TEST(DbRebuild, TheLogOfADamagedDbGoesWithTheBackupAndWhatHoldsNothingGoesAway) {
  Workplace place;
  ASSERT_EQ(place.run(smoke({"--methods", "ratio-norm"})).status, 0);
  const auto db = place.folder() / "runs/results.sqlite";
  const auto rows = place.metric_rows();
  auto bytes = read_file(db);
  std::fill(bytes.begin(), bytes.begin() + 100, '\xff');
  const std::string pages(5000, 'w');
  for (const auto& log : {pages, std::string()}) {
    write_file_atomically(db, bytes);
    write_file_atomically(db.string() + "-wal", log);
    write_file_atomically(db.string() + "-shm", std::string(32768, '\0'));
    const auto rebuilt = place.run({"db", "rebuild"});
    ASSERT_EQ(rebuilt.status, 0) << rebuilt.err;
  }
  EXPECT_EQ(database_files(place),
            (std::set<std::string>{"results.sqlite", "results.sqlite.bak-1", "results.sqlite.bak-1-wal",
                                   "results.sqlite.bak-2"}));
  EXPECT_EQ(read_file(db.string() + ".bak-1-wal"), pages);
  EXPECT_EQ(read_file(db.string() + ".bak-2"), bytes);
  EXPECT_EQ(place.metric_rows(), rows);
}

TEST(DbRebuild, ABackupTakesNoNameThatAnotherOnesLogWouldJoin) {
  Workplace place;
  ASSERT_EQ(place.run(smoke({"--methods", "ratio-norm"})).status, 0);
  write_file_atomically(place.folder() / "runs/results.sqlite.bak-1-wal", "of a backup that was deleted");
  EXPECT_EQ(place.json({"db", "rebuild", "--json"}).at("kept"), "runs/results.sqlite.bak-2");
}

TEST(DbRebuild, AFileThatIsNoResultsDbIsRefusedByNameAndStaysAsItIs) {
  Workplace place;
  ASSERT_EQ(place.run(smoke({"--methods", "ratio-norm"})).status, 0);
  SQLite::Database(place.folder() / "albums.sqlite", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE albums (title TEXT)");
  write_file_atomically(place.folder() / "notes.txt", "my notes");
  fs::copy(place.folder() / "notes.txt", place.folder() / "runs/notes.txt");
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
        std::vector<std::string> words = {"db", command, "--db", file};
        if (with_out) words.insert(words.end(), {"--out", "runs"});
        const auto refused = place.run(words);
        EXPECT_EQ(refused.status, 2) << file << command;
        EXPECT_THAT(refused.err, HasSubstr(said)) << command;
        EXPECT_THAT(refused.err, Not(HasSubstr("db rebuild"))) << "which would refuse it again";
      }
    }
    EXPECT_EQ(read_file(place.folder() / file), before);
  }
  EXPECT_FALSE(fs::exists(place.folder() / ".lock"));
  EXPECT_FALSE(fs::exists(place.folder() / "notes.txt.bak-1"));
}

TEST(DbCheck, FindingsAreTheAnswerAndStandardErrorHasOneLineOfSummaryAndHint) {
  Workplace place;
  ASSERT_EQ(place.run(smoke({"--methods", "ratio-norm"})).status, 0);
  const auto db = place.folder() / "runs/results.sqlite", journal = place.folder() / "runs/journal.log";
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
        Case{journal, records.substr(0, records.size() / 2), "", "`harness db rebuild --journal`"}}) {
    write_file_atomically(db, whole);
    write_file_atomically(journal, records);
    write_file_atomically(file, bytes);
    const auto checked = place.run({"db", "check"});
    EXPECT_EQ(checked.status, 1);
    EXPECT_THAT(checked.out, HasSubstr(file.filename().string() + ": " + finding));
    EXPECT_THAT(checked.out, Not(HasSubstr("db rebuild"))) << "the hint comes once";
    EXPECT_EQ(std::ranges::count(checked.err, '\n'), 1) << checked.err;
    EXPECT_THAT(checked.err, HasSubstr("results.sqlite: 1 finding; " + std::string(hint)));
    const auto as_json = place.run({"db", "check", "--json"});
    EXPECT_EQ(as_json.status, 1);
    EXPECT_EQ(as_json.err, "");
    const auto document = parse_json(as_json.out, "stdout");
    EXPECT_EQ(document.at("findings").at(0).get<std::string>() + "\n", checked.out);
    EXPECT_THAT(document.at("hint").get<std::string>(), HasSubstr(hint));
  }
}

// --- A DB and a journal that do not fit ---

const fs::path kDb = "runs/results.sqlite", kJournal = "runs/journal.log";

std::set<std::string> experiments(Workplace& place, const std::vector<std::string>& where = {}) {
  std::vector<std::string> arguments = {"list", "experiments", "--json"};
  arguments.insert(arguments.end(), where.begin(), where.end());
  std::set<std::string> names;
  for (const auto& experiment : place.json(arguments))
    names.insert(experiment.at("name").get<std::string>() + " " + experiment.at("methods").dump() + " " +
                 experiment.at("seeds").dump());
  return names;
}

void expect_sound(Workplace& place, const std::vector<std::string>& where = {}) {
  std::vector<std::string> arguments = {"db", "check"};
  arguments.insert(arguments.end(), where.begin(), where.end());
  const auto checked = place.run(arguments);
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
}

void overwrite(const fs::path& from, const fs::path& to) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
}

/// A DB as a version before this one left it: it does not say with which journal it was written.
void unmark(const fs::path& db) {
  change(db, "DELETE FROM journals");
}

/// What a program that did not read the journal first appended to it after its DB was moved away: experiments
/// and states of jobs, numbered from 1, without what it had recorded in the same words before. `commands` are
/// what it was asked for.
void poison(Workplace& place, const std::vector<std::vector<std::string>>& commands) {
  const auto journal = place.folder() / kJournal, before = place.folder() / "before.log";
  fs::rename(journal, before);
  fs::remove(place.folder() / kDb);
  for (const auto& command : commands) ASSERT_EQ(place.run(command).status, 0);
  std::map<std::string, std::string> last;
  const auto told = [](Json record) {
    record.erase("at");
    record.erase("time");
    return record.dump();
  };
  for (const auto& record : read_journal(before).records)
    last[record.at("type").get<std::string>() + " " + record.value("key", std::string())] = told(record);
  const auto after = read_journal(journal).records;
  fs::rename(before, journal);
  EventLogWriter log(journal);
  for (const auto& record : after) {
    auto& known = last[record.at("type").get<std::string>() + " " + record.value("key", std::string())];
    if (record.contains("key") && known == told(record)) continue;
    known = told(record);
    log.append(record);
  }
  unmark(place.folder() / kDb);
}

TEST(DbAndJournal, ADbThatIsGoneOrEmptyIsMadeFromTheLogsBeforeReproduceGoesOn) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  ASSERT_EQ(place.run(smoke({"--methods", "ratio-norm,dual", "--set", "dual.beta_max=5"})).status, 0);
  const auto before = experiments(place);
  ASSERT_EQ(before.size(), 2U);
  for (const bool is_empty : {false, true}) {
    fs::remove(place.folder() / kDb);
    if (is_empty) write_file_atomically(place.folder() / kDb, "");
    const auto again = place.run(kSmoke);
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_THAT(again.err, HasSubstr("was made from the journal and the event logs"));
    EXPECT_EQ(experiments(place), before);
    expect_sound(place);
    EXPECT_EQ(place.run({"db", "rebuild"}).status, 0);
  }
  fs::remove(place.folder() / kDb);
  const auto run = place.run({"runs", "rm", "0000", "--yes"});
  EXPECT_THAT(run.err, HasSubstr("there is no run")) << "the DB was made first";
  EXPECT_EQ(experiments(place), before);
}

TEST(DbAndJournal, ADamagedDbSaysThatRebuildMendsItAndReadersOfAMissingOneToo) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  auto bytes = read_file(place.folder() / kDb);
  std::fill(bytes.begin() + 100, bytes.begin() + 40960, '\xff');
  write_file_atomically(place.folder() / kDb, bytes);
  const auto refused = place.run(kSmoke);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("`harness db rebuild`"));
  EXPECT_THAT(refused.err, Not(HasSubstr("move it away")));
  fs::remove(place.folder() / kDb);
  EXPECT_THAT(place.run({"table"}).err, HasSubstr("`harness db rebuild`"));
}

TEST(DbAndJournal, AJournalThatAnEarlierVersionBeganAnewIsRebuiltWithItsWholeHistory) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  ASSERT_EQ(place.run(smoke({"--methods", "ratio-norm"})).status, 0);
  ASSERT_EQ(place.run(smoke({"--seeds", "43"})).status, 0);
  const auto before = experiments(place);
  poison(place, {kSmoke});
  ASSERT_EQ(experiments(place).size(), 1U);
  const auto refused = place.run(kSmoke);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("lacks experiments"));
  EXPECT_THAT(refused.err, HasSubstr("`harness db rebuild"));
  const auto checked = place.run({"db", "check"});
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(checked.out, HasSubstr("reproductions: 2 rows are only in the logs"));
  EXPECT_THAT(checked.out, Not(HasSubstr("FOREIGN KEY")));
  const auto rebuilt = place.run({"db", "rebuild"});
  EXPECT_EQ(rebuilt.status, 0) << rebuilt.err;
  EXPECT_EQ(experiments(place), before);
  expect_sound(place);
  EXPECT_EQ(place.run(kSmoke).status, 0);
  expect_sound(place);
}

TEST(DbAndJournal, AnExperimentWhoseNumberWasGivenTwiceGetsOneOfItsOwn) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  ASSERT_EQ(place.run(smoke({"--methods", "ratio-norm"})).status, 0);
  const auto before = experiments(place);
  poison(place, {smoke({"--methods", "dual"}), kSmoke});
  ASSERT_EQ(place.run({"db", "rebuild"}).status, 0);
  const auto found = experiments(place);
  EXPECT_EQ(found.size(), 3U);
  EXPECT_TRUE(std::ranges::includes(found, before)) << "the first ones keep their numbers";
  expect_sound(place);
  // What comes after it names the numbers of the new DB.
  ASSERT_EQ(place.run(smoke({"--methods", "dual"})).status, 0);
  EXPECT_EQ(experiments(place), found);
  expect_sound(place);
  ASSERT_EQ(place.run({"db", "rebuild"}).status, 0);
  EXPECT_EQ(experiments(place), found);
}

TEST(DbAndJournal, TheDbOfAnotherWorkspaceIsRefusedByWhateverWrites) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  ASSERT_EQ(place.run(smoke({"--out", "other", "--seeds", "43"})).status, 0);
  ASSERT_EQ(place.run(smoke({"--out", "same"})).status, 0);
  const auto journal = read_file(place.folder() / kJournal);
  const auto expect_refused = [&] {
    for (const auto& command : std::vector<std::vector<std::string>>{kSmoke,
                                                                     {"db", "check"},
                                                                     {"db", "rebuild"},
                                                                     {"db", "rebuild", "--journal"},
                                                                     {"runs", "rm", "0", "--yes"}}) {
      const auto outcome = place.run(command);
      EXPECT_EQ(outcome.status, 2) << command[0] << outcome.out;
      EXPECT_THAT(outcome.err, HasSubstr("is the results DB of another workspace")) << command[0];
      EXPECT_THAT(outcome.err, HasSubstr("`harness db rebuild --out runs`")) << command[0];
    }
    EXPECT_EQ(read_file(place.folder() / kJournal), journal);
  };
  overwrite(place.folder() / "other/results.sqlite", place.folder() / kDb);
  expect_refused();
  unmark(place.folder() / kDb);
  expect_refused();
  overwrite(place.folder() / "same/results.sqlite", place.folder() / kDb);
  expect_refused();
  fs::remove(place.folder() / kDb);
  EXPECT_EQ(place.run({"db", "rebuild"}).status, 0);
  expect_sound(place);
}

TEST(DbAndJournal, MovedAndCopiedWorkspacesGoOnEachByItself) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  fs::rename(place.folder() / "runs", place.folder() / "moved");
  EXPECT_EQ(place.run(smoke({"--out", "moved"})).status, 0);
  expect_sound(place, {"--out", "moved"});
  fs::copy(place.folder() / "moved", place.folder() / "copy", fs::copy_options::recursive);
  EXPECT_EQ(place.run(smoke({"--out", "copy", "--methods", "ratio-norm"})).status, 0);
  EXPECT_EQ(place.run(smoke({"--out", "moved", "--methods", "dual"})).status, 0);
  for (const char* folder : {"moved", "copy"}) expect_sound(place, {"--out", folder});
  // An older state of the DB catches up with the journal.
  overwrite(place.folder() / "moved/results.sqlite", place.folder() / "older");
  ASSERT_EQ(place.run(smoke({"--out", "moved", "--methods", "ratio-norm,dual"})).status, 0);
  const auto now = experiments(place, {"--db", "moved/results.sqlite"});
  overwrite(place.folder() / "older", place.folder() / "moved/results.sqlite");
  const auto again = place.run(smoke({"--out", "moved"}));
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("lacked the last"));
  EXPECT_EQ(experiments(place, {"--db", "moved/results.sqlite"}), now);
  expect_sound(place, {"--out", "moved"});
}

TEST(DbAndJournal, ADbElsewhereIsThatOfItsWorkspace) {
  Workplace place;
  ASSERT_EQ(place.run(smoke({"--out", "runs", "--db", "elsewhere/a.sqlite"})).status, 0);
  EXPECT_EQ(place.run(smoke({"--out", "runs", "--db", "elsewhere/a.sqlite", "--methods", "dual"})).status, 0);
  expect_sound(place, {"--out", "runs", "--db", "elsewhere/a.sqlite"});
  EXPECT_EQ(place.run(kSmoke).status, 0) << "a second one, made from the journal";
  expect_sound(place);
}

TEST(SharedDb, IsCheckedAndRebuiltForOneWorkspaceWithoutTouchingTheOther) {
  Workplace place;
  const auto in = [](const std::string& folder, std::vector<std::string> command) {
    command.insert(command.end(), {"--out", folder, "--db", "shared.sqlite"});
    return command;
  };
  ASSERT_EQ(place.run(in("a", kSmoke)).status, 0);
  ASSERT_EQ(place.run(in("b", smoke({"--seeds", "43"}))).status, 0);
  for (const char* folder : {"a", "b"}) {
    const auto checked = place.run(in(folder, {"db", "check"}));
    EXPECT_EQ(checked.status, 0) << checked.out;
    EXPECT_THAT(checked.err, HasSubstr("4 runs are of other workspaces that share this DB"));
  }
  const auto rows = place.metric_rows("shared.sqlite");
  const auto known = experiments(place, {"--db", "shared.sqlite"});
  for (const bool force : {false, true}) {
    auto rebuild = in("a", {"db", "rebuild"});
    if (force) rebuild.push_back("--force");
    EXPECT_EQ(place.run(rebuild).status, 0);
    EXPECT_EQ(place.metric_rows("shared.sqlite"), rows);
    EXPECT_EQ(experiments(place, {"--db", "shared.sqlite"}), known);
  }
  for (const char* folder : {"a", "b"}) expect_sound(place, {"--out", folder, "--db", "shared.sqlite"});
  change(place.folder() / "shared.sqlite",
         "UPDATE metrics SET value = 0.987 WHERE name = 'cer' AND value IS NOT NULL AND evaluation_id IN "
         "(SELECT e.id FROM "
         "evaluations AS e JOIN checkpoints AS c ON c.id = checkpoint_id JOIN runs AS r ON r.id = c.run_id "
         "WHERE r.seed = 43)");
  expect_sound(place, {"--out", "a", "--db", "shared.sqlite"});
  EXPECT_EQ(place.run(in("b", {"db", "check"})).status, 1);
  EXPECT_EQ(place.run(in("b", {"db", "rebuild"})).status, 0);
  EXPECT_EQ(place.metric_rows("shared.sqlite"), rows);
}

TEST(SharedDb, OfAnEarlierVersionTakesBothWorkspacesBack) {
  Workplace place;
  const auto in = [](const std::string& folder, const std::string& seed) {
    return smoke({"--out", folder, "--db", "shared.sqlite", "--seeds", seed});
  };
  ASSERT_EQ(place.run(in("a", "42")).status, 0);
  ASSERT_EQ(place.run(in("b", "43")).status, 0);
  unmark(place.folder() / "shared.sqlite");
  for (const char* folder : {"a", "b"}) {
    const auto back = place.run(in(folder, folder[0] == 'a' ? "42" : "43"));
    EXPECT_EQ(back.status, 0) << back.err;
  }
  for (const char* folder : {"a", "b"}) expect_sound(place, {"--out", folder, "--db", "shared.sqlite"});
}

TEST(SharedDb, AWorkspaceWithAHistoryJoinsByRebuild) {
  Workplace place;
  ASSERT_EQ(place.run(smoke({"--out", "a", "--db", "shared.sqlite"})).status, 0);
  ASSERT_EQ(place.run(smoke({"--out", "b", "--seeds", "43"})).status, 0);
  const auto refused = place.run(smoke({"--out", "b", "--seeds", "43", "--db", "shared.sqlite"}));
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("`harness db rebuild --out b --db shared.sqlite` adds this workspace"));
  EXPECT_EQ(place.run({"db", "rebuild", "--out", "b", "--db", "shared.sqlite"}).status, 0);
  EXPECT_EQ(experiments(place, {"--db", "shared.sqlite"}).size(), 2U);
  EXPECT_EQ(place.run(smoke({"--out", "b", "--seeds", "43", "--db", "shared.sqlite"})).status, 0);
  for (const char* folder : {"a", "b"}) expect_sound(place, {"--out", folder, "--db", "shared.sqlite"});
}

// --- A journal that is damaged ---

TEST(DamagedJournal, IsWrittenAgainFromASoundDbAndEveryHintSaysSo) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  ASSERT_EQ(place.run(smoke({"--methods", "ratio-norm"})).status, 0);
  const auto before = experiments(place);
  const auto rows = place.metric_rows();
  auto damaged = read_file(place.folder() / kJournal);
  damaged[damaged.size() / 2] ^= 1;
  write_file_atomically(place.folder() / kJournal, damaged);
  for (const auto& command : std::vector<std::vector<std::string>>{
           kSmoke, {"db", "rebuild"}, {"db", "rebuild", "--force"}, {"runs", "rm", "0", "--yes"}}) {
    const auto outcome = place.run(command);
    EXPECT_EQ(outcome.status, 2) << command[0];
    EXPECT_THAT(outcome.err, HasSubstr("wrong checksum"));
    EXPECT_THAT(outcome.err, HasSubstr("`harness db rebuild --journal`")) << command[0];
  }
  const auto checked = place.run({"db", "check"});
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(checked.err, HasSubstr("`harness db rebuild --journal`"));
  const auto written = place.run({"db", "rebuild", "--journal"});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("runs/journal.log.bak-1"));
  EXPECT_EQ(read_file(place.folder() / "runs/journal.log.bak-1"), damaged);
  expect_sound(place);
  EXPECT_EQ(place.run({"db", "rebuild"}).status, 0);
  EXPECT_EQ(place.run(kSmoke).status, 0);
  expect_sound(place);
  EXPECT_EQ(experiments(place), before);
  EXPECT_EQ(place.metric_rows(), rows);
}

TEST(DamagedJournal, WithoutADbGivesWhatCanBeReadByForce) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  auto damaged = read_file(place.folder() / kJournal);
  damaged[damaged.size() - 20] ^= 1;  // an artifact
  write_file_atomically(place.folder() / kJournal, damaged);
  fs::remove(place.folder() / kDb);
  EXPECT_EQ(place.run(kSmoke).status, 2);
  EXPECT_FALSE(fs::exists(place.folder() / kDb)) << "an empty one would be taken for the record";
  EXPECT_THAT(place.run({"db", "rebuild"}).err, HasSubstr("--force"));
  const auto forced = place.run({"db", "rebuild", "--force"});
  EXPECT_EQ(forced.status, 0) << forced.err;
  EXPECT_THAT(forced.err, HasSubstr("1 damaged line"));
  EXPECT_EQ(read_file(place.folder() / "runs/journal.log.bak-1"), damaged);
  EXPECT_EQ(place.run(kSmoke).status, 0);
  expect_sound(place);
}

TEST(DamagedJournal, ThatLostItsEndGetsItBackAndNeverMakesASmallerDb) {
  for (const double kept : {0.05, 0.7}) {
    for (const bool by_reproduce : {true, false}) {
      Workplace place;
      ASSERT_EQ(place.run(kSmoke).status, 0);
      ASSERT_EQ(place.run(smoke({"--seeds", "43"})).status, 0);
      const auto before = experiments(place);
      const auto dumped = dump(place.folder() / kDb);
      const auto whole = read_file(place.folder() / kJournal);
      write_file_atomically(
          place.folder() / kJournal,
          whole.substr(0, static_cast<std::size_t>(kept * static_cast<double>(whole.size()))));
      const auto checked = place.run({"db", "check"});
      EXPECT_EQ(checked.status, 1);
      EXPECT_THAT(checked.err, HasSubstr("`harness db rebuild --journal`"));
      for (const char* force : {"--json", "--force"}) {
        const auto refused = place.run({"db", "rebuild", force});
        EXPECT_NE(refused.status, 0);
        EXPECT_THAT(refused.out + refused.err, HasSubstr("harness db rebuild --journal"));
      }
      EXPECT_EQ(dump(place.folder() / kDb), dumped);
      const auto mended =
          place.run(by_reproduce ? kSmoke : std::vector<std::string>{"db", "rebuild", "--journal"});
      EXPECT_EQ(mended.status, 0) << mended.err;
      expect_sound(place);
      EXPECT_EQ(place.run({"db", "rebuild"}).status, 0);
      EXPECT_EQ(experiments(place), before);
      expect_sound(place);
    }
  }
}

TEST(DamagedJournal, OfAnEarlierVersionThatLostItsEndMakesNoSmallerDbEither) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  ASSERT_EQ(place.run(smoke({"--seeds", "43"})).status, 0);
  unmark(place.folder() / kDb);
  const auto whole = read_file(place.folder() / kJournal);
  write_file_atomically(place.folder() / kJournal, whole.substr(0, whole.size() * 7 / 10));
  const auto refused = place.run({"db", "rebuild", "--force"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("which the results DB has"));
  EXPECT_THAT(refused.err, HasSubstr("`harness db rebuild --journal`"));
  EXPECT_EQ(place.run(kSmoke).status, 0);
  expect_sound(place);
}

TEST(DamagedJournal, ADeletedOneIsWrittenByTheNextReproduceAndTheDbIsSoundWithIt) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  fs::remove(place.folder() / kJournal);
  EXPECT_EQ(place.run(kSmoke).status, 0);
  expect_sound(place);
  EXPECT_EQ(place.run(smoke({"--methods", "dual"})).status, 0);
  expect_sound(place);
}

TEST(DamagedJournal, ADeletedOneIsAFindingWithTheCommandThatWritesItFromTheDb) {
  Workplace place;
  ASSERT_EQ(place.run(smoke({"--out", "w"})).status, 0);
  fs::remove(place.folder() / "w/journal.log");
  const auto checked = place.run({"db", "check", "--out", "w"});
  EXPECT_EQ(checked.status, 1);
  EXPECT_THAT(checked.out, HasSubstr("w/journal.log: is gone"));
  EXPECT_THAT(checked.out, Not(HasSubstr("sound")));
  EXPECT_THAT(checked.err, HasSubstr("`harness db rebuild --journal --out w`"));
  EXPECT_EQ(place.run({"db", "rebuild", "--journal", "--out", "w"}).status, 0);
  expect_sound(place, {"--out", "w"});
}

TEST(DamagedJournal, ALastLineThatAPowerCutTookIsWrittenAgain) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto whole = read_file(place.folder() / kJournal);
  const auto last_line = whole.rfind('\n', whole.size() - 2) + 1;
  for (const auto kept : {whole.size() - 10, last_line}) {
    write_file_atomically(place.folder() / kJournal, whole.substr(0, kept));
    EXPECT_EQ(place.run(kSmoke).status, 0);
    expect_sound(place);
  }
}

// --- Event logs and rows that are gone ---

TEST(LogThatIsGone, OfAJobThatWasBegunSaysWhatMendsItAndThatDoes) {
  for (const bool is_cut : {false, true}) {
    Workplace place;
    place.environment["HARNESS_FAKE_DELAY_US"] = "20000";
    const auto pid = place.start(kSmoke);
    std::string folder;
    ASSERT_TRUE(wait_until([&] {
      try {
        SQLite::Database db((place.folder() / kDb).string(), SQLite::OPEN_READONLY, 2000);
        SQLite::Statement begun(db, "SELECT folder FROM jobs WHERE state = 'running' AND log_offset > 2000");
        if (begun.executeStep()) folder = begun.getColumn(0).getString();
      } catch (const SQLite::Exception&) {
        // The DB is being made.
      }
      return !folder.empty();
    }));
    ::kill(pid, SIGKILL);
    place.wait(pid);
    place.environment.erase("HARNESS_FAKE_DELAY_US");
    const auto log = place.folder() / folder / "events.log";
    ASSERT_TRUE(wait_until([&] { return !event_log_is_held(log); }));
    if (is_cut) {
      const auto bytes = read_file(log);
      write_file_atomically(log, bytes.substr(0, bytes.find('\n') + 1));
    } else {
      fs::remove_all(log.parent_path());
    }
    const auto refused = place.run(kSmoke);
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr(is_cut ? "is shorter than what was read of it" : "is gone"));
    EXPECT_THAT(refused.err, HasSubstr("`harness db rebuild`"));
    const auto rebuilt = place.run({"db", "rebuild"});
    EXPECT_EQ(rebuilt.status, 0) << rebuilt.err;
    const auto completed = place.run(kSmoke);
    EXPECT_EQ(completed.status, 0) << completed.err;
    expect_sound(place);
  }
}

TEST(DeletedRows, AreNoticedBeforeATableIsMadeOfTheRest) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto table = place.run({"table"}).out;
  overwrite(place.folder() / kDb, place.folder() / "sound");
  for (const char* sql :
       {"DELETE FROM metrics WHERE prompt_id % 7 = 0", "DELETE FROM metrics WHERE name = 'cer'",
        "DELETE FROM metrics WHERE prompt_id % 7 = 0; DELETE FROM samples WHERE prompt_id % 7 = 0"}) {
    overwrite(place.folder() / "sound", place.folder() / kDb);
    change(place.folder() / kDb, sql);
    for (const auto& command : std::vector<std::vector<std::string>>{kSmoke, {"verify", "--all"}}) {
      const auto outcome = place.run(command);
      EXPECT_EQ(outcome.status, 1) << command[0] << sql;
      EXPECT_THAT(outcome.err, HasSubstr("rows were deleted")) << command[0] << sql;
      EXPECT_THAT(outcome.err, HasSubstr("`harness db rebuild`")) << command[0] << sql;
    }
  }
  EXPECT_EQ(place.run({"db", "rebuild"}).status, 0);
  EXPECT_EQ(place.run(kSmoke).status, 0);
  EXPECT_EQ(place.run({"table"}).out, table);
}

// --- Clocks, leftovers, disks ---

TEST(ClockSetBack, ChangesNothingAboutWhichExperimentIsTheLast) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  // As if the first had been recorded while the clock was ahead.
  change(place.folder() / kDb, "UPDATE reproductions SET finished = '2100-01-01T00:00:00.000Z'");
  const auto second = place.run(smoke({"--methods", "ratio-norm"}));
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(place.run({"table", "sd35-ocr"}).err, HasSubstr("experiment 2:"));
  const auto query =
      place.run({"query", "by-prompt", "-p", "baseline", "base", "-p", "method", "ratio-norm"});
  EXPECT_THAT(query.err, HasSubstr("experiment 2:"));
  change(place.folder() / kDb, "UPDATE reproductions SET finished = '2100-01-01T00:00:00.000Z' WHERE id = 2");
  ASSERT_EQ(place.run(kSmoke).status, 0);
  EXPECT_THAT(place.run({"table", "sd35-ocr"}).err, HasSubstr("experiment 1:")) << "asked for last";
}

/// The id of a process that has ended.
pid_t ended_process() {
  Process process({"true"});
  process.wait();
  return process.pid();
}

TEST(Leftovers, OfKilledRebuildsAndChecksGoWithTheNextOne) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto dead = std::to_string(ended_process()), living = std::to_string(::getpid());
  const auto runs = place.folder() / "runs";
  for (const auto& pid : {dead, living}) {
    for (const auto* suffix : {"", "-wal", "-shm", "-journal"}) {
      write_file_atomically(runs / ("results.sqlite.new-" + pid + suffix), "x");
      write_file_atomically(runs / (".check-" + pid + ".sqlite" + suffix), "x");
    }
  }
  expect_sound(place);
  EXPECT_EQ(place.run({"db", "rebuild"}).status, 0);
  int left = 0;
  for (const auto& entry : fs::directory_iterator(runs)) {
    const auto name = entry.path().filename().string();
    EXPECT_THAT(name, Not(HasSubstr("-" + dead)));
    left += name.find("-" + living) != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(left, 8) << "those of a process that is at work";
}

TEST(DbCheck, AFullDiskIsNoFindingAboutTheDb) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  place.environment["LD_PRELOAD"] = HARNESS_BINARY_DIR "/tests/libharness-faulty-disk.so";
  place.environment["HARNESS_DISK_PATH"] = "runs/.check";
  place.environment["HARNESS_DISK_FAIL"] = "write";
  place.environment["HARNESS_DISK_FROM"] = "1";
  const auto outcome = place.run({"db", "check"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("the disk is full; free some space"));
  EXPECT_THAT(outcome.out + outcome.err, Not(HasSubstr("db rebuild")));
  place.environment.erase("LD_PRELOAD");
  expect_sound(place);
}

}  // namespace
}  // namespace harness::test

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <algorithm>

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
  EXPECT_THAT(place.run({"db", "check"}).err, HasSubstr("kept no journal"));
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

}  // namespace
}  // namespace harness::test

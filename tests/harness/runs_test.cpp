#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <sys/file.h>

#include <algorithm>
#include <set>

#include "core/event_log.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kSmoke = {"reproduce", "--table", "sd35-ocr", "--scale", "smoke"};

/// Id of the first trained run of a method.
std::string run_of(Workplace& place, const std::string& method) {
  for (const auto& run : place.json({"list", "runs", "--json"})) {
    if (run.at("method") == method) return run.at("name");
  }
  ADD_FAILURE() << "no run of " << method;
  return {};
}

std::string query(Workplace& place, const std::string& sql) {
  const auto outcome = place.run({"query", sql, "--format", "csv"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.out;
}

/// Waits for the event log of some job of a kind to hold `events` lines, and gives its folder.
std::optional<fs::path> begun(const Workplace& place, bool evaluation) {
  const auto runs = place.folder() / "runs";
  if (!fs::exists(runs)) return std::nullopt;
  for (const auto& entry : fs::recursive_directory_iterator(runs)) {
    const bool is_evaluation = entry.path().parent_path().filename().string().starts_with("eval-");
    if (entry.path().filename() == "events.log" && is_evaluation == evaluation &&
        read_events(entry.path(), 0).events.size() > 2)
      return entry.path().parent_path();
  }
  return std::nullopt;
}

TEST(RunsShow, SaysWhatARunIsWhatItTookAndWhereItIs) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto id = run_of(place, "dual");
  const auto report = place.json({"runs", "show", id.substr(0, 8), "--json"});
  EXPECT_EQ(report.at("name"), id);
  EXPECT_EQ(report.at("method"), "dual");
  EXPECT_EQ(report.at("state"), "done");
  EXPECT_EQ(report.at("tables").at(0).at("table"), "sd35-ocr");
  EXPECT_EQ(report.at("experiments").at(0).at("experiment"), 1);
  EXPECT_EQ(report.at("machine").at("host"), "test");
  EXPECT_EQ(report.at("build").get<std::string>().size(), 64u);
  EXPECT_EQ(report.at("wall_time").at("training").at("starts"), 1);
  EXPECT_GT(report.at("wall_time").at("evaluation on validation").at("seconds").get<double>(), 0);
  EXPECT_GT(report.at("bytes").at("images").get<int>(), 0);
  EXPECT_GT(report.at("bytes").at("checkpoints").get<int>(), 0);
  EXPECT_GT(report.at("bytes").at("logs").get<int>(), 0);
  EXPECT_EQ(report.at("interruptions"), Json::array());
  // The means stand there as everywhere else.
  const auto tested =
      std::ranges::find_if(report.at("checkpoints"), [](const Json& c) { return c.at("split") == "test"; });
  ASSERT_NE(tested, report.at("checkpoints").end());
  EXPECT_TRUE(tested->at("selected").get<bool>());
  EXPECT_EQ(tested->at("n_missing"), 1);
  EXPECT_EQ(query(place,
                  "SELECT count(*) AS n FROM v_results WHERE method = 'dual' AND split = 'test' AND metric = "
                  "'cer' AND mean = " +
                      tested->at("metrics").at("cer").dump()),
            "n\n1\n");
  const auto text = place.run({"runs", "show", id});
  EXPECT_EQ(text.status, 0);
  for (const char* part :
       {"dual on glyph, task ocr, seed 42", "wall time", "on disk", "selected", "gamma=0.2"})
    EXPECT_THAT(text.out, HasSubstr(part));
}

TEST(RunsShow, SaysHowFarTheAverageOfACheckpointLagsBehindThePolicy) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto id = run_of(place, "dual");
  for (const auto& checkpoint : place.json({"runs", "show", id, "--json"}).at("checkpoints")) {
    EXPECT_EQ(checkpoint.at("ema_lag"), checkpoint.at("step").get<double>() / 2);
    EXPECT_EQ(checkpoint.at("ema_start_share"), 0.125);
  }
  const auto text = place.run({"runs", "show", id}).out;
  for (const char* part : {"average lags", "start in it", "12.5 %"}) EXPECT_THAT(text, HasSubstr(part));
  const auto base = place.run({"runs", "show", run_of(place, "base")}).out;
  EXPECT_THAT(base, Not(HasSubstr("average lags"))) << "the starting weights have none";
}

TEST(RunsShow, ATableCountsDampedPairsOfShardAndStep) {
  Workplace place;
  const auto table = place.run(kSmoke);
  ASSERT_EQ(table.status, 0);
  EXPECT_THAT(table.out, HasSubstr("37.5 %"));
  EXPECT_THAT(table.out,
              HasSubstr("Norm clip: of 3 damped updates of lambda-controlled, 1 had the same length "
                        "without the damping."));
}

TEST(RunsShow, ATableSaysHowFarTheEvaluatedAverageLagsUnlessRawWeightsWereEvaluated) {
  Workplace place;
  const auto table = place.run(kSmoke);
  EXPECT_THAT(table.out, HasSubstr("The evaluated average lags the policy, in updates at the selected "
                                   "checkpoints: ratio-norm "));
  EXPECT_THAT(table.out, HasSubstr(" (seed 42), dual "));
  auto raw = kSmoke;
  raw.insert(raw.end(), {"--set", "eval_weights=raw"});
  const auto other = place.run(raw);
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_THAT(other.out, Not(HasSubstr("The evaluated average")));
}

TEST(RunsShow, AnUnknownIdNamesTheNearestAndAnAmbiguousOneAllThatItMayMean) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto id = run_of(place, "dual");
  auto wrong = id;
  wrong[3] = wrong[3] == '0' ? '1' : '0';
  const auto unknown = place.run({"runs", "show", wrong});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"" + id + "\" (dual, seed 42)?"));
  const auto ambiguous = place.run({"runs", "show", ""});
  EXPECT_EQ(ambiguous.status, 2);
  EXPECT_THAT(ambiguous.err, HasSubstr("there is no run \"\""));
  EXPECT_EQ(place.run({"runs"}).status, 2);
}

TEST(RunsShow, AStartThatWasKilledIsAnInterruption) {
  Workplace place;
  place.environment["HARNESS_FAKE_DELAY_US"] = "200000";
  place.environment["HARNESS_FAKE_KIND"] = "train";
  const auto pid = place.start(kSmoke);
  ASSERT_TRUE(wait_until([&] { return begun(place, false).has_value(); }));
  ::kill(pid, SIGKILL);
  place.wait(pid);
  const auto id = begun(place, false)->filename().string();
  ASSERT_TRUE(wait_until([&] { return !event_log_is_held(place.folder() / "runs" / id / "events.log"); }));
  const auto listed = place.json({"list", "runs", "--json"});
  const auto run = std::ranges::find_if(listed, [&](const Json& r) { return r.at("name") == id; });
  EXPECT_EQ(run->at("state"), "interrupted");
  place.environment.erase("HARNESS_FAKE_DELAY_US");
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto report = place.json({"runs", "show", id, "--json"});
  EXPECT_EQ(report.at("state"), "done");
  EXPECT_EQ(report.at("wall_time").at("training").at("starts"), 2);
  ASSERT_EQ(report.at("interruptions").size(), 1u);
  EXPECT_EQ(report.at("interruptions").at(0).at("ending"), "interrupted");
  EXPECT_THAT(place.run({"runs", "show", id}).out, HasSubstr("interruptions"));
}

TEST(ListRuns, SaysRunningOnlyOfARunThatAProcessHolds) {
  Workplace place;
  place.environment["HARNESS_FAKE_DELAY_US"] = "200000";
  place.environment["HARNESS_FAKE_KIND"] = "train";
  const auto pid = place.start(kSmoke);
  ASSERT_TRUE(wait_until([&] { return begun(place, false).has_value(); }));
  std::map<std::string, int> states;
  for (const auto& run : place.json({"list", "runs", "--json"})) ++states[run.at("state")];
  EXPECT_EQ(states, (std::map<std::string, int>{{"done", 1}, {"running", 1}, {"planned", 2}}));
  ::kill(pid, SIGTERM);
  place.wait(pid);
  place.environment["HARNESS_FAKE_MODE"] = "fail";
  EXPECT_EQ(place.run(kSmoke).status, 1);
  states.clear();
  for (const auto& run : place.json({"list", "runs", "--json"})) ++states[run.at("state")];
  EXPECT_EQ(states["running"], 0);
  EXPECT_EQ(states["failed"], 1);
}

TEST(RunsRm, RefusesARunThatATableUsesUnlessForced) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto id = run_of(place, "dual");
  const auto refused = place.run({"runs", "rm", id, "--yes"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("is used by sd35-ocr (experiment 1, scale smoke)"));
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  EXPECT_TRUE(fs::exists(place.folder() / "runs" / id));
  const auto removed = place.json({"runs", "rm", id, "--yes", "--force", "--json"});
  EXPECT_EQ(removed.at("removed").at(0).at("name"), id);
  EXPECT_EQ(removed.at("removed").at(0).at("experiments").at(0).at("experiment"), 1);
  EXPECT_EQ(removed.at("removed").at(0).at("experiments").at(0).at("table"), "sd35-ocr");
  EXPECT_FALSE(fs::exists(place.folder() / "runs" / id));
  EXPECT_EQ(query(place, "SELECT count(*) AS n FROM runs WHERE id = '" + id + "'"), "n\n0\n");
  EXPECT_EQ(place.json({"list", "experiments", "--json"}), Json::array());
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
  // The others are as they were, so that the command only repeats what is gone.
  EXPECT_EQ(place.run(kSmoke).status, 0);
}

/// What a shell shows of `harness WORDS`, whose streams are `streams`, and its exit status.
std::pair<std::string, int> shown(const Workplace& place, const std::string& words,
                                  const std::string& streams) {
  const auto outcome =
      shell(HARNESS_BINARY_DIR "/harness " + words + " " + streams, {.folder = place.folder()});
  return {outcome.out, outcome.status};
}

TEST(RunsRm, AsksAndWithoutATerminalWantsYes) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto id = run_of(place, "dual");
  // Tests may run on a terminal.
  const auto [said, status] = shown(place, "runs rm " + id + " --force", "</dev/null 2>&1");
  EXPECT_EQ(status, 2);
  EXPECT_THAT(said, HasSubstr("add --yes"));
  EXPECT_TRUE(fs::exists(place.folder() / "runs" / id));
}

TEST(RunsRm, NamesTheRunsThenTheirExperimentsThenWhereTheFoldersAre) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto first = run_of(place, "dual"), second = run_of(place, "ratio-norm");
  const auto [said, status] =
      shown(place, "runs rm " + first + " " + second + " --yes --force", "</dev/null 2>&1");
  EXPECT_EQ(status, 0) << said;
  const std::string experiment = "removed experiment 1 (table sd35-ocr, scale smoke), which used it\n";
  std::size_t at = 0;
  for (const auto& part : {"removed run " + first, experiment, "removed run " + second,
                           std::string("folders are kept in runs/.trash")}) {
    const auto found = said.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " in " << said;
    at = found + 1;
  }
  EXPECT_EQ(said.find(experiment), said.rfind(experiment)) << "once, though two runs belonged to it";
}

TEST(RunsRm, WhatItRemovedIsToldWhereTheAnswerCannotBeWritten) {
  for (const std::string json : {"", " --json"}) {
    Workplace place;
    ASSERT_EQ(place.run(kSmoke).status, 0);
    const auto id = run_of(place, "dual");
    const auto [said, status] = shown(place, "runs rm " + id + " --yes --force" + json, "2>&1 >/dev/full");
    EXPECT_EQ(status, 1);
    EXPECT_THAT(said, HasSubstr("removed run " + id + " (dual, seed 42); `harness runs restore " + id + "`"));
    EXPECT_THAT(said, HasSubstr("removed experiment 1"));
    EXPECT_THAT(said, HasSubstr("cannot write to standard output"));
    EXPECT_EQ(place.run({"runs", "restore", id}).status, 0);
  }
}

TEST(RunsRm, RefusesWhatALivingProcessHolds) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto id = run_of(place, "dual");
  {
    const EventLogWriter held(place.folder() / "runs" / id / "events.log");
    const auto refused = place.run({"runs", "rm", id, "--yes", "--force"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("is held by a living process"));
  }
  place.environment["HARNESS_FAKE_DELAY_US"] = "50000";
  const auto pid = place.start({"reproduce", "--table", "sd35-ocr", "--scale", "smoke", "--seeds", "7"});
  ASSERT_TRUE(wait_until([&] {
    const auto lock = place.folder() / "runs/.lock";
    return event_log_is_held(lock) && read_file(lock).find(std::to_string(pid)) == 0;
  }));
  const auto refused = place.run({"runs", "rm", id, "--yes", "--force"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("pid " + std::to_string(pid)));
  ::kill(pid, SIGTERM);
  place.wait(pid);
  EXPECT_TRUE(fs::exists(place.folder() / "runs" / id));
}

/// Runs the program with a library that kills it at `call` of a path that holds `path`.
Outcome killed_at(Workplace& place, const std::string& call, const std::string& path,
                  const std::vector<std::string>& arguments, const std::string& count = "1") {
  const auto usual = place.environment;
  place.environment["LD_PRELOAD"] = HARNESS_BINARY_DIR "/tests/libharness-faulty-disk.so";
  place.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0";
  place.environment["HARNESS_DISK_KILL"] = call;
  place.environment["HARNESS_DISK_PATH"] = path;
  place.environment["HARNESS_DISK_FROM"] = count;
  const auto outcome = place.run(arguments);
  place.environment = usual;
  return outcome;
}

fs::path trash(const Workplace& place) {
  return place.folder() / "runs/.trash";
}

TEST(RunsRm, KilledBeforeTheRowsAreGoneLeavesEverythingAsItWas) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto rows = place.metric_rows();
  const auto id = run_of(place, "dual");
  EXPECT_EQ(killed_at(place, "rename", "removed.json", {"runs", "rm", id, "--yes", "--force"}).status,
            1000 + SIGKILL);
  EXPECT_EQ(place.metric_rows(), rows);
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
  EXPECT_EQ(place.run({"runs", "rm", id, "--yes", "--force"}).status, 0);
  EXPECT_TRUE(fs::exists(trash(place) / id / "run/job.json"));
}

// Between the rows and the folder.
TEST(RunsRm, KilledBeforeTheFolderMovesCanGoOnEndOrBeUndone) {
  for (const std::string way : {"go on", "end", "undo"}) {
    Workplace place;
    ASSERT_EQ(place.run(kSmoke).status, 0);
    const auto rows = place.metric_rows();
    const auto id = run_of(place, "dual");
    EXPECT_EQ(killed_at(place, "rename", id + "/run", {"runs", "rm", id, "--yes", "--force"}).status,
              1000 + SIGKILL);
    // The rows are gone as a whole, and the folder stands whole under the run's name.
    EXPECT_EQ(query(place, "SELECT count(*) AS n FROM runs WHERE id = '" + id + "'"), "n\n0\n");
    const auto check = place.run({"db", "check"});
    EXPECT_EQ(check.status, 1) << "the folder that is left is a finding";
    EXPECT_THAT(check.out, HasSubstr("`harness runs rm " + id + "` ends it"));
    EXPECT_THAT(check.out, HasSubstr("`harness runs restore " + id + "` undoes it"));
    if (way == "go on") {
      // A whole folder is read again by the next reproduce: nothing is trained twice.
      place.environment["HARNESS_FAKE_MODE"] = "die";
      EXPECT_EQ(place.run(kSmoke).status, 0);
      EXPECT_EQ(place.metric_rows(), rows);
    } else if (way == "end") {
      EXPECT_EQ(place.run({"runs", "rm", id, "--yes"}).status, 0);
      EXPECT_FALSE(fs::exists(place.folder() / "runs" / id));
      EXPECT_EQ(place.run({"runs", "restore", id}).status, 0) << "what was written down first is still known";
      EXPECT_EQ(place.metric_rows(), rows);
    } else {
      EXPECT_EQ(place.run({"runs", "restore", id}).status, 0);
      EXPECT_EQ(place.metric_rows(), rows);
    }
    EXPECT_EQ(place.run({"db", "check"}).status, 0);
  }
}

TEST(RunsRm, WhatItRemovedIsInTheTrashAndRestoreBringsRunAndExperimentBack) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto rows = place.metric_rows();
  const auto table = place.run({"table"}).out;
  const auto experiments = place.run({"list", "experiments"}).out;
  const auto id = run_of(place, "dual");
  const auto removed = place.run({"runs", "rm", id, "--yes", "--force"});
  EXPECT_EQ(removed.status, 0) << removed.err;
  EXPECT_THAT(removed.out, HasSubstr("`harness runs restore " + id + "` brings it back"));
  EXPECT_TRUE(fs::exists(trash(place) / id / "run/job.json"));
  const auto entry = read_json(trash(place) / id / "removed.json");
  EXPECT_EQ(entry.at("label"), "dual, seed 42");
  EXPECT_EQ(entry.at("by"), "runs rm");
  EXPECT_THAT(entry.at("from").get<std::string>(), HasSubstr(id));
  EXPECT_EQ(place.json({"list", "experiments", "--json"}), Json::array());
  const auto restored = place.run({"runs", "restore", id.substr(0, 8)});
  EXPECT_EQ(restored.status, 0) << restored.err;
  EXPECT_THAT(restored.out, HasSubstr("restored experiment 1"));
  EXPECT_EQ(place.metric_rows(), rows);
  EXPECT_EQ(place.run({"table"}).out, table);
  EXPECT_EQ(place.run({"list", "experiments"}).out, experiments);
  EXPECT_FALSE(fs::exists(trash(place) / id));
  const auto checked = place.run({"db", "check"});
  EXPECT_EQ(checked.status, 0) << checked.out;
  ASSERT_EQ(place.run({"db", "rebuild"}).status, 0);
  EXPECT_EQ(place.run({"table"}).out, table);
  EXPECT_EQ(place.run({"runs", "restore", id}).status, 2) << "it is not in the trash";
}

TEST(RunsRestore, AnExperimentComesBackWithTheLastOfItsRuns) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto first = run_of(place, "dual"), second = run_of(place, "ratio-norm");
  ASSERT_EQ(place.run({"runs", "rm", first, "--yes", "--force"}).status, 0);
  ASSERT_EQ(place.run({"runs", "rm", second, "--yes"}).status, 0) << "no experiment rests on it any more";
  const auto half = place.run({"runs", "restore", first});
  EXPECT_EQ(half.status, 0) << half.err;
  EXPECT_THAT(half.err, HasSubstr("experiment 1 comes back once its other runs are restored"));
  EXPECT_EQ(place.json({"list", "experiments", "--json"}), Json::array());
  EXPECT_THAT(place.run({"runs", "restore", second}).out, HasSubstr("restored experiment 1"));
  EXPECT_EQ(place.json({"list", "experiments", "--json"}).size(), 1u);
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
}

TEST(RunsRestore, ARunThatCannotBeReadAgainStaysInTheTrash) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto id = run_of(place, "dual");
  ASSERT_EQ(place.run({"runs", "rm", id, "--yes", "--force"}).status, 0);
  const auto log = trash(place) / id / "run/events.log";
  auto bytes = read_file(log);
  bytes[bytes.size() / 2] ^= 1;
  write_file_atomically(log, bytes);
  const auto journal = read_file(place.folder() / "runs/journal.log");
  const auto refused = place.run({"runs", "restore", id});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("it stays in the trash"));
  EXPECT_TRUE(fs::exists(log));
  EXPECT_FALSE(fs::exists(place.folder() / "runs" / id));
  EXPECT_EQ(read_file(place.folder() / "runs/journal.log"), journal);
  EXPECT_EQ(query(place, "SELECT count(*) AS n FROM runs WHERE id = '" + id + "'"), "n\n0\n");
}

// Its rows were made from the logs: without them it would come back as a run that was never begun.
TEST(RunsRestore, ARunWhoseLogsWereGoneOrAreCutShortIsRefusedUntilTheyAreBack) {
  for (const std::string way : {"gone before", "gone since", "cut short"}) {
    Workplace place;
    ASSERT_EQ(place.run(kSmoke).status, 0);
    const auto rows = place.metric_rows();
    const auto id = run_of(place, "dual");
    const auto log = place.folder() / "runs" / id / "events.log", kept = trash(place) / id / "run/events.log";
    const auto bytes = read_file(log);
    if (way == "gone before") {
      fs::remove(log);
      const auto asked = place.run({"runs", "rm", id, "--yes"});
      EXPECT_EQ(asked.status, 1);
      EXPECT_THAT(asked.err,
                  HasSubstr("lacks events.log: `harness runs restore` could not bring its rows back"));
      EXPECT_EQ(place.metric_rows(), rows);
    }
    const auto removed = place.run({"runs", "rm", id, "--yes", "--force"});
    EXPECT_EQ(removed.status, 0) << removed.err;
    EXPECT_EQ(
        removed.out.find("needs events.log back in the trash first, which is gone") != std::string::npos,
        way == "gone before")
        << removed.out;
    if (way == "gone since") fs::remove(kept);
    if (way == "cut short") write_file_atomically(kept, bytes.substr(0, bytes.find('\n') + 1));
    const auto journal = read_file(place.folder() / "runs/journal.log");
    const auto refused = place.run({"runs", "restore", id});
    EXPECT_EQ(refused.status, 1) << way;
    EXPECT_THAT(refused.err,
                HasSubstr("run " + id + " (dual, seed 42) cannot be restored: events.log is gone"));
    EXPECT_THAT(refused.err, HasSubstr("the run stays in the trash"));
    EXPECT_TRUE(fs::exists(trash(place) / id / "run/job.json"));
    EXPECT_FALSE(fs::exists(place.folder() / "runs" / id));
    EXPECT_EQ(read_file(place.folder() / "runs/journal.log"), journal);
    write_file_atomically(kept, bytes);
    const auto restored = place.run({"runs", "restore", id});
    EXPECT_EQ(restored.status, 0) << restored.err;
    EXPECT_EQ(place.metric_rows(), rows);
  }
}

TEST(RunsRestore, KilledInBetweenCanBeRepeated) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto rows = place.metric_rows();
  const auto id = run_of(place, "dual");
  ASSERT_EQ(place.run({"runs", "rm", id, "--yes", "--force"}).status, 0);
  EXPECT_EQ(killed_at(place, "rename", ".removed-", {"runs", "restore", id}).status, 1000 + SIGKILL);
  EXPECT_EQ(place.metric_rows(), rows) << "its rows came back before its place in the trash went";
  ASSERT_EQ(place.run(kSmoke).status, 0);
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
}

TEST(RunsPrune, ListsWhatIsInTheTrashAndDeletesItForGood) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  EXPECT_THAT(place.run({"runs", "prune", "--yes"}).out, HasSubstr("nothing to prune"));
  const auto id = run_of(place, "dual");
  ASSERT_EQ(place.run({"runs", "rm", id, "--yes", "--force"}).status, 0);
  const auto listed = place.run({"runs", "prune", "--dry-run"});
  EXPECT_EQ(listed.status, 0) << listed.err;
  for (const auto* part : {id.c_str(), "dual, seed 42", "runs rm", "would free"})
    EXPECT_THAT(listed.out, HasSubstr(part));
  EXPECT_TRUE(fs::exists(trash(place) / id));
  const auto document = place.json({"runs", "prune", "--dry-run", "--json"});
  EXPECT_GT(document.at("bytes").get<double>(), 1000);
  // In the middle of its files; what is half deleted is no entry any more.
  EXPECT_EQ(killed_at(place, "unlinkat", ".png", {"runs", "prune", "--yes"}, "5").status, 1000 + SIGKILL);
  EXPECT_EQ(place.run({"runs", "restore", id}).status, 2);
  const auto pruned = place.run({"runs", "prune", "--yes"});
  EXPECT_EQ(pruned.status, 0) << pruned.err;
  EXPECT_FALSE(fs::exists(trash(place)));
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
}

TEST(Fresh, PutsWhatWasThereIntoTheTrash) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto id = run_of(place, "dual");
  const auto fresh = place.run({"reproduce", "--table", "sd35-ocr", "--scale", "smoke", "--fresh"});
  EXPECT_EQ(fresh.status, 0) << fresh.err;
  EXPECT_THAT(fresh.err, HasSubstr("`harness runs prune` frees the disk"));
  EXPECT_EQ(read_json(trash(place) / id / "removed.json").at("by"), "reproduce --fresh");
  const auto refused = place.run({"runs", "restore", id});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("it was trained anew since"));
  EXPECT_TRUE(fs::exists(trash(place) / id / "run"));
}

TEST(RunsRm, ARunThatTheJournalRecordsAndTheDbLacksIsNoStrayFolder) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto id = run_of(place, "dual");
  fs::remove(place.folder() / "runs/results.sqlite");
  ASSERT_EQ(place.run({"reproduce", "--table", "sd35-ocr", "--scale", "smoke", "--out", "other"}).status, 0);
  fs::copy_file(place.folder() / "other/results.sqlite", place.folder() / "empty.sqlite");
  {
    SQLite::Database db((place.folder() / "empty.sqlite").string(), SQLite::OPEN_READWRITE);
    for (const char* table :
         {"comparisons", "alarms", "artifacts", "reproduction_evaluations", "reproduction_runs",
          "reproductions", "events", "jobs", "metrics", "samples", "table_evaluations", "evaluations",
          "selections", "train_stats", "checkpoints", "table_runs", "runs"})
      db.exec(std::string("DELETE FROM ") + table);
  }
  fs::rename(place.folder() / "empty.sqlite", place.folder() / "runs/results.sqlite");
  const auto refused = place.run({"runs", "rm", id, "--yes", "--force"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("lacks its rows"));
  EXPECT_THAT(refused.err, HasSubstr("harness db rebuild"));
  EXPECT_TRUE(fs::exists(place.folder() / "runs" / id / "job.json"));
}

/// A second workspace of the same place that lacks the run of dual, whose folder is copied into it.
std::string copy_dual_to(Workplace& place, const std::string& workspace) {
  EXPECT_EQ(place.run(kSmoke).status, 0);
  auto smaller = kSmoke;
  smaller.insert(smaller.end(), {"--methods", "ratio-norm", "--out", workspace});
  EXPECT_EQ(place.run(smaller).status, 0);
  const auto id = run_of(place, "dual");
  fs::copy(place.folder() / "runs" / id, place.folder() / workspace / id, fs::copy_options::recursive);
  return id;
}

TEST(RunsAdopt, ACopiedFolderIsTakenInAndReproduceRunsNothingOfItAgain) {
  Workplace place;
  const auto id = copy_dual_to(place, "there");
  const auto check = place.run({"db", "check", "--out", "there"});
  EXPECT_EQ(check.status, 1);
  EXPECT_THAT(check.out, HasSubstr("`harness runs adopt " + id + " --out there` takes it in"));
  EXPECT_THAT(check.err, Not(HasSubstr("db rebuild"))) << "no row is wrong";
  const auto adopted = place.json({"runs", "adopt", id.substr(0, 8), "--out", "there", "--json"});
  EXPECT_EQ(adopted.at("adopted").at(0).at("name"), id);
  EXPECT_GT(adopted.at("adopted").at(0).at("evaluations").get<int>(), 0);
  EXPECT_EQ(adopted.at("adopted").at(0).at("left_to_reproduce"), 1) << "the test split needs a selection";
  EXPECT_EQ(place.json({"runs", "show", id, "--out", "there", "--json"}).at("state"), "done");
  EXPECT_THAT(place.run({"list", "runs", "--out", "there"}).out, HasSubstr(id + "  (adopted)"));
  for (const auto& run : place.json({"list", "runs", "--out", "there", "--json"}))
    EXPECT_EQ(run.at("table"), run.at("name") == id ? "" : "sd35-ocr");
  const auto sound = place.run({"db", "check", "--out", "there"});
  EXPECT_EQ(sound.status, 0) << sound.out;
  ASSERT_EQ(place.run({"db", "rebuild", "--out", "there"}).status, 0);
  EXPECT_EQ(place.json({"runs", "show", id, "--out", "there", "--json"}).at("tables"), Json::array());
  place.environment["HARNESS_FAKE_MODE"] = "die";
  auto both = kSmoke;
  both.insert(both.end(), {"--methods", "ratio-norm,dual", "--out", "there"});
  const auto made = place.run(both);
  EXPECT_EQ(made.status, 0) << made.err;
  const auto rows =
      "SELECT count(*) AS n FROM metrics AS m JOIN evaluations AS e ON e.id = m.evaluation_id "
      "JOIN checkpoints AS c ON c.id = e.checkpoint_id WHERE c.run_id = '" +
      id + "'";
  EXPECT_EQ(place.run({"query", rows, "--format", "csv", "--db", "there/results.sqlite"}).out,
            query(place, rows));
  EXPECT_EQ(place.json({"runs", "show", id, "--out", "there", "--json"}).at("tables").at(0).at("table"),
            "sd35-ocr");
  EXPECT_EQ(place.run({"db", "check", "--out", "there"}).status, 0);
}

TEST(RunsAdopt, FoldersAloneMakeAWorkspace) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  std::vector<std::string> adopt = {"runs", "adopt", "--out", "bare"};
  fs::create_directories(place.folder() / "bare");
  for (const auto& run : place.json({"list", "runs", "--json"})) {
    const auto id = run.at("name").get<std::string>();
    fs::copy(place.folder() / "runs" / id, place.folder() / "bare" / id, fs::copy_options::recursive);
    adopt.push_back(id);
  }
  const auto adopted = place.run(adopt);
  EXPECT_EQ(adopted.status, 0) << adopted.err;
  EXPECT_EQ(place.run({"db", "check", "--out", "bare"}).status, 0);
  place.environment["HARNESS_FAKE_MODE"] = "die";
  auto again = kSmoke;
  again.insert(again.end(), {"--out", "bare"});
  const auto made = place.run(again);
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(place.metric_rows("bare/results.sqlite"), place.metric_rows());
}

TEST(RunsAdopt, WhatIsNotWholeIsRefusedAndChangesNothing) {
  Workplace place;
  const auto id = copy_dual_to(place, "there");
  const auto folder = place.folder() / "there" / id, original = place.folder() / "runs" / id;
  const auto flip = [](const fs::path& file) {
    auto bytes = read_file(file);
    bytes[bytes.size() / 2] ^= 1;
    write_file_atomically(file, bytes);
  };
  const auto some = [&](const std::string& part, const std::string& below = "eval-validation") {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const auto path = entry.path().string();
      if (path.find(below) != std::string::npos && path.ends_with(part)) return entry.path();
    }
    ADD_FAILURE() << part;
    return fs::path();
  };
  const auto without_last_line = [](const fs::path& log) {
    auto bytes = read_file(log);
    bytes.pop_back();
    write_file_atomically(log, bytes.substr(0, bytes.rfind('\n') + 1));
  };
  struct Damage {
    std::function<void()> done;
    const char* said;
  };
  const std::vector<Damage> kinds = {
      {[&] {
         auto job = read_json(folder / "job.json");
         job["identity"]["seed"] = 7;
         write_file_atomically(folder / "job.json", job.dump());
       },
       "its identity has the id"},
      {[&] { flip(folder / "events.log"); }, "events.log"},
      {[&] { without_last_line(folder / "events.log"); }, "its training is not finished"},
      {[&] { without_last_line(some("events.log")); }, "is not finished"},
      {[&] { write_file_atomically(some(".safetensors", "checkpoints"), "no weights"); },
       "model.safetensors: is not the file that was written: SHA-256 "},
      {[&] { fs::remove(some(".safetensors", "checkpoints")); }, "model.safetensors: is not there"},
      {[&] { flip(some("manifest.json", "checkpoints")); }, "is not the file that the run wrote"},
      {[&] { write_file_atomically(some(".png"), "no picture"); }, "not the file that was scored"},
      {[&] { fs::remove(some(".png")); }, "1 gone"},
      {[&] { write_file_atomically(some("positions.json"), "[1]"); }, "is not the list of prompts"},
      {[&] { write_file_atomically(some("positions.json"), "{}"); }, "cannot be adopted"}};
  const auto journal = read_file(place.folder() / "there/journal.log");
  const auto runs = place.run({"list", "runs", "--out", "there"}).out;
  for (const auto& kind : kinds) {
    kind.done();
    const auto refused = place.run({"runs", "adopt", id, "--out", "there"});
    EXPECT_EQ(refused.status, 1) << kind.said;
    EXPECT_THAT(refused.err, HasSubstr(kind.said));
    EXPECT_THAT(refused.err, HasSubstr("cannot be adopted"));
    EXPECT_EQ(read_file(place.folder() / "there/journal.log"), journal) << kind.said;
    EXPECT_EQ(place.run({"list", "runs", "--out", "there"}).out, runs) << kind.said;
    fs::remove_all(folder);
    fs::copy(original, folder, fs::copy_options::recursive);
  }
  EXPECT_EQ(place.run({"runs", "adopt", id, "--out", "there"}).status, 0);
  EXPECT_EQ(place.run({"runs", "adopt", "0000", "--out", "there"}).status, 2);
}

TEST(RunsAdopt, ARefusalLeavesNothingInAWorkspaceThatHadNoRecords) {
  Workplace place;
  const auto id = copy_dual_to(place, "there");
  const auto bare = place.folder() / "bare";
  fs::create_directories(bare);
  fs::copy(place.folder() / "runs" / id, bare / id, fs::copy_options::recursive);
  const auto contents = [&] {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(bare)) names.insert(entry.path().filename().string());
    return names;
  };
  fs::rename(bare / id / "events.log", bare / id / "away");
  EXPECT_EQ(place.run({"runs", "adopt", id, "--out", "bare"}).status, 1);
  EXPECT_EQ(contents(), std::set<std::string>{id});
  EXPECT_EQ(place.run({"runs", "adopt", id, "0123", "--out", "bare"}).status, 2) << "there is no such folder";
  EXPECT_EQ(contents(), std::set<std::string>{id});
  fs::rename(bare / id / "away", bare / id / "events.log");
  const auto adopted = place.run({"runs", "adopt", id, "--out", "bare"});
  EXPECT_EQ(adopted.status, 0) << adopted.err;
}

TEST(RunsAdopt, ARunThatIsThereAlreadyIsNamedHoweverItsIdWasTyped) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto id = run_of(place, "dual");
  for (const auto& typed : {id, id.substr(0, 8)}) {
    const auto refused = place.run({"runs", "adopt", typed});
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("run " + id + " (dual, seed 42) is already in this workspace"));
  }
}

TEST(List, HeadsTheColumnsOfRunsAndExperimentsByWhatTheyHold) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  EXPECT_TRUE(place.run({"list", "runs"}).out.starts_with("id "));
  EXPECT_TRUE(place.run({"list", "experiments"}).out.starts_with("number "));
  EXPECT_TRUE(place.json({"list", "runs", "--json"}).at(0).contains("name"));
  EXPECT_TRUE(place.json({"list", "experiments", "--json"}).at(0).contains("name"));
}

TEST(RunsRm, AFolderWithoutRowsIsRemovedByItsName) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto stray = place.folder() / "runs/00000000000000aa";
  fs::create_directories(stray);
  write_file(stray / "job.json", "{}");
  const auto removed = place.run({"runs", "rm", "00000000000000aa", "--yes"});
  EXPECT_EQ(removed.status, 0) << removed.err;
  EXPECT_THAT(removed.out, HasSubstr("a folder without rows"));
  EXPECT_FALSE(fs::exists(stray));
  EXPECT_THAT(place.run({"runs", "restore", "00000000000000aa"}).out, HasSubstr("which had no rows"));
  EXPECT_TRUE(fs::exists(stray));
  EXPECT_EQ(place.run({"runs", "rm", "00000000000000aa", "--yes"}).status, 0);
  EXPECT_THAT(place.run({"runs", "rm", "../share", "--yes"}).err, HasSubstr("there is no run"));
  EXPECT_TRUE(fs::exists(place.share()));
}

}  // namespace
}  // namespace harness::test

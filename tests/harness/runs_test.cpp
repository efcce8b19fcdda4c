#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <set>

#include "core/event_log.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ListRuns = SmokeTest;

/// Id of the first trained run of a method.
std::string run_of(Workplace& place, const std::string& method) {
  return entry(place.json({"list", "runs", "--json"}), {{"method", method}}).at("name");
}

class RunOfDual : public MadeTest {
 protected:
  const std::string id = run_of(place, "dual"), rows = place.metric_rows();
  const fs::path trash = runs / ".trash";
  /// As it is typed.
  const std::string in_trash = "runs/.trash/" + id;

  /// A second workspace of the same place that lacks the run, and a copy of the run's folder.
  void make_there() {
    ok(smoke({"--methods", "ratio-norm", "--out", "there"}));
    fs::create_directories(place.folder() / "copies");
    fs::copy(runs / id, place.folder() / copied, fs::copy_options::recursive);
  }
  const std::string copied = "copies/" + id;
  const Words import_copied = {"import", copied, "--out", "there"};
};
using RunsShow = RunOfDual;
using ImportRun = RunOfDual;
using RunsRm = RunOfDual;
using ImportRemoved = RunOfDual;
using RunsPrune = RunOfDual;
using Fresh = RunOfDual;
using List = RunOfDual;

TEST_F(RunsShow, SaysWhatARunIsWhatItTookAndWhereItIs) {
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
  const auto& spent = report.at("spent");
  EXPECT_EQ(spent.at("images"), 32 * spent.at("updates").get<int>());
  EXPECT_TRUE(spent.at("gpu_idle").is_null()) << "on a CPU";
  // The means stand there as everywhere else.
  const auto tested =
      std::ranges::find_if(report.at("checkpoints"), [](const Json& c) { return c.at("split") == "test"; });
  ASSERT_NE(tested, report.at("checkpoints").end());
  EXPECT_TRUE(tested->at("selected").get<bool>());
  EXPECT_EQ(tested->at("n_missing"), 1);
  EXPECT_EQ(query("SELECT count(*) AS n FROM v_results WHERE method = 'dual' AND split = 'test' AND metric = "
                  "'cer' AND mean = " +
                  tested->at("metrics").at("cer").dump()),
            "n\n1\n");
  ok({"runs", "show", id}, {"dual on glyph, task ocr, seed 42", "wall time", "training spent", "NFE total",
                            "on disk", "selected", "gamma=0.2"});
}

TEST_F(RunsShow, OfARunThatTwoTablesUseEachEvaluationHasItsOwnRow) {
  place.write("short.json", {{"extends", "sd35-ocr"},
                             {"id", "short"},
                             {"scales", {{"smoke", {{"limit", {{"validation", 10}, {"test", 12}}}}}}}});
  ok(smoke_of("short.json"));
  const auto base = run_of(place, "base");
  const auto report = place.json({"runs", "show", base, "--json"});
  ASSERT_EQ(report.at("checkpoints").size(), 4U) << report.at("checkpoints");
  for (const auto& row : report.at("checkpoints")) {
    const auto sql = fmt::format(
        "SELECT count(*) AS n, avg(value) AS mean FROM metrics WHERE name = 'exact_match' AND evaluation_id = '{}'",
        row.at("evaluation").get<std::string>());
    const auto stored = place.json({"query", sql, "--format", "json"});
    EXPECT_EQ(row.at("n"), stored.at(0).at("n")) << row;
    EXPECT_EQ(row.at("metrics").at("exact_match"), stored.at(0).at("mean")) << row;
  }
  ok({"runs", "show", base}, {"for table", "short (smoke)", "2 evaluations"});
}

TEST_F(RunsShow, ARunThatTwoTablesUseIsListedWithEach) {
  place.write("short.json", {{"extends", "sd35-ocr"}, {"id", "short"}});
  ok(smoke_of("short.json"));
  for (const std::string table : {"sd35-ocr", "short"}) {
    const auto listed = place.json({"list", "runs", "--table", table, "--scale", "smoke", "--json"});
    EXPECT_EQ(listed.size(), 4U) << table;
    for (const auto& run : listed) EXPECT_EQ(run.at("table"), table) << run;
  }
  EXPECT_EQ(place.json({"list", "runs", "--table", "short", "--scale", "default", "--json"}).size(), 0U);
}

TEST_F(RunsShow, SaysHowFarTheAverageOfACheckpointLagsBehindThePolicy) {
  const auto report = place.json({"runs", "show", id, "--json"});
  for (const auto& checkpoint : report.at("checkpoints")) {
    EXPECT_EQ(checkpoint.at("ema_lag"), checkpoint.at("step").get<double>() / 2);
    EXPECT_EQ(checkpoint.at("ema_start_share"), 0.125);
  }
  ok({"runs", "show", id}, {"average lags", "start in it", "12.5 %"});
  const auto base = place.run({"runs", "show", run_of(place, "base")}).out;
  EXPECT_THAT(base, Not(HasSubstr("average lags"))) << "the base model have none";
}

TEST_F(RunsShow, ATableCountsDampedPairs) {
  ok(kSmoke,
     {"37.5 %",
      "Gradient clipping: 1 of 3 damped updates of lambda-controlled had the same length as without damping."});
}

TEST_F(RunsShow, AnUnknownIdNamesTheNearestAndAnAmbiguousOneAllThatItMayMean) {
  auto wrong = id;
  wrong[3] = wrong[3] == '0' ? '1' : '0';
  fails(2, {"runs", "show", wrong}, {"did you mean \"" + id + "\" (dual, seed 42)?"});
  fails(2, {"runs", "show", ""}, {"ID: is empty"});
  fails(2, {"runs"});
}

TEST_F(ListRuns, AStartThatWasKilledIsAnInterruption) {
  const auto busy = place.start_busy(kSmoke, "train");
  place.end(busy, SIGKILL);
  const auto id = busy.folder.filename().string();
  ASSERT_TRUE(wait_until([&] { return !event_log_is_held(busy.folder / "events.log"); }));
  EXPECT_EQ(entry(place.json({"list", "runs", "--json"}), {{"name", id}}).at("state"), "interrupted");
  ok(kSmoke);
  const auto report = place.json({"runs", "show", id, "--json"});
  EXPECT_EQ(report.at("state"), "done");
  EXPECT_EQ(report.at("wall_time").at("training").at("starts"), 2);
  ASSERT_EQ(report.at("interruptions").size(), 1u);
  EXPECT_EQ(report.at("interruptions").at(0).at("ending"), "interrupted");
  place.ok({"runs", "show", id}, {"interruptions"});
}

TEST_F(ListRuns, SaysRunningOnlyOfARunThatAProcessHolds) {
  const auto busy = place.start_busy(kSmoke, "train");
  std::map<std::string, int> states;
  for (const auto& run : place.json({"list", "runs", "--json"})) ++states[run.at("state")];
  EXPECT_EQ(states, (std::map<std::string, int>{{"done", 1}, {"running", 1}, {"waiting", 2}}));
  place.end(busy, SIGTERM);
  place.environment["HARNESS_FAKE_KIND"] = "train";
  place.environment["HARNESS_FAKE_MODE"] = "fail";
  fails(1, kSmoke);
  states.clear();
  for (const auto& run : place.json({"list", "runs", "--json"})) ++states[run.at("state")];
  EXPECT_EQ(states["running"], 0);
  EXPECT_EQ(states["failed"], 1);
}

TEST_F(RunsRm, RefusesARunThatATableUsesUnlessForced) {
  fails(1, {"runs", "rm", id, "--yes"}, {"is used by sd35-ocr (experiment 1, scale smoke)", "--force"});
  EXPECT_TRUE(fs::exists(runs / id));
  const auto removed = place.json({"runs", "rm", id, "--yes", "--force", "--json"});
  EXPECT_EQ(removed.at("removed").at(0).at("name"), id);
  EXPECT_EQ(removed.at("removed").at(0).at("experiments").at(0).at("experiment"), 1);
  EXPECT_EQ(removed.at("removed").at(0).at("experiments").at(0).at("table"), "sd35-ocr");
  EXPECT_FALSE(fs::exists(runs / id));
  EXPECT_EQ(place.count("runs WHERE id = '" + id + "'"), 0);
  EXPECT_EQ(place.json({"list", "experiments", "--json"}), Json::array());
  expect_sound();
  // The others are as they were, so that the command only repeats what is gone.
  ok(kSmoke);
}

/// What a shell shows of `harness WORDS`, whose streams are `streams`, and its exit status.
std::pair<std::string, int> shown(const Workplace& place, const std::string& words,
                                  const std::string& streams) {
  const auto outcome =
      shell(HARNESS_BINARY_DIR "/harness " + words + " " + streams, {.folder = place.folder()});
  return {outcome.out, outcome.status};
}

TEST_F(RunsRm, AsksAndWithoutATerminalWantsYes) {
  // Tests may run on a terminal.
  const auto [said, status] = shown(place, "runs rm " + id + " --force", "</dev/null 2>&1");
  EXPECT_EQ(status, 2);
  EXPECT_THAT(said, HasSubstr("add --yes"));
  EXPECT_TRUE(fs::exists(runs / id));
}

TEST_F(RunsRm, NamesTheRunsThenTheirExperimentsThenWhereTheFoldersAre) {
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

TEST_F(RunsRm, WhatItRemovedIsToldWhereTheAnswerCannotBeWritten) {
  for (const std::string json : {"", " --json"}) {
    make();
    const auto [said, status] = shown(place, "runs rm " + id + " --yes --force" + json, "2>&1 >/dev/full");
    EXPECT_EQ(status, 1);
    EXPECT_THAT(said, HasSubstr("removed run " + id + " (dual, seed 42); `harness import " + in_trash + "`"));
    EXPECT_THAT(said, HasSubstr("removed experiment 1"));
    EXPECT_THAT(said, HasSubstr("cannot write to standard output"));
    ok({"import", in_trash});
  }
}

TEST_F(RunsRm, RefusesWhatALivingProcessHolds) {
  {
    const EventLogWriter held(runs / id / "events.log");
    fails(1, {"runs", "rm", id, "--yes", "--force"}, {"is held by a living process"});
  }
  const auto busy = place.start_busy(smoke({"--seeds", "7"}), "evaluate");
  fails(1, {"runs", "rm", id, "--yes", "--force"}, {"pid " + std::to_string(busy.program)});
  place.end(busy, SIGTERM);
  EXPECT_TRUE(fs::exists(runs / id));
}

/// Runs the program with a library that kills it at `call` of a path that holds `path`.
Outcome killed_at(Workplace& place, const std::string& call, const std::string& path, const Words& arguments,
                  const std::string& count = "1") {
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

// Between the rows and the folder.
TEST_F(RunsRm, KilledBeforeTheFolderMovesCanGoOnEndOrBeUndone) {
  for (const std::string way : {"go on", "end", "undo"}) {
    make();
    EXPECT_EQ(killed_at(place, "rename", ".trash/" + id, {"runs", "rm", id, "--yes", "--force"}).status,
              1000 + SIGKILL);
    // The rows are gone as a whole, and the folder stands whole under the run's name.
    EXPECT_EQ(place.count("runs WHERE id = '" + id + "'"), 0);
    fails(
        1, {"db", "check"}, {},
        {"`harness import runs/" + id + "` takes it in, `harness runs rm " + id + "` moves it to the trash"});
    if (way == "go on") {
      // A whole folder is read again by the next reproduce: nothing is trained twice.
      place.environment["HARNESS_FAKE_MODE"] = "die";
      ok(kSmoke);
      EXPECT_EQ(place.metric_rows(), rows);
    } else if (way == "end") {
      ok({"runs", "rm", id, "--yes"});
      EXPECT_FALSE(fs::exists(runs / id));
      ok({"import", in_trash});
      EXPECT_EQ(place.metric_rows(), rows);
    } else {
      ok({"import", "runs/" + id}, {"experiment 1 (sd35-ocr) is in runs"});
      EXPECT_EQ(place.metric_rows(), rows);
    }
    expect_sound();
  }
}

TEST_F(RunsRm, WhatItRemovedIsInTheTrashAndImportBringsRunAndExperimentBack) {
  const auto table = place.run({"table"}).out;
  const auto experiments = place.run({"list", "experiments"}).out;
  ok({"runs", "rm", id, "--yes", "--force"}, {"`harness import " + in_trash + "` brings it back"});
  EXPECT_TRUE(fs::exists(trash / id / "job.json"));
  EXPECT_EQ(place.json({"list", "experiments", "--json"}), Json::array());
  ok({"import", in_trash}, {"1 new run", "experiment 1 (sd35-ocr) is in runs"});
  EXPECT_EQ(place.metric_rows(), rows);
  EXPECT_EQ(place.run({"table"}).out, table);
  EXPECT_EQ(place.run({"list", "experiments"}).out, experiments);
  expect_sound();
  ok({"db", "rebuild"});
  EXPECT_EQ(place.run({"table"}).out, table);
  const auto logged = read_file(journal);
  ok({"import", in_trash}, {"no run was new", "is already in"});
  EXPECT_EQ(read_file(journal), logged);
}

TEST_F(RunsRm, TheSameRunIsRemovedAndComesBackAsOftenAsOneLikes) {
  for (const auto& name : {id, id + ".2", id + ".3"}) {
    ok({"runs", "rm", id, "--yes", "--force"}, {"`harness import runs/.trash/" + name + "`"});
    ok({"import", "runs/.trash/" + name}, {"1 new run", "experiment 1 (sd35-ocr) is in runs"});
    EXPECT_EQ(place.metric_rows(), rows);
    expect_sound();
  }
}

TEST_F(ImportRemoved, AnExperimentComesBackWithTheLastOfItsRuns) {
  const auto first = run_of(place, "dual"), second = run_of(place, "ratio-norm");
  for (const std::string again : {"", ".2"}) {
    ok({"runs", "rm", first, "--yes", "--force"});
    ok({"runs", "rm", second, "--yes"});  // no experiment rests on it any more
    ok({"import", "runs/.trash/" + first + again}, {"1 run, 0 experiments"});
    EXPECT_EQ(place.json({"list", "experiments", "--json"}), Json::array());
    ok({"import", "runs/.trash/" + second + again}, {"experiment 1 (sd35-ocr) is in runs"});
    EXPECT_EQ(place.json({"list", "experiments", "--json"}).size(), 1u);
    EXPECT_EQ(place.metric_rows(), rows);
    expect_sound();
  }
}

TEST_F(ImportRemoved, AnExperimentWhoseOtherRunsWereMadeAnewWithoutItsEvaluationsIsLeftOut) {
  const auto other = run_of(place, "ratio-norm");
  ok({"runs", "rm", id, other, "--yes", "--force"});
  place.write("short.json", {{"extends", "sd35-ocr"},
                             {"id", "short"},
                             {"scales", {{"smoke", {{"limit", {{"validation", 10}, {"test", 12}}}}}}}});
  ok(with(smoke_of("short.json"), {"--methods", "ratio-norm"}));
  ok({"import", in_trash}, {"1 new run"});
  EXPECT_EQ(place.json({"list", "experiments", "--json"}).size(), 1u);
  expect_sound();
}

TEST_F(ImportRemoved, OneThatWasInterruptedCanBeGoneOnWith) {
  begin_anew();
  const auto busy = place.start_busy(kSmoke, "train");
  place.end(busy, SIGKILL);
  const auto run = busy.folder.filename().string();
  ok({"runs", "rm", run, "--yes"});
  ok({"import", "runs/.trash/" + run}, {"1 new run"});
  EXPECT_EQ(place.json({"runs", "show", run, "--json"}).at("name"), run);
  ok(kSmoke);
  expect_sound();
}

// Its rows were made from the logs: without them it would come back as a run that was never begun.
TEST_F(ImportRemoved, ARunWhoseLogsAreDamagedGoneOrCutShortIsRefusedUntilTheyAreBack) {
  for (const std::string way : {"gone before", "gone since", "cut short", "damaged"}) {
    make();
    const auto log = runs / id / "events.log", kept = trash / id / "events.log";
    const auto bytes = read_file(log);
    if (way == "gone before") {
      fs::remove(log);
      fails(1, {"runs", "rm", id, "--yes"},
            {"lacks events.log: `harness import` could not bring its rows back"});
      EXPECT_EQ(place.metric_rows(), rows);
    }
    const auto outcome = ok({"runs", "rm", id, "--yes", "--force"});
    EXPECT_EQ(
        outcome.out.find("needs events.log back in the trash first, which is gone") != std::string::npos,
        way == "gone before")
        << outcome.out;
    if (way == "gone since") fs::remove(kept);
    if (way == "cut short") write_file_atomically(kept, bytes.substr(0, bytes.find('\n') + 1));
    if (way == "damaged") damage(kept);
    const auto records = read_file(journal);
    fails(way == "damaged" ? 2 : 1, {"import", in_trash}, {in_trash});
    EXPECT_TRUE(fs::exists(trash / id / "job.json"));
    EXPECT_FALSE(fs::exists(runs / id));
    EXPECT_EQ(read_file(journal), records);
    EXPECT_EQ(place.count("runs WHERE id = '" + id + "'"), 0);
    write_file_atomically(kept, bytes);
    ok({"import", in_trash});
    EXPECT_EQ(place.metric_rows(), rows);
  }
}

TEST_F(ImportRemoved, KilledBeforeAndAfterTheRowsAreThereCanBeRepeated) {
  ok({"runs", "rm", id, "--yes", "--force"});
  EXPECT_EQ(killed_at(place, "rename", "runs/" + id, {"import", in_trash}).status, 1000 + SIGKILL);
  EXPECT_EQ(place.count("runs WHERE id = '" + id + "'"), 0);
  ok({"import", in_trash}, {"1 new run", "experiment 1 (sd35-ocr) is in runs"});
  EXPECT_EQ(place.metric_rows(), rows);
  ok({"runs", "rm", id, "--yes", "--force"});
  fs::rename(trash / (id + ".2"), runs / id);
  // Its copy for the time of the import goes after the rows have come.
  EXPECT_EQ(killed_at(place, "unlinkat", "events.log", {"import", "runs/" + id}).status, 1000 + SIGKILL);
  EXPECT_EQ(place.metric_rows(), rows);
  ok({"import", "runs/" + id}, {"no run was new", "is already in"});
  ok(kSmoke);
  expect_sound();
}

TEST_F(RunsPrune, ListsWhatIsInTheTrashAndDeletesItForGood) {
  EXPECT_THAT(place.run({"runs", "prune", "--yes"}).out, HasSubstr("nothing to prune"));
  ok({"runs", "rm", id, "--yes", "--force"});
  ok({"runs", "prune", "--dry-run"}, {id, "dual, seed 42", "would free"});
  EXPECT_TRUE(fs::exists(trash / id));
  const auto document = place.json({"runs", "prune", "--dry-run", "--json"});
  EXPECT_GT(document.at("bytes").get<double>(), 1000);
  // In the middle of its files; what is half deleted is no entry any more.
  EXPECT_EQ(killed_at(place, "unlinkat", ".png", {"runs", "prune", "--yes"}, "5").status, 1000 + SIGKILL);
  fails(2, {"import", in_trash});
  ok({"runs", "prune", "--yes"});
  EXPECT_FALSE(fs::exists(trash));
  expect_sound();
}

TEST_F(Fresh, PutsWhatWasThereIntoTheTrash) {
  ok(smoke({"--fresh"}), {}, {"`harness runs prune` frees the disk"});
  EXPECT_TRUE(fs::exists(trash / id / "job.json"));
  ok({"import", in_trash}, {"no run was new"});  // it was trained anew since, with the same results
  EXPECT_EQ(place.metric_rows(), rows);
  expect_sound();
}

TEST_F(Fresh, TakesExperimentsOfOtherCommandsOnlyWhereRmWouldTakeThem) {
  ok(smoke({"--methods", "ratio-norm"}));
  const auto experiments = ok({"list", "experiments"}).out;
  // Experiment 1 has dual as well, and would not be made again.
  const auto fresh = smoke({"--methods", "ratio-norm", "--fresh"});
  for (const Words& more : {Words{}, Words{"--yes"}, Words{"--dry-run"}})
    fails(2, with(fresh, more),
          {"--fresh: ", " are used by sd35-ocr (experiment 1, scale smoke)", "--force removes them"});
  fails(2, with(fresh, {"--force"}),
        {"asks before deleting, but standard input is not a terminal", "add --yes"});
  EXPECT_EQ(ok({"list", "experiments"}).out, experiments);
  EXPECT_EQ(place.metric_rows(), rows);
  EXPECT_FALSE(fs::exists(trash));
  ok(with(fresh, {"--force", "--yes"}), {}, {"--fresh drops experiment 1"});
  EXPECT_EQ(place.json({"list", "experiments", "--json"}).size(), 1U);
  expect_sound();
}

TEST_F(Fresh, OfOneTableAsksForTheExperimentsOfAnotherThatHasItsRuns) {
  place.write("mine.json", {{"extends", "sd35-ocr"}, {"id", "mine"}, {"reproduces", ""}});
  ok(smoke_of("mine.json"));
  const auto outcome = fails(2, smoke({"--fresh"}), {"used by mine (experiment 2, scale smoke)"});
  EXPECT_THAT(outcome.err, Not(HasSubstr("sd35-ocr (experiment 1"))) << "that one is made again";
}

TEST_F(Fresh, TakesItsOwnExperimentWithoutAQuestionAndForceAndYesBelongToIt) {
  ok(smoke({"--fresh"}));
  fails(2, smoke({"--force"}), {"--force: is for --fresh"});
  fails(2, smoke({"--yes"}), {"--yes: is for --fresh"});
}

TEST_F(RunsRm, ARunThatTheJournalRecordsAndTheDbLacksIsNoStrayFolder) {
  fs::remove(db);
  ok(smoke({"--out", "other"}));
  fs::copy_file(place.folder() / "other/results.sqlite", place.folder() / "empty.sqlite");
  {
    SQLite::Database empty((place.folder() / "empty.sqlite").string(), SQLite::OPEN_READWRITE);
    for (const char* table :
         {"comparisons", "alarms", "artifacts", "reproduction_evaluations", "reproduction_runs",
          "reproductions", "events", "jobs", "metrics", "samples", "table_evaluations", "evaluations",
          "selections", "train_stats", "checkpoints", "table_runs", "runs", "journals"})
      empty.exec(std::string("DELETE FROM ") + table);
  }
  fs::rename(place.folder() / "empty.sqlite", db);
  fails(1, {"runs", "rm", id, "--yes", "--force"}, {"lacks its rows", "harness db rebuild"});
  EXPECT_TRUE(fs::exists(runs / id / "job.json"));
}

TEST_F(ImportRun, ACopiedFolderIsTakenInAndReproduceRunsNothingOfItAgain) {
  make_there();
  fs::copy(runs / id, place.folder() / "there" / id, fs::copy_options::recursive);
  const auto check = fails(1, {"db", "check", "--out", "there"}, {},
                           {"`harness import there/" + id + " --out there` takes it in"});
  EXPECT_THAT(check.err, Not(HasSubstr("db rebuild"))) << "no row is wrong";
  const auto imported = place.json({"import", "there/" + id, "--out", "there", "--json"});
  EXPECT_EQ(imported.at("sources").at(0).at("kind"), "run");
  EXPECT_EQ(imported.at("experiments"), Json::array());
  EXPECT_THAT(imported.at("notes").dump(),
              HasSubstr("1 evaluation of run " + id + " on the test split left to"))
      << "the test split needs a selection";
  EXPECT_EQ(place.json({"runs", "show", id, "--out", "there", "--json"}).at("state"), "done");
  place.ok({"list", "runs", "--out", "there"}, {id + "  (imported)"});
  for (const auto& run : place.json({"list", "runs", "--out", "there", "--json"}))
    EXPECT_EQ(run.at("table"), run.at("name") == id ? "" : "sd35-ocr");
  expect_sound({"--out", "there"});
  ok({"db", "rebuild", "--out", "there"});
  EXPECT_EQ(place.json({"runs", "show", id, "--out", "there", "--json"}).at("tables"), Json::array());
  place.environment["HARNESS_FAKE_MODE"] = "die";
  ok(smoke({"--methods", "ratio-norm,dual", "--out", "there"}));
  const auto of_run =
      "SELECT count(*) AS n FROM metrics AS m JOIN evaluations AS e ON e.id = m.evaluation_id "
      "JOIN checkpoints AS c ON c.id = e.checkpoint_id WHERE c.run_id = '" +
      id + "'";
  EXPECT_EQ(place.run({"query", of_run, "--format", "csv", "--db", "there/results.sqlite"}).out,
            query(of_run));
  EXPECT_EQ(place.json({"runs", "show", id, "--out", "there", "--json"}).at("tables").at(0).at("table"),
            "sd35-ocr");
  expect_sound({"--out", "there"});
}

TEST_F(ImportRun, OfAnotherWorkspaceIsOnlyReadAndComesInWhole) {
  ok(smoke({"--methods", "ratio-norm", "--out", "there"}));
  ok({"import", "runs/" + id, "--out", "there"}, {"1 new run"});
  EXPECT_EQ(place.metric_rows(), rows);
  expect_sound({"--out", "there"});
  place.environment["HARNESS_FAKE_MODE"] = "die";
  ok(smoke({"--methods", "ratio-norm,dual", "--out", "there"}));
  expect_sound({"--out", "there"});
  expect_sound();
}

TEST_F(ImportRun, FoldersAloneMakeAWorkspace) {
  Words import = {"import", "--out", "bare"};
  for (const auto& run : place.json({"list", "runs", "--json"}))
    import.push_back("runs/" + run.at("name").get<std::string>());
  ok(import);
  expect_sound({"--out", "bare"});
  place.environment["HARNESS_FAKE_MODE"] = "die";
  ok(smoke({"--out", "bare"}));
  EXPECT_EQ(place.metric_rows("bare/results.sqlite"), place.metric_rows());
}

TEST_F(ImportRun, WhatIsNotWholeIsRefusedAndChangesNothing) {
  make_there();
  const auto folder = place.folder() / copied, original = runs / id;
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
      {[&] { damage(folder / "events.log"); }, "events.log"},
      {[&] { without_last_line(folder / "events.log"); }, "its training is not finished"},
      {[&] { without_last_line(some("events.log")); }, "is not finished"},
      {[&] { write_file_atomically(some(".safetensors", "checkpoints"), "no weights"); },
       "model.safetensors: is not the file that was written: SHA-256 "},
      {[&] { fs::remove(some(".safetensors", "checkpoints")); }, "model.safetensors: is missing"},
      {[&] { damage(some("manifest.json", "checkpoints")); }, "is not the file that the run wrote"},
      {[&] { write_file_atomically(some(".png"), "no picture"); }, "not the file that was scored"},
      {[&] { fs::remove(some(".png")); }, "1 gone"},
      {[&] { write_file_atomically(some("positions.json"), "[1]"); }, "is not the list of prompts"},
      {[&] { write_file_atomically(some("positions.json"), "{}"); }, "positions.json"}};
  const auto records = read_file(place.folder() / "there/journal.log");
  const auto listed = place.run({"list", "runs", "--out", "there"}).out;
  for (const auto& kind : kinds) {
    kind.done();
    fails(2, import_copied, {kind.said});
    EXPECT_FALSE(fs::exists(place.folder() / "there" / id)) << kind.said;
    EXPECT_EQ(read_file(place.folder() / "there/journal.log"), records) << kind.said;
    EXPECT_EQ(place.run({"list", "runs", "--out", "there"}).out, listed) << kind.said;
    fs::remove_all(folder);
    fs::copy(original, folder, fs::copy_options::recursive);
  }
  ok(import_copied);
  fails(2, {"import", "copies/0000", "--out", "there"});
}

TEST_F(ImportRun, ARefusalLeavesNothingInAWorkspaceThatHadNoRecords) {
  const auto bare = place.folder() / "bare";
  fs::create_directories(bare);
  fs::copy(runs / id, bare / id, fs::copy_options::recursive);
  const auto contents = [&] {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(bare)) names.insert(entry.path().filename().string());
    return names;
  };
  fs::rename(bare / id / "events.log", bare / id / "away");
  fails(2, {"import", "bare/" + id, "--out", "bare"}, {"its training is not finished"});
  EXPECT_EQ(contents(), std::set<std::string>{id});
  fails(2, {"import", "bare/" + id, "bare/0123", "--out", "bare"});  // there is no such folder
  EXPECT_EQ(contents(), std::set<std::string>{id});
  fs::rename(bare / id / "away", bare / id / "events.log");
  ok({"import", "bare/" + id, "--out", "bare"});
}

TEST_F(ImportRun, ARunThatIsThereAlreadyIsNotTakenTwiceAndAContradictingOneIsRefused) {
  const auto before = read_file(journal);
  make_there();
  ok({"import", copied}, {"no run was new", "is already in"});
  EXPECT_EQ(read_file(journal), before);
  place.environment["HARNESS_FAKE_HACK"] = "darken";
  ok(smoke({"--out", "contrary"}));
  fails(1, {"import", "contrary/" + id}, {"events.log", "holds other results than contrary/" + id});
  EXPECT_EQ(read_file(journal), before);
  expect_sound();
}

TEST_F(List, HeadsTheColumnsOfRunsAndExperimentsByWhatTheyHold) {
  EXPECT_TRUE(place.run({"list", "runs"}).out.starts_with("id "));
  EXPECT_TRUE(place.run({"list", "experiments"}).out.starts_with("number "));
  EXPECT_TRUE(place.json({"list", "runs", "--json"}).at(0).contains("name"));
  EXPECT_TRUE(place.json({"list", "experiments", "--json"}).at(0).contains("name"));
}

TEST_F(RunsRm, AFolderWithoutRowsIsRemovedByItsName) {
  const auto stray = runs / "00000000000000aa";
  fs::create_directories(stray);
  write_file(stray / "job.json", "{}");
  ok({"runs", "rm", "00000000000000aa", "--yes"}, {"a folder without rows"});
  EXPECT_FALSE(fs::exists(stray));
  EXPECT_TRUE(fs::exists(trash / "00000000000000aa/job.json"));
  EXPECT_THAT(place.run({"runs", "rm", "../share", "--yes"}).err, HasSubstr("there is no run"));
  EXPECT_TRUE(fs::exists(place.share()));
}

}  // namespace
}  // namespace harness::test

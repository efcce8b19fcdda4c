#include <gmock/gmock.h>
#include <sys/file.h>

#include <algorithm>

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
       {"dual on glyph, task ocr, seed 42", "wall time", "on disk", "selected", "beta_max=10"})
    EXPECT_THAT(text.out, HasSubstr(part));
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
  EXPECT_FALSE(fs::exists(place.folder() / "runs" / id));
  EXPECT_EQ(query(place, "SELECT count(*) AS n FROM runs WHERE id = '" + id + "'"), "n\n0\n");
  EXPECT_EQ(place.json({"list", "experiments", "--json"}), Json::array());
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
  // The others are as they were, so that the command only repeats what is gone.
  EXPECT_EQ(place.run(kSmoke).status, 0);
}

TEST(RunsRm, AsksAndWithoutATerminalWantsYes) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto id = run_of(place, "dual");
  // Tests may run on a terminal.
  const auto command = "cd '" + place.folder().string() + "' && '" HARNESS_BINARY_DIR "/harness' runs rm " +
                       id + " --force </dev/null 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string said(4096, '\0');
  said.resize(std::fread(said.data(), 1, said.size(), pipe));
  EXPECT_EQ(WEXITSTATUS(::pclose(pipe)), 2);
  EXPECT_THAT(said, HasSubstr("add --yes"));
  EXPECT_TRUE(fs::exists(place.folder() / "runs" / id));
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

struct KillPoint {
  const char *name, *call, *path, *count;
};

class KilledRemoval : public ::testing::TestWithParam<KillPoint> {};

// Between the rows and the folder, and in the middle of the folder.
TEST_P(KilledRemoval, LeavesAWorkspaceThatCanGoOnOrEndTheRemoval) {
  Workplace place;
  ASSERT_EQ(place.run(kSmoke).status, 0);
  const auto rows = place.metric_rows();
  const auto id = run_of(place, "dual");
  auto killed = place.environment;
  const auto usual = std::exchange(place.environment, killed);
  place.environment["LD_PRELOAD"] = HARNESS_BINARY_DIR "/tests/libharness-kill-at.so";
  place.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0";
  place.environment["HARNESS_KILL_CALL"] = GetParam().call;
  place.environment["HARNESS_KILL_PATH"] = GetParam().path;
  place.environment["HARNESS_KILL_COUNT"] = GetParam().count;
  EXPECT_EQ(place.run({"runs", "rm", id, "--yes", "--force"}).status, 1000 + SIGKILL);
  place.environment = usual;
  // The rows are gone as a whole, and nothing half-deleted stands under the run's name.
  EXPECT_EQ(query(place, "SELECT count(*) AS n FROM runs WHERE id = '" + id + "'"), "n\n0\n");
  const auto check = place.run({"db", "check"});
  EXPECT_EQ(check.status, 1) << "the folder that is left is a finding";
  EXPECT_THAT(check.out, HasSubstr(id));
  EXPECT_THAT(check.out, HasSubstr("harness runs rm"));
  if (std::string(GetParam().call) == "rename") {
    // A whole folder is read again by the next reproduce: nothing is trained twice.
    place.environment["HARNESS_FAKE_MODE"] = "die";
    EXPECT_EQ(place.run(kSmoke).status, 0);
    EXPECT_EQ(place.metric_rows(), rows);
    place.environment.erase("HARNESS_FAKE_MODE");
    EXPECT_EQ(place.run({"runs", "rm", id, "--yes", "--force"}).status, 0);
  } else {
    EXPECT_EQ(place.run(kSmoke).status, 0);
    EXPECT_EQ(place.metric_rows(), rows);
    EXPECT_EQ(place.run({"runs", "rm", id, "--yes", "--force"}).status, 0);
  }
  EXPECT_FALSE(fs::exists(place.folder() / "runs" / id));
  EXPECT_FALSE(fs::exists(place.folder() / "runs" / (".removed-" + id)));
  EXPECT_EQ(place.run({"db", "check"}).status, 0);
}

INSTANTIATE_TEST_SUITE_P(Points, KilledRemoval,
                         ::testing::Values(KillPoint{"BeforeTheFolder", "rename", ".removed-", "1"},
                                           KillPoint{"InTheFolder", "unlinkat", ".png", "20"}),
                         [](const auto& param) { return std::string(param.param.name); });

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
  EXPECT_THAT(place.run({"runs", "rm", "../share", "--yes"}).err, HasSubstr("there is no run"));
  EXPECT_TRUE(fs::exists(place.share()));
}

}  // namespace
}  // namespace harness::test

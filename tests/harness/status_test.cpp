#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/descriptor.h"
#include "core/text.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using Status = SmokeTest;
using MadeStatus = MadeTest;

const Words kStatus = {"status", "--json"};

TEST_F(MadeStatus, OfAFinishedWorkspaceNamesTheLastExperimentAndItsRuns) {
  const auto said = ok({"status"}, {"experiment 1: sd35-ocr (glyph, smoke), finished 20", "update 6 of 6",
                                    "nothing is running; last finished: experiment 1, 4 runs done\n"});
  EXPECT_THAT(said.out, Not(HasSubstr("\x1b")));
  for (const auto& run : place.json(kStatus)) {
    EXPECT_EQ(run.at("state"), "done") << run;
    EXPECT_EQ(run.at("experiments"), Json::array({1}));
    EXPECT_EQ(run.at("jobs_done"), run.at("jobs"));
    EXPECT_EQ(run.at("eta_seconds"), nullptr);
    EXPECT_EQ(run.at("update"), run.at("method") == "base" ? Json() : Json(6)) << run;
  }
}

TEST_F(MadeStatus, ComesFromJournalAndLogsAlone) {
  const auto said = ok({"status"}).out;
  fs::remove(db);
  EXPECT_EQ(ok({"status"}).out, said);
}

TEST_F(Status, NamesTheRunThatTrainsWhileItTrains) {
  const auto busy = place.start_busy(kSmoke, "train");
  const auto id = busy.folder.filename().string();
  const auto all = place.json(kStatus);
  const auto run = entry(all, {{"name", id}});
  EXPECT_EQ(run.at("state"), "running") << run;
  EXPECT_EQ(run.at("doing"), "train");
  EXPECT_EQ(run.at("process"), busy.worker);
  EXPECT_GE(run.at("update"), 1);
  EXPECT_EQ(run.at("updates"), 6);
  EXPECT_TRUE(run.at("reward").is_number()) << run;
  EXPECT_EQ(run.at("images"), nullptr);
  EXPECT_EQ(entry(all, {{"method", "base"}}).at("state"), "done");
  EXPECT_EQ(entry(all, {{"method", "lambda-controlled"}}).at("state"), "waiting");
  ok({"status"},
     {"sd35-ocr (glyph, smoke): 2 of 17 jobs done, ETA ", "; running, pid " + std::to_string(busy.program)});
  place.end(busy, SIGKILL);
}

TEST_F(Status, CountsTheImagesOfAnEvaluationThatRuns) {
  const auto busy = place.start_busy(kSmoke, "evaluate", 200'000);
  const auto run = entry(place.json(kStatus), {{"method", "base"}});
  EXPECT_EQ(run.at("state"), "running") << run;
  const auto listed = entry(place.json({"list", "runs", "--json"}), {{"method", "base"}});
  EXPECT_EQ(listed.at("state"), "running") << "what it is tested on is still being drawn";
  EXPECT_EQ(listed.at("finished"), nullptr);
  EXPECT_EQ(place.json({"runs", "show", listed.at("name"), "--json"}).at("state"), "running");
  EXPECT_EQ(run.at("doing"), "evaluate");
  EXPECT_GE(run.at("images"), 1);
  EXPECT_EQ(run.at("images_total"), 24);
  EXPECT_GT(run.at("images_per_second"), 0) << run;
  EXPECT_LT(run.at("images_per_second"), 6) << "each takes a fifth of a second: " << run;
  EXPECT_GT(run.at("eta_seconds"), 0);
  ok({"status"}, {"evaluate base on validation  image "});
  place.end(busy, SIGKILL);
}

TEST_F(Status, OfAnInterruptedRunSaysAtWhichUpdateAndHowToGoOn) {
  const auto busy = place.start_busy(kSmoke, "train");
  const auto id = busy.folder.filename().string();
  ASSERT_EQ(place.end(busy, SIGINT).status, 130);
  const auto run = entry(place.json(kStatus), {{"name", id}});
  EXPECT_EQ(run.at("state"), "interrupted") << run;
  EXPECT_EQ(run.at("process"), nullptr);
  ok({"status"},
     {"17 jobs done; not running\n", "interrupted: train  update " + run.at("update").dump() + " of 6",
      "repeat the `harness reproduce` command to go on where it stopped\n"});
  // Until another experiment is finished: then it was given up, and only --all shows it.
  ok(smoke({"--seeds", "7"}));
  ok({"status"}, {"last finished: experiment 1, 4 runs done"});
  EXPECT_EQ(entry(place.json(with(kStatus, {"--all"})), {{"name", id}}).at("state"), "interrupted");
  // Asked for once more it is under way as a whole.
  const auto again = place.start_busy(kSmoke, "train");
  const auto is_shown = [&] {
    return place.run({"status"}).out.find("sd35-ocr (glyph, smoke): 2 of 17 jobs done") != std::string::npos;
  };
  EXPECT_TRUE(wait_until(is_shown)) << place.run({"status"}).out;
  EXPECT_EQ(place.json(kStatus).size(), 4U);
  place.end(again, SIGKILL);
}

TEST_F(Status, OfARunThatFailedSaysWhy) {
  place.environment["HARNESS_FAKE_KIND"] = "train";
  place.environment["HARNESS_FAKE_MODE"] = "fail";
  fails(1, kSmoke);
  ok({"status"}, {"failed: train", "ratio-norm, seed 42, failed: checkpoints/2: the disk is full\n"});
  place.environment["HARNESS_FAKE_MODE"] = "crash";
  fails(1, kSmoke);
  ok({"status"}, {"died with signal 6"});
  // Until a command that works here was asked for it again.
  const auto file = runs / ".asked.json";
  Json asked = read_json(file);
  asked["at"] = "2999-01-01T00:00:00.000Z";
  write_file_atomically(file, asked.dump());
  ok({"status"}, {"died with signal 6"});
  const Descriptor lock(::open((runs / ".lock").c_str(), O_RDWR));
  ASSERT_EQ(try_lock(lock.get()), LockState::kTaken);
  EXPECT_EQ(entry(place.json(kStatus), {{"method", "ratio-norm"}}).at("state"), "waiting");
}

TEST_F(Status, DisturbsNobody) {
  place.environment["HARNESS_FAKE_DELAY_US"] = "2000";
  const auto program = place.start(kSmoke);
  ASSERT_TRUE(wait_until([&] { return fs::exists(journal) && fs::file_size(journal) > 0; }));
  bool done = false;
  for (int asked = 0; !done && asked < 1000; ++asked) {
    const auto outcome = place.run(kStatus);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    const auto all = parse_json(outcome.out, "stdout");
    done = !all.empty() &&
           std::ranges::all_of(all, [](const Json& run) { return run.at("experiments") != Json::array(); });
  }
  EXPECT_EQ(place.wait(program).status, 0);
  Workplace alone;
  alone.ok(kSmoke);
  EXPECT_EQ(place.metric_rows(), alone.metric_rows());
}

TEST_F(Status, IsWatchedUntilNothingRunsOrCtrlC) {
  const auto busy = place.start_busy(kSmoke, "train");
  const auto viewer = place.start({"status", "--watch", "0.1"});
  const auto is_shown_again = [&] {
    return place.written("out").find("\n\nsd35-ocr (glyph, smoke): 2 of 17 jobs done") != std::string::npos;
  };
  EXPECT_TRUE(wait_until(is_shown_again)) << place.written("out");
  ::kill(viewer, SIGINT);
  EXPECT_EQ(place.wait(viewer).status, 0);
  place.end(busy, SIGINT);
  EXPECT_EQ(ok({"status", "--watch"}).out, ok({"status"}).out);
}

TEST_F(Status, OfAFolderWithoutRunsSaysHowToBegin) {
  fails(2, {"status"}, {"runs: there is no workspace; begin with `harness reproduce --table sd35-ocr`"});
  fs::create_directories(place.folder() / "empty");
  fails(2, {"status", "--out", "empty"},
        {"empty: holds no runs; begin with `harness reproduce --table sd35-ocr --out empty`"});
  fails(2, {"status", "--out", "empty", "--watch", "--json"},
        {"--json: is one document, and --watch repeats"});
  fails(2, {"status", "--watch=0"}, {"--watch: must be 0.1 to 86400 seconds"});
}

TEST_F(MadeStatus, WithoutAJournalSaysWhatRestoresIt) {
  fs::remove(journal);
  fails(2, {"status"}, {"journal.log: is missing, and it lists the runs", "`harness db rebuild`"});
}

TEST_F(MadeStatus, FitsTheWidthOfATerminal) {
  if (!has_program("script")) GTEST_SKIP() << "needs script(1)";
  auto environment = place.environment;
  environment["TERM"] = "xterm";
  for (const int columns : {40, 60, 80, 120}) {
    const auto [status, out, err] =
        shell(fmt::format("script -qec 'stty cols {} rows 24; {} status' /dev/null < /dev/null", columns,
                          HARNESS_BINARY_DIR "/harness"),
              {.folder = place.folder(), .environment = environment});
    EXPECT_EQ(status, 0) << out << err;
    EXPECT_THAT(out, HasSubstr("lambda-controlled")) << columns;
    for (const auto& line : split(out, '\n')) {
      if (line.find("  done") == std::string::npos) continue;
      EXPECT_LE(display_width(trim(line)), columns) << line;
    }
  }
}

}  // namespace
}  // namespace harness::test

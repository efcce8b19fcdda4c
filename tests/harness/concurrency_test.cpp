#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

#include "core/host.h"
#include "harness/run/scheduler.h"
#include "harness/work/room.h"
#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

/// Repeats what users ask while others write, until `done`. Once there is a DB nothing of it may fail.
void ask_until(const std::atomic<bool>& done, const fs::path& db, const Words& question,
               std::atomic<int>& asked) {
  Workplace place;
  while (!done) {
    if (!wait_until([&] { return done || (fs::exists(db) && fs::file_size(db) > 0); }) || done) break;
    auto arguments = question;
    arguments.insert(arguments.end(), {"--db", db.string()});
    const auto outcome = place.run(arguments);
    EXPECT_THAT(outcome.err, Not(HasSubstr("locked")));
    EXPECT_THAT(outcome.err, Not(HasSubstr("in use")));
    // A table has to be complete first.
    if (question.front() == "query") {
      EXPECT_EQ(outcome.status, 0) << outcome.err;
    }
    ++asked;
  }
}

/// A reader of the user's own, that waits no longer than a script would: rows only ever become more.
void poll_until(const std::atomic<bool>& done, const fs::path& db, std::atomic<int>& polls) {
  int rows = 0;
  while (!done) {
    try {
      SQLite::Database reader(db.string(), SQLite::OPEN_READONLY, 2000);
      const int now = reader.execAndGet("SELECT count(*) FROM metrics").getInt();
      EXPECT_GE(now, rows) << "rows went away";
      rows = now;
      ++polls;
    } catch (const SQLite::Exception& failure) {
      EXPECT_EQ(rows, 0) << "poll " << polls << ": " << failure.what();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// For a minute: HARNESS_TEST_SECONDS=60.
TEST(OneDb, TakesAReproduceAndReadersWithoutALostRowOrALockAndRefusesAnotherWorkspace) {
  const char* text = std::getenv("HARNESS_TEST_SECONDS");
  const int seconds = text == nullptr ? 8 : std::atoi(text);
  Workplace a, b, alone;
  const auto db = (a.folder() / "shared.sqlite").string();
  for (auto* place : {&a, &b})
    place->environment["HARNESS_FAKE_DELAY_US"] = std::to_string(seconds * 1'000'000 / 450);
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  std::atomic<int> asked = 0, polls = 0;
  const std::vector<Words> questions = {
      {"query", "SELECT method, split, metric, mean, n FROM v_results"},
      {"table", "sd35-ocr", "--seeds", "42"},
      {"compare", "ratio-norm", "dual", "--metric", "ocr_reward", "--split", "test"}};
  for (const auto& question : questions)
    readers.emplace_back([&, question] { ask_until(done, db, question, asked); });
  readers.emplace_back([&] { poll_until(done, db, polls); });
  const auto first = a.start(smoke({"--seeds", "42", "--out", "runs", "--db", db}));
  ASSERT_TRUE(wait_until([&] { return fs::exists(a.folder() / "runs/journal.log") && polls > 0; }));
  b.fails(2, smoke({"--seeds", "43", "--out", "runs", "--db", db}), {"a DB belongs to one workspace"});
  std::vector<Outcome> outcomes{a.wait(first), a.run(smoke({"--seeds", "42", "--out", "runs", "--db", db}))};
  // Where the readers are slow, there is more to write meanwhile.
  std::string seeds = "42";
  for (int seed = 43; seed < 60 && (asked <= 10 || polls <= 10); ++seed) {
    outcomes.push_back(a.run(smoke({"--seeds", std::to_string(seed), "--out", "runs", "--db", db})));
    seeds += "," + std::to_string(seed);
  }
  done = true;
  for (auto& reader : readers) reader.join();
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.err, Not(HasSubstr("locked")));
  }
  EXPECT_GT(asked, 10);
  EXPECT_GT(polls, 10);
  RecordProperty("questions", asked);
  alone.ok(smoke({"--seeds", seeds}));
  EXPECT_EQ(a.metric_rows(db), alone.metric_rows());
  a.ok({"db", "rebuild", "--out", "runs", "--db", db});
  a.ok({"db", "check", "--out", "runs", "--db", db});
  EXPECT_EQ(a.metric_rows(db), alone.metric_rows());
}

/// By the number with which flock fails there.
class NoLocks : public ::testing::TestWithParam<int> {};

TEST_P(NoLocks, StillHaveOneCommandAtATimeWhichADeadOneDoesNotHinder) {
  Workplace place, sound;
  place.environment["LD_PRELOAD"] = HARNESS_BINARY_DIR "/tests/libharness-faulty-disk.so";
  place.environment["HARNESS_DISK_NO_LOCKS"] = std::to_string(GetParam());
  const auto busy = place.start_busy(kSmoke, "train");
  place.fails(1, kSmoke, {"another harness works here", ".lock.holder"});
  place.end(busy, SIGKILL);
  place.ok(kSmoke, {}, {"this file system has no locks"});
  EXPECT_FALSE(fs::exists(place.folder() / "runs/.lock.holder"));
  sound.ok(kSmoke);
  EXPECT_EQ(place.metric_rows(), sound.metric_rows());
  place.ok({"check", "sd35-ocr"});
}

INSTANTIATE_TEST_SUITE_P(Of, NoLocks, ::testing::Values(ENOSYS, ENOTSUP),
                         [](const auto& error) { return error.param == ENOSYS ? "ENOSYS" : "ENOTSUP"; });

TEST(GpuMemory, ThatOthersHoldIsRefusedWithWhatToDo) {
  const Workplace place;
  const auto tool = place.folder() / "nvidia-smi";
  write_file(
      tool,
      "#!/bin/sh\ncase \"$*\" in\n*'-i 1') echo '1, 81559, 2048';;\n*'-i MIG-2') echo '0, [N/A], [N/A]';;\n"
      "*) echo '0, 81559, 2048'; echo '3, 81559, 79511';;\nesac\n");
  fs::permissions(tool, fs::perms::owner_all);
  const auto path = environment("PATH");
  ::setenv("PATH", (place.folder().string() + ":" + path).c_str(), 1);
  const auto named = fullest_of(gpu_names("cuda:1")), fullest = fullest_of(gpu_names("cuda")),
             unknown = fullest_of("MIG-2");
  ::setenv("CUDA_VISIBLE_DEVICES", "GPU-5a, GPU-6b", 1);
  EXPECT_EQ(gpu_names("cuda:1"), "GPU-6b");
  EXPECT_EQ(gpu_names("cuda"), "GPU-5a, GPU-6b");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_NEAR(named.free, 83.4e9, 0.1e9);
  EXPECT_EQ(fullest.name, "3");
  EXPECT_EQ(unknown.total, 0);
  const auto refusal = [](const GpuMemory& gpu, int workers) -> std::string {
    try {
      require_room(gpu, workers, 60e9);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(named, 1), "");
  EXPECT_EQ(refusal(unknown, 8), "");
  EXPECT_THAT(refusal(named, 2),
              AllOf(HasSubstr("83.4 of the 85.5 GB of GPU 1 are free, and 2 workers need about 60.0 GB each"),
                    HasSubstr("nvidia-smi"), HasSubstr("gradient_checkpointing=true")));
  EXPECT_THAT(refusal(fullest, 1),
              HasSubstr("2.1 of the 85.5 GB of GPU 3 are free, and a worker needs about 60.0"));
}

TEST(LocalExecutor, GivesEachJobGpusOfItsOwnAndTakesThemBack) {
  const Workplace place;
  const auto worker = place.folder() / "worker";
  // The first job works until the second one has begun.
  write_file(worker,
             "#!/bin/sh\necho $CUDA_VISIBLE_DEVICES >>$2/seen\n"
             "until [ -e $2/../0/seen ] && [ -e $2/../1/seen ]; do sleep 0.01; done\n");
  fs::permissions(worker, fs::perms::owner_all);
  int begun = 0;
  const SchedulerHooks hooks{
      .next = [&]() -> std::optional<Task> {
        if (begun == 3) return std::nullopt;
        const auto name = std::to_string(begun++);
        fs::create_directories(place.folder() / name);
        return Task{.id = name, .label = name, .folder = place.folder() / name, .progress_key = name};
      },
      .ingest = [](const Task&) {},
      .complete = [](const Task&) { return true; },
      .failed = [](const Task&, const std::string&) {}};
  const SchedulerSettings settings{.worker = worker, .jobs = 2, .ranks = 2, .gpus = {"0", "1", "5", "7"}};
  LocalExecutor executor(settings);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere(std::fopen("/dev/null", "w"), &std::fclose);
  Progress progress(nowhere.get());
  run_scheduler(settings, executor, hooks, progress);
  const auto seen = [&](const char* job) { return read_file(place.folder() / job / "seen"); };
  EXPECT_EQ(seen("0"), "0,1\n0,1\n");
  EXPECT_EQ(seen("1"), "5,7\n5,7\n");
  EXPECT_THAT(seen("2"), ::testing::AnyOf("0,1\n0,1\n", "5,7\n5,7\n"));
}

TEST(Scheduler, KillsNoJobThatSpokeWhileItWasBusyForLongerThanTheSilenceLimit) {
  const Workplace place;
  const auto worker = place.folder() / "worker";
  write_file(worker,
             "#!/bin/sh\necho wake\nfor i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do\n  sleep 0.2\n"
             "  echo alive\ndone\necho >$2/done\n");
  fs::permissions(worker, fs::perms::owner_all);
  bool is_begun = false, was_busy = false;
  const SchedulerHooks hooks{
      .next = [&]() -> std::optional<Task> {
        if (std::exchange(is_begun, true)) return std::nullopt;
        return Task{.id = "job", .label = "job", .folder = place.folder(), .progress_key = "job"};
      },
      .ingest =
          [&](const Task&) {
            if (!std::exchange(was_busy, true)) std::this_thread::sleep_for(std::chrono::seconds(2));
          },
      .complete = [](const Task& task) { return fs::exists(task.folder / "done"); },
      .failed = [](const Task&, const std::string& what) { ADD_FAILURE() << what; }};
  const SchedulerSettings settings{.worker = worker, .silence_limit = std::chrono::milliseconds(1500)};
  LocalExecutor executor(settings);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere(std::fopen("/dev/null", "w"), &std::fclose);
  Progress progress(nowhere.get());
  run_scheduler(settings, executor, hooks, progress);
  EXPECT_TRUE(was_busy);
}

TEST(JobFailure, OfAnEarlierAttemptIsNotGivenAsTheReasonOfALaterOne) {
  Workplace place;
  place.environment["HARNESS_FAKE_MODE"] = "fail";
  place.fails(1, kSmoke, {"free some space"});
  place.environment["HARNESS_FAKE_MODE"] = "die";
  const auto later = place.fails(1, kSmoke, {"exit status 3"});
  EXPECT_THAT(later.err, Not(HasSubstr("checkpoints/2")));
}

}  // namespace
}  // namespace harness::test

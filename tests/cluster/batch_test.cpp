#include "tests/cluster/on_slurm.h"

// One batch job per run: `--executor slurm`.

namespace harness {
namespace {

namespace fs = std::filesystem;

class ByBatchJobs : public OnSlurm {
 protected:
  std::string by_slurm(const std::string& out, const std::string& more = {}) const {
    return reproduce(out, "--executor slurm " + more);
  }

  /// The folder of a method's run, once Slurm has its training.
  fs::path training(const std::string& out, const std::string& method) const {
    fs::path found;
    EXPECT_TRUE(wait_until([&] {
      std::error_code not_yet;
      for (const auto& run : fs::directory_iterator(root_ / out, not_yet)) {
        const auto job = run.path() / "job.json";
        if (!fs::exists(run.path() / "submission.json") || !fs::exists(job)) continue;
        if (read_json(job).at("identity").value("method", "") == method) found = run.path();
      }
      return !found.empty();
    }));
    return found;
  }

  static std::string job_of(const fs::path& folder) {
    return read_json(folder / "submission.json").at("job").get<std::string>();
  }

  static std::size_t count_of(const std::string& type, const fs::path& log) {
    const auto text = fs::exists(log) ? read_file(log) : std::string();
    std::size_t count = 0;
    for (auto at = text.find(type); at != std::string::npos; at = text.find(type, at + 1)) ++count;
    return count;
  }
  static bool has_begun(const fs::path& folder) {
    return count_of("\"type\":\"update\"", folder / "events.log") > 0;
  }

  std::vector<fs::path> logs_of(const std::string& out) const {
    std::vector<fs::path> logs;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / out)) {
      if (entry.path().filename() == "events.log") logs.push_back(entry.path());
    }
    return logs;
  }

  /// Jobs that wait or work.
  static std::string queue() { return shell("squeue --noheader --states=PD,R 2>/dev/null").out; }
};

TEST_F(ByBatchJobs, AKilledCommandFindsItsJobsAgainAndNoneRunsTwice) {
  // Once it has handed over its first jobs, when one of them has begun, trains or has ended.
  for (const char* event : {"job_started", "update", "job_completed", "job_started"}) {
    const auto harness =
        started_until("batch", by_slurm("batch") + fmt::format(" >{}/said.log 2>&1", root_.string()), event);
    ::kill(harness->pid(), SIGKILL);
    harness->wait();
  }
  const auto last = shell(by_slurm("batch") + " 2>&1");
  ASSERT_EQ(last.status, 0) << last.out;
  expect_equal_rows(rows("batch"), undisturbed().rows);
  const auto logs = logs_of("batch");
  EXPECT_EQ(logs.size(), 10U);
  for (const auto& log : logs) EXPECT_EQ(count_of("\"type\":\"job_started\"", log), 1U) << log;
}

TEST_F(ByBatchJobs, ADetachedTableIsFinishedWithNobodyThereThoughAJobHadToSave) {
  patch_table({{"scales", {{"smoke", {{"checkpoints", {4, 10}}, {"settings", {{"updates", 10}}}}}}}});
  const std::string one_method = "--methods lambda-controlled";
  const auto left = shell(by_slurm("detached", one_method + " --detach") + " 2>&1");
  ASSERT_EQ(left.status, 0) << left.out;
  EXPECT_PROBLEM(left.out, "continues the table when one of them has ended");
  const auto folder = training("detached", "lambda-controlled");
  const auto shown = shell(fmt::format("{} status --out {}/detached", kProgram, root_.string())).out;
  EXPECT_PROBLEM(shown, "with Slurm");
  ASSERT_TRUE(wait_until([&] { return has_begun(folder); }));
  shell("scancel --signal=TERM " + job_of(folder));
  ASSERT_TRUE(wait_until([&] { return fs::exists(root_ / "detached/chain/table.json"); }, 300))
      << read_file(root_ / "detached/continue.log");
  expect_equal_rows(rows("detached"), undisturbed(one_method).rows);
  EXPECT_GE(count_of("\"type\":\"job_started\"", folder / "events.log"), 2U);
}

TEST_F(ByBatchJobs, ADeadWorkerIsNamedAndRanksGoOnFromWhatItLeft) {
  const std::string four_folds = "--methods ratio-norm --set updates_per_epoch=1";
  auto harness = start(by_slurm("dead", four_folds) + fmt::format(" >{}/said.log 2>&1", root_.string()));
  const auto folder = training("dead", "ratio-norm");
  ASSERT_TRUE(wait_until([&] { return has_begun(folder); }));
  shell(fmt::format("pkill -KILL -f 'harness-worker run {}$'", folder.string()));
  ASSERT_TRUE(harness.ends_within(std::chrono::minutes(2)));
  EXPECT_EQ(harness.wait().code, 1);
  const auto said = read_file(root_ / "said.log");
  EXPECT_PROBLEM(said, "train ratio-norm (seed 42)");
  EXPECT_PROBLEM(said, "ended as FAILED on n");
  const auto again = shell(by_slurm("dead", four_folds + " --ranks 2") + " 2>&1");
  ASSERT_EQ(again.status, 0) << again.out;
  expect_equal_rows(rows("dead"), undisturbed(four_folds).rows);
}

TEST_F(ByBatchJobs, AnInterruptedCommandAndRunsCancelLeaveNothingInTheQueue) {
  // Long enough to be at work still whenever it is asked.
  patch_table({{"scales", {{"smoke", {{"checkpoints", {2, 120}}, {"settings", {{"updates", 120}}}}}}}});
  auto harness = start(by_slurm("stopped") + fmt::format(" >{}/said.log 2>&1", root_.string()));
  ASSERT_TRUE(wait_until([&] { return has_begun(training("stopped", "ratio-norm")); }));
  ::kill(harness.pid(), SIGINT);
  ASSERT_TRUE(harness.ends_within(std::chrono::minutes(2)));
  EXPECT_EQ(harness.wait().code, 130) << read_file(root_ / "said.log");
  // One that was complete by then takes a moment to leave.
  EXPECT_TRUE(wait_until([&] { return queue().empty(); })) << queue();
  ASSERT_EQ(shell(by_slurm("stopped", "--detach") + " 2>&1").status, 0);
  const auto local = shell(reproduce("stopped") + " 2>&1");
  EXPECT_EQ(local.status, 2) << local.out;
  EXPECT_PROBLEM(local.out, "Slurm has a job that works on this");
  // A command that goes on may work while the next one waits for its turn.
  const auto name = read_json(root_ / "stopped/submission.json").at("name").get<std::string>();
  EXPECT_EQ(shell(fmt::format("sbatch --job-name={} --output=/dev/null --wrap 'sleep 300'", name)).status, 0);
  const auto cancelled = shell(fmt::format("{} runs cancel --out {}/stopped 2>&1", kProgram, root_.string()));
  EXPECT_EQ(cancelled.status, 0) << cancelled.out;
  EXPECT_PROBLEM(cancelled.out, "taken out of the queue");
  EXPECT_TRUE(wait_until([&] { return queue().empty(); })) << queue();
}

TEST_F(ByBatchJobs, CtrlCAtADetachedTableLeavesItToTheJobThatGoesOn) {
  const std::string one_method = "--methods ratio-norm";
  ASSERT_EQ(shell(by_slurm("left", one_method + " --detach") + " 2>&1").status, 0);
  auto harness = start(by_slurm("left", one_method) + fmt::format(" >{}/said.log 2>&1", root_.string()));
  ASSERT_TRUE(wait_until([&] { return has_begun(training("left", "ratio-norm")); }));
  ::kill(harness.pid(), SIGINT);
  ASSERT_TRUE(harness.ends_within(std::chrono::minutes(2)));
  const auto said = read_file(root_ / "said.log");
  if (harness.wait().code != 0) {  // 0: it was done by then
    EXPECT_EQ(harness.wait().code, 130) << said;
    EXPECT_PROBLEM(said, "continues the table; `harness runs cancel` ends it");
  }
  ASSERT_TRUE(wait_until([&] { return fs::exists(root_ / "left/chain/table.json"); }, 300))
      << read_file(root_ / "left/continue.log");
  expect_equal_rows(rows("left"), undisturbed(one_method).rows);
}

TEST_F(ByBatchJobs, RunsCancelEndsTheCommandThatWorksThereToo) {
  for (const char* executor : {"--executor slurm", ""}) {
    const auto out = *executor == '\0' ? std::string("here") : std::string("there");
    patch_table({{"scales", {{"smoke", {{"checkpoints", {2, 60}}, {"settings", {{"updates", 60}}}}}}}});
    auto harness = start(reproduce(out, executor) + fmt::format(" >{}/said.log 2>&1", root_.string()));
    const auto begun = [&] {
      return fs::exists(root_ / out) && std::ranges::any_of(logs_of(out), [](const fs::path& log) {
               return count_of("\"type\":\"update\"", log) > 0;
             });
    };
    ASSERT_TRUE(wait_until(begun, 120));
    const auto cancelled =
        shell(fmt::format("{} runs cancel --out {} 2>&1", kProgram, (root_ / out).string()));
    EXPECT_EQ(cancelled.status, 0) << cancelled.out;
    EXPECT_PROBLEM(cancelled.out, "asked the running command (pid ");
    ASSERT_TRUE(harness.ends_within(std::chrono::minutes(1)));
    EXPECT_EQ(harness.wait().code, 130) << read_file(root_ / "said.log");
    EXPECT_TRUE(wait_until([&] { return queue().empty(); })) << queue();
  }
}

TEST_F(ByBatchJobs, RanksAutoTakesTheGpusOfANodeForFluxAndOneForOthers) {
  const auto planned = [&](const std::string& more) {
    return shell(
        fmt::format("{} reproduce --scale smoke --executor slurm --device cuda --ranks auto --dry-run "
                    "--out {}/none {} 2>&1",
                    kProgram, root_.string(), more));
  };
  const auto flux = "--table flux-ocr --backbone flux-dev --weights " +
                    (kTree / "tests/data/parity/flux_pipeline/model").string();
  const auto unknown = planned(flux);
  EXPECT_EQ(unknown.status, 2) << unknown.out;
  EXPECT_PROBLEM(unknown.out, "--ranks auto: the number of GPUs per node is unknown");
  EXPECT_PROBLEM(planned(flux + " --slurm --gres=gpu:h100:3").out, "#SBATCH --ntasks=2");
  EXPECT_PROBLEM(planned("--table sd35-ocr").out, "#SBATCH --ntasks=1");
}

TEST_F(ByBatchJobs, TheKindOfGpuIsPartOfTheIdsAndANodeIsAskedOnce) {
  const auto fake = (fs::path(HARNESS_BINARY_DIR) / "tests/harness-fake-worker").string();
  const auto on_gpus = [&](const std::string& gpu, const std::string& more) {
    return shell(fmt::format("HARNESS_WORKER={0} HARNESS_SCORER={0} HARNESS_FAKE_GPU='{1}' {2} 2>&1", fake,
                             gpu, by_slurm("gpus", "--device cuda " + more)));
  };
  const auto planned = on_gpus("Toy 1", "--dry-run");
  EXPECT_EQ(planned.status, 0) << planned.out;
  EXPECT_PROBLEM(planned.out, "The GPU model is part of the ids and is not known yet");
  EXPECT_FALSE(fs::exists(root_ / "gpus"));
  const auto first = on_gpus("Toy 1", "");
  EXPECT_EQ(first.status, 0) << first.out;
  EXPECT_PROBLEM(first.out, "Toy 1");
  EXPECT_EQ(query("gpus", "SELECT DISTINCT json_extract(config, '$.device') AS d FROM runs"), "d\nToy 1\n");
  const auto second = on_gpus("Toy 2", "");
  EXPECT_EQ(second.status, 0) << second.out;
  EXPECT_EQ(second.out.find("asks a node"), std::string::npos) << second.out;
  EXPECT_EQ(query("gpus", "SELECT count(*) AS n FROM runs"), "n\n3\n");
  const auto other = on_gpus("Toy 2", "--slurm --exclude=n1");
  EXPECT_EQ(other.status, 0) << other.out;
  EXPECT_PROBLEM(other.out, "on n2: Toy 2");
  EXPECT_EQ(query("gpus", "SELECT count(*) AS n FROM runs"), "n\n6\n");
}

TEST_F(ByBatchJobs, WhatSlurmRefusesIsAnErrorOfUsage) {
  const auto refused = shell(by_slurm("refused", "--slurm --partition=nowhere") + " 2>&1");
  EXPECT_EQ(refused.status, 2) << refused.out;
  EXPECT_PROBLEM(refused.out, "Slurm refuses the job: invalid partition specified: nowhere");
  const auto planned = shell(by_slurm("refused", "--slurm --partition=nowhere --dry-run") + " 2>&1");
  EXPECT_EQ(planned.status, 2) << planned.out;
  EXPECT_PROBLEM(planned.out, "Slurm refuses the job");
  EXPECT_EQ(shell(by_slurm("refused", "--dry-run") + " 2>&1").status, 0);
}

TEST_F(ByBatchJobs, AWorkspaceThatTheNodesDoNotSeeIsNamed) {
  const auto here_alone = root_ / "unseen";
  fs::create_directories(here_alone);
  const auto with_it = [&](const std::string& command) {
    return shell(
        fmt::format("unshare -m sh -c 'mount -t tmpfs none {} && {}' 2>&1", here_alone.string(), command));
  };
  if (with_it("true").status != 0) GTEST_SKIP() << "this machine gives no file system of one's own";
  EXPECT_PROBLEM(
      with_it(fmt::format("{} doctor --executor slurm --out {}/a", kProgram, here_alone.string())).out,
      "nothing that it wrote in the workspace is here");
  const auto table = with_it(by_slurm("unseen/a"));
  EXPECT_EQ(table.status, 1) << table.out;
  EXPECT_PROBLEM(table.out, "could not write its log on n");
}

TEST_F(ByBatchJobs, DoctorProvesTheNodesByAJob) {
  const auto proved =
      shell(fmt::format("{} doctor --executor slurm --out {}/none 2>&1", kProgram, root_.string()));
  EXPECT_PROBLEM(proved.out, "found program, LibTorch and workspace");
  const auto refused = shell(fmt::format(
      "{} doctor --executor slurm --slurm --partition=nowhere --out {} 2>&1", kProgram, root_.string()));
  EXPECT_EQ(refused.status, 1);
  EXPECT_PROBLEM(refused.out, "invalid partition specified: nowhere");
}

TEST(Slurm, IsRefusedWithoutItsCommands) {
  const auto refused =
      shell("PATH=/usr/bin/none " + kProgram + " reproduce --table sd35-ocr --executor slurm --dry-run 2>&1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_PROBLEM(refused.out, "the command sbatch cannot be started");
  const auto alone = shell(kProgram + " reproduce --table sd35-ocr --detach --dry-run 2>&1");
  EXPECT_EQ(alone.status, 2);
  EXPECT_PROBLEM(alone.out, "add --executor slurm");
}

}  // namespace
}  // namespace harness

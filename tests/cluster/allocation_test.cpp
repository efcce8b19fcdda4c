#include "tests/cluster/on_slurm.h"

// Tables inside one allocation: `--executor srun`.

namespace harness {
namespace {

namespace fs = std::filesystem;

class InAnAllocation : public OnSlurm {
 protected:
  /// Submits `reproduce` to both nodes, with these variables and options of sbatch; the job's number.
  std::string submit(const std::string& out, const std::string& more, const std::string& variables = "",
                     const std::string& options = "") const {
    const auto script = root_ / (out + ".sh");
    // The shell is signalled, not what it has started; a wait that a signal ends knows no status yet.
    write_file(script, "#!/bin/bash\n" + variables + reproduce(out, more) +
                           " & pid=$!\ntrap 'kill -TERM $pid' TERM\nwait $pid\n"
                           "while kill -0 $pid 2>/dev/null; do wait $pid; done\nwait $pid\necho status $?\n");
    const auto sent = shell(fmt::format(
        "sbatch --parsable --nodes=2 --ntasks-per-node=1 --cpus-per-task=4 --output={} {} {} 2>&1", log(out),
        options, script.string()));
    EXPECT_EQ(sent.status, 0) << sent.out;
    return std::string(trim(sent.out));
  }

  /// Waits until it has left the queue; what it printed.
  std::string finished(const std::string& job, const std::string& out) const {
    const auto has_left = [&] {
      return shell("squeue --noheader --jobs=" + job + " --states=PD,R,CG 2>/dev/null").out.empty();
    };
    EXPECT_TRUE(wait_until(has_left, 300));
    return read_file(log(out));
  }

  bool says(const std::string& out, const std::string& word) const {
    return fs::exists(log(out)) && read_file(log(out)).find(word) != std::string::npos;
  }

  std::string log(const std::string& out) const { return (root_ / (out + ".log")).string(); }
};

TEST_F(InAnAllocation, ATableOfStepsOfAnAllocationHasTheRowsOfALocalOne) {
  const auto said = finished(submit("steps", "--executor srun --jobs 2"), "steps");
  EXPECT_PROBLEM(said, "status 0");
  expect_equal_rows(undisturbed().rows, rows("steps"));
  EXPECT_EQ(undisturbed().table, table("steps"));
}

TEST_F(InAnAllocation, GpusOfItsNodesMustBeOfOneKindWhichIsPartOfTheIds) {
  const auto fake = (fs::path(HARNESS_BINARY_DIR) / "tests/harness-fake-worker").string();
  const auto on_gpus = [&](const std::string& out, const std::string& gpu) {
    const auto variables =
        fmt::format("HARNESS_WORKER={0} HARNESS_SCORER={0} HARNESS_FAKE_GPU='{1}' ", fake, gpu);
    return finished(submit(out, "--executor srun --device cuda 2>&1", variables, "--gpus-per-node=2"), out);
  };
  const auto mixed = on_gpus("mixed", "by node");
  EXPECT_PROBLEM(mixed, "status 2");
  EXPECT_PROBLEM(mixed, "the nodes have 2 kinds of GPU or of libraries");
  const auto equal = on_gpus("equal", "Toy 1");
  EXPECT_PROBLEM(equal, "status 0");
  EXPECT_EQ(query("equal", "SELECT DISTINCT json_extract(config, '$.device') AS d FROM runs"), "d\nToy 1\n");
}

TEST_F(InAnAllocation, RanksOfAStepOnTwoNodesLeaveTheRowsOfOneProcess) {
  // Updates of four shards, which two can share.
  const std::string four_folds = "--methods lambda-controlled --set updates_per_epoch=1 ";
  // Four threads each: no node has room for both ranks.
  const auto said = finished(submit("ranks", four_folds + "--executor srun --ranks 2 --jobs 1"), "ranks");
  EXPECT_PROBLEM(said, "status 0");
  expect_equal_rows(undisturbed(four_folds).rows, rows("ranks"));
}

TEST_F(InAnAllocation, AnAllocationThatIsTakenBackEndsInOrderAndTheNextOneGoesOn) {
  // One training after the other, each of many updates: what is left after any event takes far longer than
  // the signal.
  patch_table({{"scales", {{"smoke", {{"checkpoints", {2, 24}}, {"settings", {{"updates", 24}}}}}}}});
  bool is_plain = false;
  // As soon as it has started, in an evaluation, in trainings. Before it has started a job nobody can end it
  // in order.
  for (const char* event : {"", "job_started", "update", "checkpoint"}) {
    SCOPED_TRACE(event);
    fs::remove(log("taken"));
    const auto before = events_of("taken", event);
    const auto job = submit("taken", "--executor srun --jobs 1");
    ASSERT_TRUE(wait_until([&] { return says("taken", "started") || says("taken", "status"); }));
    if (*event != '\0') {
      EXPECT_TRUE(
          wait_until([&] { return events_of("taken", event) > before || says("taken", "status"); }, 300));
    }
    ASSERT_FALSE(says("taken", "status")) << "it ended before: " << read_file(log("taken"));
    // A plain one signals scorers, too, and kills the command before it has said how it ended.
    shell((is_plain ? "scancel " : "scancel --batch --signal=TERM ") + job);
    const auto said = finished(job, "taken");
    EXPECT_EQ(said.find("status 0"), std::string::npos) << said;
    EXPECT_EQ(said.find("are missing"), std::string::npos) << said;
    if (!is_plain) {
      EXPECT_PROBLEM(said, "status 130");
    }
    is_plain = !is_plain;
  }
  EXPECT_PROBLEM(finished(submit("taken", "--executor srun"), "taken"), "status 0");
  expect_equal_rows(undisturbed().rows, rows("taken"));
  EXPECT_EQ(undisturbed().table, table("taken"));
}

TEST_F(InAnAllocation, AWorkerStartedByHandWithSrunIsOneOfTwoRanks) {
  expect_reproduced("local", "--methods ratio-norm --set updates_per_epoch=1");
  const auto folder = fs::path(json_rows("local", "SELECT folder FROM runs WHERE method = 'ratio-norm'")[0]
                                   .at("folder")
                                   .get<std::string>());
  const auto by_hand = root_ / "by-hand";
  fs::create_directories(by_hand);
  fs::copy(folder / "job.json", by_hand / "job.json");
  const auto ran =
      shell(fmt::format("HARNESS_DETACHED=1 srun --quiet --ntasks=2 {}-worker run {} 2>&1 </dev/null",
                        kProgram, by_hand.string()));
  EXPECT_EQ(ran.status, 0) << ran.out;
  for (const char* step : {"2", "4"}) {
    EXPECT_EQ(read_file(by_hand / "checkpoints" / step / "manifest.json"),
              read_file(folder / "checkpoints" / step / "manifest.json"));
  }
}

using Srun = Chain;

TEST_F(Srun, ThatWaitsForRoomWhenItsAllocationEndsWasInterrupted) {
  write_file(root_ / "srun",
             "#!/bin/sh\n[ $1 != --version ] || exec echo slurm\n"
             "echo 'srun: error: Unable to create step for job 7: Job/step already completing or completed' "
             ">&2\nexit 1\n");
  fs::permissions(root_ / "srun", fs::perms::owner_all);
  const auto ended = shell(fmt::format("SLURM_JOB_ID=7 PATH={}:$PATH {} 2>&1", root_.string(),
                                       reproduce("ended", "--executor srun")));
  EXPECT_EQ(ended.status, 130) << ended.out;
  EXPECT_PROBLEM(ended.out, "completed work is saved");
}

TEST_F(Srun, IsRefusedOutsideAnAllocation) {
  const auto refused =
      shell("env -u SLURM_JOB_ID " + kProgram + " reproduce --table sd35-ocr --executor srun --dry-run 2>&1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_PROBLEM(refused.out, "--executor srun: this is not inside an allocation of Slurm");
}

}  // namespace
}  // namespace harness

#include "harness/slurm/slurm.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host.h"
#include "core/text.h"
#include "tests/harness/workplace.h"
#include "tests/refusals.h"

// `--executor slurm` with scripts in place of Slurm's commands, which keep a file for each job of the queue.
// Tables on a real one are in tests/cluster.

namespace harness::test {
namespace {

constexpr const char* kSbatch = R"sh(
for script; do :; done
printf '%s\n' "$@" >>asked
[ ! -e will_be_deaf ] || mv will_be_deaf deaf
if [ "$(ls queue | wc -l)" -ge "$(cat limit)" ]; then
  echo "$script" >>refused
  echo "sbatch: error: QOSMaxSubmitJobPerUserLimit" >&2
  echo "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit)" >&2
  exit 1
fi
id=$(($(cat last) + 1))
echo $id >last
name=$(for word; do echo "$word"; done | sed -n 's/^--job-name=//p')
[ -n "$name" ] || name=$(sed -n 's/^#SBATCH --job-name=//p' "$script")
echo "$id|$name|PENDING||Priority" >queue/$id
if [ -e starts ]; then
  # In a group of its own, before this one's ends.
  setsid sh -c ': >"begun$2"; while [ -e holds ] && [ ! -e refused ]; do sleep 0.01; done; bash "$1"; rm -f "queue/$2"' - "$script" "$id" >/dev/null 2>&1 </dev/null &
  until [ -e begun$id ]; do sleep 0.01; done
fi
echo $id
)sh";

constexpr const char* kSqueue = R"sh(
if [ -e deaf ]; then
  rm deaf
  echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2
  exit 1
fi
cat queue/* 2>/dev/null
exit 0
)sh";

constexpr const char* kScancel = R"sh(
for id; do :; done
rm -f queue/$id
)sh";

constexpr const char* kSrun = R"sh(
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
)sh";

class ScriptedSlurm : public SmokeTest {
 protected:
  ScriptedSlurm() {
    place.write_text("slurm/last", "0\n");
    set_limit(1000);
    fs::create_directories(slurm_ / "queue");
    add_command("sbatch", kSbatch);
    add_command("squeue", kSqueue);
    add_command("scancel", kScancel);
    add_command("scontrol", "");
    add_command("srun", kSrun);
    place.environment["PATH"] = (slurm_ / "bin").string() + ":" + environment("PATH");
    place.environment["HARNESS_SQUEUE_S"] = "1";
  }

  /// The number of jobs that the queue takes.
  void set_limit(int jobs) const { place.write_text("slurm/limit", std::to_string(jobs) + "\n"); }
  /// From here on something happens that a script looks for.
  void let(const std::string& what) const { place.write_text("slurm/" + what, ""); }

  static Words on_slurm(const Words& more) { return smoke(with({"--executor", "slurm"}, more)); }

  /// Names of the jobs in the queue, sorted.
  Words queue() const {
    Words names;
    for (const auto& entry : fs::directory_iterator(slurm_ / "queue"))
      names.push_back(split(read_file(entry.path()), '|').at(1));
    std::ranges::sort(names);
    return names;
  }
  std::ptrdiff_t continuations() const {
    const auto names = queue();
    return std::ranges::count_if(names,
                                 [](const auto& name) { return name.starts_with("harness-goes-on-"); });
  }

  const fs::path slurm_ = place.folder() / "slurm";

 private:
  void add_command(const char* name, const char* script) const {
    place.write_command(slurm_ / "bin" / name, slurm_, script);
  }
};

TEST_F(ScriptedSlurm, ADetachedTableKeepsItsPlaceInTheQueueUnlessAnotherCommandWantsAllOfIt) {
  ok(on_slurm({"--detach"}), {}, {"continues the table when one of them has ended"});
  const auto before = queue();
  fails(2, on_slurm({"--detach", "--seeds", "43"}),
        {"--detach: a job of Slurm already continues another command in this workspace",
         "harness runs cancel"});
  EXPECT_EQ(queue(), before);
  ok(on_slurm({"--detach", "--slurm", "--qos=long"}));
  EXPECT_EQ(queue(), before);
  ok(on_slurm({"--detach", "--seeds", "42,43"}));
  EXPECT_EQ(continuations(), 1);
  EXPECT_GT(queue().size(), before.size());
}

TEST_F(ScriptedSlurm, AWorkspaceMayHaveAnyNameAndSeveralOfThem) {
  const auto odd = place.folder() / "j\u00f6rg's 5 % runs";
  fs::create_directories(odd);
  ok(on_slurm({"--detach", "--slurm", "", "--out", odd.string()}));
  const auto asked = read_file(slurm_ / "asked");
  EXPECT_THAT(asked,
              HasSubstr("--output=" + (place.folder() / "j\u00f6rg's 5 %% runs/continue.log").string()));
  EXPECT_THAT(read_file(odd / "continue.sh"), HasSubstr("--slurm '' --out"));
  const auto before = queue();
  fs::create_directory_symlink(odd, place.folder() / "link");
  ok(on_slurm({"--detach", "--out", (place.folder() / "link").string()}));
  EXPECT_EQ(queue(), before);
}

TEST_F(ScriptedSlurm, ThatTakesNoMoreIsNotThoughtToHaveWhatItHadBefore) {
  ok(on_slurm({"--detach"}));
  fs::remove_all(slurm_ / "queue");
  fs::create_directories(slurm_ / "queue");
  set_limit(2);
  ok(on_slurm({"--detach"}), {}, {"Slurm takes no more jobs for now"});
  EXPECT_EQ(queue().size(), 2U);
  int noted = 0;
  for (const auto& entry : fs::recursive_directory_iterator(runs))
    noted += entry.path().filename() == "submission.json" && entry.path().parent_path() != runs ? 1 : 0;
  EXPECT_EQ(noted, 1) << "beside that of the job that goes on";
}

TEST_F(ScriptedSlurm, AJobThatIsNotReachedIsNotCancelled) {
  ok(on_slurm({"--detach"}));
  place.write_text("slurm/bin/scancel",
                   "#!/bin/sh\necho 'scancel: error: Unable to contact slurm controller' >&2\nexit 1\n");
  fs::permissions(slurm_ / "bin/scancel", fs::perms::owner_all);
  const auto run = place.rows("SELECT id FROM runs WHERE method = 'ratio-norm'").at(0).at("id");
  fails(1, {"runs", "cancel", run.get<std::string>()},
        {"was not reached: Unable to contact slurm controller; repeat the command"});
}

TEST_F(ScriptedSlurm, FreshIsRefusedWhileThereAreJobsOfTheRuns) {
  ok(on_slurm({"--detach"}));
  fails(2, on_slurm({"--fresh"}), {"Slurm has a job that works on this: queued (", "harness runs cancel"});
  EXPECT_FALSE(fs::exists(runs / ".trash"));
  fs::remove_all(slurm_ / "queue");
  fs::create_directories(slurm_ / "queue");
  ok(on_slurm({"--fresh", "--detach"}));
  EXPECT_TRUE(fs::exists(runs / ".trash"));
}

TEST_F(ScriptedSlurm, WhereItTakesNoMoreJobsADetachedTableStillGoesOn) {
  set_limit(4);
  ok(on_slurm({"--detach"}), {},
     {"Slurm takes no more jobs for now", "3 jobs with Slurm (1, 2, 3); job 5 continues the table"});
  EXPECT_EQ(queue().size(), 4U);
  EXPECT_EQ(continuations(), 1);
  int noted = 0;
  for (const auto& entry : fs::recursive_directory_iterator(runs))
    noted += entry.path().filename() == "submission.json" ? 1 : 0;
  EXPECT_EQ(noted, 4) << "the fourth job is asked for again";
}

TEST_F(ScriptedSlurm, ALimitOnItsJobsSlowsATableDownAndEndsItOnlyWhereNoJobIsThere) {
  set_limit(0);
  fails(2, on_slurm({}), {"QOSMaxSubmitJobPerUserLimit", "a limit on jobs in the queue is reached"});
  set_limit(2);
  let("starts");
  let("holds");  // no job ends before the limit is reached
  fs::remove(slurm_ / "refused");
  ok(on_slurm({}));
  EXPECT_TRUE(fs::exists(slurm_ / "refused"));
  Workplace local;
  local.ok(kSmoke);
  EXPECT_EQ(place.metric_rows(), local.metric_rows());
}

TEST_F(ScriptedSlurm, ThatDoesNotAnswerForAMomentStopsNoHandingOver) {
  let("will_be_deaf");
  ok(on_slurm({"--detach"}));
  EXPECT_FALSE(fs::exists(slurm_ / "deaf"));
  EXPECT_EQ(continuations(), 1);
}

TEST(BatchJob, HasTimeToSaveBesideThatForItsWork) {
  const JobRequest request{
      .id = "0123456789abcdef", .folder = "/tmp/runs/0123456789abcdef", .seconds = 60, .unit_seconds = 400};
  EXPECT_THAT(find_batch("slurm")->options(request), testing::Contains("--signal=TERM@600"));
  EXPECT_THAT(find_batch("slurm")->options(request), testing::Contains("--time=13"));
}

TEST(BatchJob, WhoseNumberIsInTheStopMarkerDoesNotStart) {
  const TemporaryFolder place;
  const auto folder = place.path() / "a job's";
  fs::create_directories(folder);
  write_file_atomically(place.path() / "srun", "#!/bin/sh\necho started\n");
  fs::permissions(place.path() / "srun", fs::perms::owner_all);
  write_file_atomically(folder / "job.sh",
                        find_batch("slurm")->script({.id = "x", .folder = folder}, "worker", 0));
  const auto ran = [&] {
    return shell(fmt::format("PATH={}:$PATH SLURM_JOB_ID=7 bash {}", place.path().string(),
                             shell_word((folder / "job.sh").string())));
  };
  EXPECT_EQ(ran().out, "started\n");
  write_file_atomically(folder / "stop", "6");
  EXPECT_EQ(ran().out, "started\n") << "another job";
  write_file_atomically(folder / "stop", "7");
  EXPECT_EQ(ran().out, "");
  EXPECT_EQ(ran().status, 130);
}

TEST(Sbatch, IsNotOverruledByTheEnvironmentInWhatAScriptAsksFor) {
  const auto found = slurm::overruling_variables(
      "#!/bin/bash\n#SBATCH --time=10\n#SBATCH -p gpu --account=lab\n#SBATCH --job-name=x\necho --qos=y\n");
  for (const char* name : {"SBATCH_TIMELIMIT", "SBATCH_PARTITION", "SBATCH_ACCOUNT", "SBATCH_JOB_NAME"})
    EXPECT_THAT(found, testing::Contains(name));
  EXPECT_THAT(found, Not(testing::Contains("SBATCH_QOS")));
}

TEST(Slurm, IsNotReachedByASignalOfTheTerminal) {
  const auto group = find_batch("slurm")->run({"sh", "-c", "cut -d' ' -f5 /proc/$$/stat"}).out;
  EXPECT_NE(std::string(trim(group)), "");
  EXPECT_NE(std::string(trim(group)), std::to_string(::getpgrp()));
}

TEST(SubmitLimit, IsToldFromLimitsThatNoJobsEndLifts) {
  const std::string sentence =
      "Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or "
      "time limits)";
  EXPECT_TRUE(slurm::is_submit_limit(sentence));
  for (const char* name : {"QOSMaxSubmitJobPerUserLimit", "AssocMaxSubmitJobLimit", "AssocGrpSubmitJobsLimit",
                           "MaxSubmitJobsPerAccount"})
    EXPECT_TRUE(slurm::is_submit_limit(name + ("; " + sentence))) << name;
  EXPECT_FALSE(slurm::is_submit_limit("QOSMaxWallDurationPerJobLimit; " + sentence));
  EXPECT_FALSE(slurm::is_submit_limit("invalid partition specified: nowhere"));
}

}  // namespace
}  // namespace harness::test

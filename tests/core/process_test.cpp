#include "core/processes/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "tests/error_of.h"
#include "tests/programs.h"

namespace harness {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(RunProgram, TakesAllOfBothOutputsOfAProgramThatReadsAllOfItsInput) {
  const std::string text(1 << 20, 'x');
  const auto input = memory_file(text);
  const auto done = shell("tee /dev/stderr", {.in = input.get(), .err = kPipe});
  EXPECT_EQ(done.status, 0);
  EXPECT_TRUE(done.out == text && done.err == text) << done.out.size() << " " << done.err.size();
}

TEST(RunProgram, SaysHowItEnded) {
  EXPECT_TRUE(run_program({"true"}).status.ok());
  EXPECT_EQ(run_program({"sh", "-c", "exit 3"}).status.text(), "exit status 3");
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"}).status.text(), "signal 9 (Killed)");
}

TEST(RunProgram, NamesAProgramThatCannotStart) {
  for (const bool confined : {false, true}) {
    for (const std::string hint : {"", "mend it"}) {
      const auto error =
          error_of([&] { run_program({"/nowhere/program"}, {.confined = confined, .hint = hint}); });
      EXPECT_THAT(error.what(), HasSubstr("/nowhere/program: cannot be started: No such file or directory"));
      EXPECT_EQ(error.status(), hint.empty() ? Status::kFailed : Status::kUsage);
      EXPECT_EQ(error.hint(), hint);
    }
  }
  EXPECT_EQ(output_of({"/nowhere/program"}), "");
}

TEST(Process, HasItsFolderItsEnvironmentAndOurs) {
  const auto done = shell("pwd; echo $OWN $PATH", {.folder = "/", .environment = {{"OWN", "a b"}}});
  EXPECT_EQ(done.out, std::string("/\na b ") + std::getenv("PATH") + "\n");
}

TEST(Process, InheritsNoDescriptorNoMaskAndOfIgnoredSignalsOnlySighupAndSigxfsz) {
  const Descriptor open_here(::open("/dev/null", O_RDONLY));  // as a careless library does
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const std::vector<int> ignored = {SIGHUP, SIGPIPE, SIGXFSZ, SIGTERM};
  for (const int signal : ignored) ::signal(signal, SIG_IGN);
  const auto files =
      run_program({"sh", "-c", "for f in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$f ] && echo $f; done"});
  const auto signals = run_program({"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"});
  for (const int signal : ignored) ::signal(signal, SIG_DFL);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(files.out, "");
  EXPECT_THAT(signals.out, HasSubstr("SigBlk:\t0000000000000000\n"));
  const auto ignored_there = std::stoull(signals.out.substr(signals.out.rfind('\t')), nullptr, 16);
  EXPECT_EQ(ignored_there & 0x7fffffff, 0x01000001U) << "the C library may ignore 32 and 33, its own";
}

TEST(Process, HasEndedAlsoWhereAnotherHoldsItsPipesWhichItsGroupDoesNotOutlive) {
  Process process({"sh", "-c", "sleep 600 & echo $!"}, {.out = kPipe, .own_group = true});
  ASSERT_TRUE(process.ends_within(milliseconds(10'000)));
  const auto other = std::stoi(read_some(process.out.get()).value());
  EXPECT_EQ(::kill(other, 0), 0);
  EXPECT_EQ(read_some(process.out.get()), "") << "still open";
  EXPECT_TRUE(process.wait().ok());
  EXPECT_TRUE(wait_until([&] { return !read_some(process.out.get()); })) << "and closed";
}

TEST(Process, KilledEndsWithItsGroupAndAConfinedOneWithWhateverItStarted) {
  for (const bool confined : {false, true}) {
    Process process({"sh", "-c", confined ? "setsid sleep 600 & echo; wait" : "sleep 600 & echo; wait"},
                    {.out = kPipe, .own_group = true, .confined = confined});
    EXPECT_TRUE(wait_until([&] { return read_some(process.out.get()) == "\n"; }));
    process.kill();
    EXPECT_EQ(process.wait().signal, SIGKILL);
    EXPECT_TRUE(wait_until([&] { return !read_some(process.out.get()); })) << "somebody holds its output";
  }
}

}  // namespace
}  // namespace harness

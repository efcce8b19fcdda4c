#include <cerrno>

#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;

struct Fault {
  const char *program, *call;
  int reason;
  bool lasting;  ///< every later call fails too
};

std::string name_of(const Fault& fault) {
  return std::string(fault.program == std::string("/harness") ? "Orchestrator" : "Worker") + "_" +
         fault.call + "_" + (fault.reason == ENOSPC ? "ENOSPC" : "EIO") +
         (fault.lasting ? "_lasting" : "_once");
}

void break_disk(Workplace& place, const Fault& fault, int from) {
  place.environment["LD_PRELOAD"] = HARNESS_BINARY_DIR "/tests/libharness-faulty-disk.so";
  place.environment["HARNESS_DISK_PATH"] = "runs/";
  place.environment["HARNESS_DISK_PROGRAM"] = fault.program;
  place.environment["HARNESS_DISK_FAIL"] = fault.call;
  place.environment["HARNESS_DISK_ERRNO"] = std::to_string(fault.reason);
  place.environment["HARNESS_DISK_FROM"] = std::to_string(from);
  place.environment["HARNESS_DISK_EVERY"] = fault.lasting ? "1" : "1000000";
}

void mend_disk(Workplace& place) {
  place.environment.erase("LD_PRELOAD");
  place.environment.erase("HARNESS_DISK_FAIL");
}

struct Expected {
  std::string rows, table;
};

/// What a run on a sound disk gives.
const Expected& expected() {
  static const Expected found = [] {
    Workplace place;
    place.ok(kSmoke);
    return Expected{place.metric_rows(), read_file(place.folder() / "runs/sd35-ocr/table.md")};
  }();
  return found;
}

void expect_same_as_on_a_sound_disk(Workplace& place) {
  place.ok(kSmoke);
  EXPECT_EQ(place.metric_rows(), expected().rows);
  EXPECT_EQ(read_file(place.folder() / "runs/sd35-ocr/table.md"), expected().table);
  place.ok({"db", "check"});
}

class FailingWrites : public ::testing::TestWithParam<Fault> {};

// The same command again and again in one folder, its disk failing later and later.
TEST_P(FailingWrites, EndInAClearErrorAndTheCommandGoesOnWhenTheDiskIsMended) {
  const auto fault = GetParam();
  Workplace place;
  int failed = 0;
  for (const int from : {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233}) {
    break_disk(place, fault, from);
    const auto outcome = place.run(kSmoke);
    if (outcome.status == 0) break;
    ++failed;
    ASSERT_EQ(outcome.status, 1) << "call " << from << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("runs/")) << "call " << from << ": where";
    EXPECT_THAT(outcome.err, AnyOf(HasSubstr("No space left on device"), HasSubstr("the disk is full"),
                                   HasSubstr("Input/output error"), HasSubstr("disk I/O error")))
        << "call " << from << ": what";
    EXPECT_THAT(outcome.err, HasSubstr("repeat the command")) << "call " << from << ": what to do";
  }
  EXPECT_GT(failed, 2);
  mend_disk(place);
  expect_same_as_on_a_sound_disk(place);
}

INSTANTIATE_TEST_SUITE_P(OfADisk, FailingWrites,
                         ::testing::Values(Fault{"/harness", "write", ENOSPC, true},
                                           Fault{"/harness", "write", EIO, false},
                                           Fault{"/harness", "sync", EIO, false},
                                           Fault{"/harness", "rename", ENOSPC, true},
                                           Fault{"/harness", "any", EIO, true},
                                           Fault{"/harness-fake-worker", "write", ENOSPC, true},
                                           Fault{"/harness-fake-worker", "write", ENOSPC, false},
                                           Fault{"/harness-fake-worker", "any", EIO, false}),
                         [](const auto& param) { return name_of(param.param); });

// A file system of its own in a mount namespace of its own, made larger step by step.
TEST(FullFileSystem, EveryRunEndsInAClearErrorUntilThereIsRoom) {
  if (shell("unshare -m mount -t tmpfs none /mnt 2>&1").status != 0)
    GTEST_SKIP() << "needs the right to mount (unshare -m)";
  Workplace place;
  fs::create_directories(place.folder() / "runs");
  const auto script = place.folder() / "in_little_room";
  write_file_atomically(script, R"sh(
    harness=$1 kept=$2
    mount -t tmpfs -o size=64k none runs
    for kilobytes in 64 200 400 800 1200 1600 2400 3200 4800; do
      mount -o remount,size=${kilobytes}k runs
      "$harness" reproduce --table sd35-ocr --scale smoke > out 2> err
      echo "$kilobytes $?" >> statuses
      cat err >> errors
    done
    mount -o remount,size=100m runs
    "$harness" reproduce --table sd35-ocr --scale smoke > out 2> err
    echo "rest $?" >> statuses
    cp -r runs "$kept"
  )sh");
  EXPECT_EQ(shell("unshare -m bash in_little_room " HARNESS_BINARY_DIR "/harness kept",
                  {.folder = place.folder(), .environment = place.environment})
                .status,
            0);
  const auto statuses = read_file(place.folder() / "statuses"), errors = read_file(place.folder() / "errors");
  // 2 where not even what is certain to be written has room.
  EXPECT_THAT(statuses, ContainsRegex("64 [12]\n200 [12]\n400 [12]\n")) << errors;
  EXPECT_THAT(statuses, HasSubstr("rest 0\n")) << read_file(place.folder() / "err");
  EXPECT_THAT(errors, HasSubstr("free some space and repeat the command")) << errors;
  fs::remove_all(place.folder() / "runs");
  fs::rename(place.folder() / "kept", place.folder() / "runs");
  expect_same_as_on_a_sound_disk(place);
}

}  // namespace
}  // namespace harness::test

#include "tests/harness/workplace.h"

namespace harness::test {
namespace {

// A part of what scripts/kill-test does: `scripts/kill-test 300` is the whole of it.
TEST(KillTest, TwentyKillsAtRandomChangeNoRowTableOrImage) {
  const auto killed = shell(HARNESS_SOURCE_DIR "/scripts/kill-test 20 --build " HARNESS_BINARY_DIR);
  EXPECT_EQ(killed.status, 0) << killed.out;
}

}  // namespace
}  // namespace harness::test

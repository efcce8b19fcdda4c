#include "harness/workspace/lock_holder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/event_log.h"
#include "tests/refusals.h"

namespace harness {
namespace {

TEST(LockHolder, IsTheProcessThatWritesALog) {
  const TemporaryFolder folder;
  const auto log = folder.path() / "events.log";
  EXPECT_EQ(lock_holder(log), std::nullopt) << "there is no file";
  {
    const EventLogWriter writer(log);
    EXPECT_EQ(lock_holder(log), ::getpid());
  }
  EXPECT_EQ(lock_holder(log), std::nullopt);
}

TEST(LockHolder, IsFoundWithoutTakingTheLock) {
  const TemporaryFolder folder;
  const auto log = folder.path() / "events.log";
  for (int i = 0; i < 200; ++i) {
    lock_holder(log);
    const EventLogWriter writer(log);  // would throw
    lock_holder(log);
  }
}

}  // namespace
}  // namespace harness

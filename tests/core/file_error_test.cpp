#include "core/file_error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace harness {
namespace {

TEST(FileError, SaysWhatToDoByTheSystemsReason) {
  const auto hint = [](int reason) { return file_error("cannot open", "here", reason).hint(); };
  for (const int reason : {EACCES, EPERM, EROFS}) EXPECT_EQ(hint(reason).find("check its permissions"), 0u);
  for (const int reason : {ENAMETOOLONG, EINVAL, ENOTDIR}) EXPECT_EQ(hint(reason).find("check the name"), 0u);
  for (const int reason : {ENOSPC, EDQUOT}) EXPECT_EQ(hint(reason).find("free some space"), 0u);
  EXPECT_EQ(hint(EIO).find("check the disk"), 0u);
}

TEST(FileError, IsTheUsersExceptWhereTheDiskFails) {
  EXPECT_EQ(file_error("", "here", EACCES).status(), Status::kUsage);
  EXPECT_EQ(file_error("", "here", ENAMETOOLONG).status(), Status::kUsage);
  EXPECT_EQ(file_error("", "here", ENOSPC).status(), Status::kFailed);
  EXPECT_EQ(file_error("", "here", EIO).status(), Status::kFailed);
  EXPECT_STREQ(file_error("", "here", EACCES).what(),
               "here: Permission denied; check its permissions, or choose a place that you can write to");
}

}  // namespace
}  // namespace harness

#include "harness/progress.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <string>

namespace harness {
namespace {

TEST(Progress, DurationsReadLikeAClock) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(60), "1:00");
  EXPECT_EQ(duration_text(3723), "1:02:03");
}

TEST(Progress, OffATerminalItPrintsPlainLinesWithoutEscapeBytes) {
  std::FILE* out = std::tmpfile();
  {
    Progress progress(out);
    progress.expect("a", 10);
    progress.start("a", "train dual (seed 42)");
    progress.update("a", {.done = 5, .total = 10, .unit = "updates", .text = "reward 0.8", .images = 320});
    progress.finish("a");
  }
  std::rewind(out);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), out));
  std::fclose(out);
  EXPECT_THAT(text, ::testing::HasSubstr("train dual (seed 42): started"));
  EXPECT_THAT(text, ::testing::HasSubstr("train dual (seed 42): done"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("\x1b")));
}

}  // namespace
}  // namespace harness

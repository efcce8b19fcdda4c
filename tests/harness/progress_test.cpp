#include "harness/terminal/progress.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <functional>
#include <string>

namespace harness {
namespace {

TEST(Progress, DurationsReadLikeAClock) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(60), "1:00");
  EXPECT_EQ(duration_text(3723), "1:02:03");
}

/// What a progress prints off a terminal.
std::string printed(const std::function<void(Progress&)>& show) {
  std::FILE* out = std::tmpfile();
  {
    Progress progress(out);
    show(progress);
  }
  std::rewind(out);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), out));
  std::fclose(out);
  return text;
}

TEST(Progress, OffATerminalItPrintsPlainLinesWithoutEscapeBytes) {
  const auto text = printed([](Progress& progress) {
    progress.expect("a", 10);
    progress.start("a", "train dual (seed 42)");
    progress.update("a", {.done = 5, .total = 10, .unit = "updates", .text = "reward 0.8", .images = 320});
    progress.finish("a");
  });
  EXPECT_THAT(text, ::testing::HasSubstr("train dual (seed 42): started"));
  EXPECT_THAT(text, ::testing::HasSubstr("train dual (seed 42): done"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("\x1b")));
}

/// After a quarter of one of two jobs; the other one was done before.
std::string begun(const std::function<void(Progress&)>& prepare) {
  return printed([&](Progress& progress) {
    prepare(progress);
    progress.expect("a", 1000);
    progress.expect_done("b");
    progress.start("a", "train dual (seed 42)");
    progress.update("a", {.done = 20, .total = 80, .unit = "updates", .text = ""});
  });
}

TEST(Progress, CountsWhatWasDoneBefore) {
  EXPECT_THAT(begun([](Progress&) {}), ::testing::HasSubstr("[1/2] "));
}

TEST(Progress, TellsATimeLeftAtOnceOnlyWhereEstimatesWereMeasured) {
  EXPECT_THAT(begun([](Progress&) {}), ::testing::Not(::testing::HasSubstr("ETA")));
  EXPECT_THAT(begun([](Progress& progress) { progress.trust_estimates(); }), ::testing::HasSubstr("ETA"));
}

TEST(Progress, NamesCommandNoTerminal) {
  const auto text = printed([](Progress& progress) {
    progress.start("a", "train \x1b[2J");
    progress.update("a", {.done = 5, .total = 10, .unit = "\u009b", .text = "\u202e"});
    progress.say("note: \x1b]0;x\a");
  });
  EXPECT_THAT(text, ::testing::HasSubstr("train \\u001b[2J: started"));
  EXPECT_THAT(text, ::testing::HasSubstr("note: \\u001b]0;x\\u0007"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("\x1b")));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("\u202e")));
}

TEST(Progress, IsLostWhereNothingCanBeWritten) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  {
    Progress progress(full);
    progress.start("a", "train");
    progress.finish("a");
  }
  std::fclose(full);
}

}  // namespace
}  // namespace harness

#include "results/report/text_diff.h"

#include <gtest/gtest.h>

namespace harness {
namespace {

/// "a[b]c" for wrong, "{b}" for missing.
std::string marked(std::string_view text, std::string_view target) {
  std::string out;
  for (const auto& run : text_diff(text, target)) {
    switch (run.kind) {
      case DiffKind::kSame:
        out += run.text;
        break;
      case DiffKind::kWrong:
        out += "[" + run.text + "]";
        break;
      case DiffKind::kMissing:
        out += "{" + run.text + "}";
        break;
    }
  }
  return out;
}

TEST(TextDiff, EqualTextsAreOneRun) {
  EXPECT_EQ(marked("Open Daily", "Open Daily"), "Open Daily");
}

TEST(TextDiff, CaseAndBlanksDoNotCount) {
  EXPECT_EQ(marked("OPENDAILY ", "Open Daily"), "OPENDAILY ");
}

TEST(TextDiff, ReplacedCharactersAreWrong) {
  EXPECT_EQ(marked("Qpen", "Open"), "[Q]pen");
}

TEST(TextDiff, AdditionalCharactersAreWrong) {
  EXPECT_EQ(marked("Open it", "Open"), "Open [it]");
}

TEST(TextDiff, DroppedCharactersAreMissing) {
  EXPECT_EQ(marked("Oen", "Open"), "O{p}en");
}

TEST(TextDiff, CountsCodePoints) {
  EXPECT_EQ(marked("caf\u00e9", "cafe"), "caf[\u00e9]");
}

TEST(TextDiff, AnEmptyTextLacksEverything) {
  EXPECT_EQ(marked("", "Open"), "{Open}");
  EXPECT_EQ(marked("", ""), "");
}

TEST(TextDiff, ShownRunsGiveTheTextAgain) {
  std::string shown;
  for (const auto& run : text_diff("  a  xq b ", "ab c")) {
    if (run.kind != DiffKind::kMissing) shown += run.text;
  }
  EXPECT_EQ(shown, "  a  xq b ");
}

}  // namespace
}  // namespace harness

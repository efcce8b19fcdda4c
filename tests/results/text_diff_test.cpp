#include "results/report/text_diff.h"

#include <gtest/gtest.h>

#include <array>

namespace harness {
namespace {

/// "a[b]c" for wrong, "{b}" for missing.
std::string marked(std::string_view text, std::string_view target) {
  std::string out;
  for (const auto& run : text_diff(text, target)) {
    const auto* around = run.kind == DiffKind::kWrong     ? "[]"
                         : run.kind == DiffKind::kMissing ? "{}"
                                                          : nullptr;
    out += around ? around[0] + run.text + around[1] : run.text;
  }
  return out;
}

TEST(TextDiff, ReplacedAndAdditionalCharactersAreWrongAndDroppedOnesMissing) {
  const std::vector<std::array<std::string, 3>> rows = {
      {"Open Daily", "Open Daily", "Open Daily"},
      {"OPENDAILY ", "Open Daily", "OPENDAILY "},  // case and blanks do not count
      {"Qpen", "Open", "[Q]pen"},
      {"Open it", "Open", "Open [it]"},
      {"Oen", "Open", "O{p}en"},
      {"caf\u00e9", "cafe", "caf[\u00e9]"},  // by code points
      {"", "Open", "{Open}"},
      {"", "", ""}};
  for (const auto& [text, target, expected] : rows) EXPECT_EQ(marked(text, target), expected) << text;
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

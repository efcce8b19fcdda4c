#include "core/text.h"

#include <gtest/gtest.h>

#include "core/json.h"

namespace harness {
namespace {

using namespace std::string_literals;

TEST(Counted, HasThePluralOfAllButOne) {
  EXPECT_EQ(counted(0, "run"), "0 runs");
  EXPECT_EQ(counted(1, "finished evaluation"), "1 finished evaluation");
  EXPECT_EQ(counted(2, "run"), "2 runs");
}

TEST(Suggestion, KnowsTheNamesOfOtherProgramsAndOtherSpellingsBeforeItLooksForTheNearest) {
  const std::vector<std::string> names = {"lr",  "beta1",    "kl", "guidance", "eval_guidance",
                                          "cer", "flow-grpo"};
  EXPECT_EQ(suggestion("learning_rate", names), "did you mean \"lr\"?");
  EXPECT_EQ(suggestion("beta", names), "did you mean \"kl\"?");
  EXPECT_EQ(suggestion("CFG-scale", names), "did you mean \"guidance\" or \"eval_guidance\"?");
  EXPECT_EQ(suggestion("CER", names), "did you mean \"cer\"?");
  EXPECT_EQ(suggestion("Flow_GRPO", names), "did you mean \"flow-grpo\"?");
  EXPECT_EQ(suggestion("beta2", names), "did you mean \"beta1\"?");
  const std::vector<std::string> of_methods = {"window", "window_from", "window_to", "velocity_kl",
                                               "mix-grpo"};
  EXPECT_EQ(suggestion("sde_window_range", of_methods), "did you mean \"window_from\" or \"window_to\"?");
  EXPECT_EQ(suggestion("kl_beta", of_methods), "did you mean \"velocity_kl\"?");
  EXPECT_EQ(suggestion("MixGRPO", of_methods), "did you mean \"mix-grpo\"?");
  EXPECT_EQ(suggestion("frobnicate", std::vector<std::string>{"lr", "kl"}), "known: lr, kl");
}

TEST(CutToWidth, EndsInADotsCharacterWhereItIsCut) {
  EXPECT_EQ(cut_to_width("ratio-norm", 10), "ratio-norm");
  EXPECT_EQ(cut_to_width("ratio-norm", 9), "ratio-no\u2026");
  EXPECT_EQ(cut_to_width("\u03bb\u03bb\u03bb", 2), "\u03bb\u2026") << "between two characters";
}

TEST(Padded, HasItsBlanksOnTheSideAskedForAndIsNeverCut) {
  EXPECT_EQ(padded("\u03bb", 3), "\u03bb  ");
  EXPECT_EQ(padded("\u03bb", 3, true), "  \u03bb");
  EXPECT_EQ(padded("longer", 3), "longer");
}

TEST(Filled, BreaksBetweenWordsAndNeverWithinBackquotes) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(filled("a b  c", 3), (Lines{"a b", "c"}));
  EXPECT_EQ(filled("see `harness help X` now", 10), (Lines{"see", "`harness help X`", "now"}));
  EXPECT_EQ(filled("", 10), Lines{});
}

TEST(FittedWidths, TheWidestThatMayLosesFirstAndNoneBecomesNarrowerThanTheLeast) {
  using Widths = std::vector<int>;
  EXPECT_EQ(fitted_widths({10, 20}, {true, true}, 2, 40, 8), (Widths{10, 20}));
  EXPECT_EQ(fitted_widths({10, 30, 20}, {true, true, false}, 2, 54, 8), (Widths{10, 20, 20}));
  EXPECT_EQ(fitted_widths({30, 30}, {true, true}, 2, 42, 8), (Widths{20, 20}));
  EXPECT_EQ(fitted_widths({9, 40}, {true, false}, 2, 20, 8), (Widths{9, 40})) << "what cannot fit is not cut";
}

TEST(ShellWord, IsQuotedWhereAShellWouldTakeItApart) {
  EXPECT_EQ(shell_word("a/b-c_d=1,e.f"), "a/b-c_d=1,e.f");
  EXPECT_EQ(shell_word("my runs"), "'my runs'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Printable, NothingThatCommandsATerminalIsLeftAndBytesThatAreNoUtf8AreShownAsBytes) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"\x1b]0;x\a\r\b\x7f", "\\u001b]0;x\\u0007\\u000d\\u0008\\u007f"},
      {"a\u0080b\u009bc\u009f", "a\\u0080b\\u009bc\\u009f"},
      {"\u202e\u2066\u2069\u200e\u200f\u061c", "\\u202e\\u2066\\u2069\\u200e\\u200f\\u061c"},
      {"a\0b"s, "a\\u0000b"},
      {"\xff\xfe", "\\xff\\xfe"},
      {"caf\xe9!", "caf\\xe9!"},
      {"\x9b"
       "31m",
       "\\x9b31m"},
      {"\xe6\xbc", "\\xe6\\xbc"}};
  for (const auto& [text, shown] : rows) EXPECT_EQ(printable(text), shown) << text;
}

TEST(Printable, TextStaysAsItIs) {
  for (const char* text : {"", "a\n\tb", "caf\u00e9 \u6f22\u5b57 \U0001f469\u200d\U0001f52c \u2212 \u2026",
                           "C:\\path \\u001b", "\u05e9\u05dc\u05d5\u05dd"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, AJsonDocumentKeepsItsData) {
  const Json document = {{"text\u009b", "\x1b[2J \u202e \u009b31m \x7f caf\u00e9 \\ \""}};
  const auto shown = printable(document.dump(2));
  EXPECT_EQ(shown.find_first_of("\x1b\x7f"), std::string::npos);
  EXPECT_EQ(shown.find("\u009b"), std::string::npos);
  EXPECT_EQ(parse_json(shown, "shown"), document);
}

TEST(PrintableLine, HasNoLineBreaks) {
  EXPECT_EQ(printable_line("a\nb\tc\x1b"), "a\\nb\\tc\\u001b");
}

TEST(BeginningWithin, EndsBetweenCharactersAndCountsColumns) {
  const std::vector<std::tuple<std::string, int, std::string>> rows = {
      {"abc", 3, "abc"},
      {"abcd", 3, "abc"},
      {"\u6f22\u5b57\u6f22", 5, "\u6f22\u5b57"},
      {"ab\033c", 7, "ab"},  // \\u001b takes six
      {"ab\033c", 8, "ab\033"},
      {"e\u0301e\u0301", 1, "e\u0301"},
      {"abc", 0, ""}};
  for (const auto& [text, columns, beginning] : rows)
    EXPECT_EQ(beginning_within(text, columns), beginning) << text << columns;
}

TEST(BeginningWithin, MarksWithoutEndAreCut) {
  std::string marks = "e";
  for (int i = 0; i < 1000; ++i) marks += "\u0301";
  EXPECT_LT(beginning_within(marks, 10).size(), 200u);
}

}  // namespace
}  // namespace harness

#include "core/unicode/normal_form.h"

#include <gtest/gtest.h>

#include "core/unicode/plain_text.h"
#include "tests/error_of.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

using namespace std::string_literals;

TEST(NormalFormC, JoinsLettersAndTheirMarks) {
  EXPECT_EQ(to_nfc("cafe\u0301"), "caf\u00e9");
  EXPECT_EQ(to_nfc("\u1112\u1161\u11ab"), "\ud55c") << "Hangul";
  EXPECT_EQ(to_nfc("x\u0302 \ufb01 \u00b2"), "x\u0302 \ufb01 \u00b2") << "no letter of its own, and no NFKC";
  EXPECT_EQ(error_of([] { to_nfc("\xff"); }).status(), Status::kUsage);
}

TEST(FoldedText, IsTheSameForWhatPeopleTakeForTheSame) {
  const auto folded = folded_text("a caf\u00e9 \u00ab GROSSE STRASSE \u00bb");
  for (const std::string other : {"A  Cafe\u0301 \u00ab grosse stra\u00dfe \u00bb ",
                                  " a caf\u00c9\u00a0\u00ab grosse strasse\u3000\u00bb",
                                  "a caf\u00e9 \u00ab gro\u00adsse strasse\u200b \u00bb"})
    EXPECT_EQ(folded_text(other), folded) << other;
  for (const std::string other :
       {"a cafe \u00ab grosse strasse \u00bb", "acaf\u00e9 \u00ab grosse strasse \u00bb"})
    EXPECT_NE(folded_text(other), folded) << other;
}

TEST(PlainText, IsTheSameWithLineEndsOfWindowsAndAByteOrderMark) {
  EXPECT_EQ(plain_text("\xef\xbb\xbf"s + "a\r\nb\r\n", "f"), "a\nb\n");
  EXPECT_EQ(plain_text("a\r\nb\r", "f"), "a\nb") << "a last line without a line feed";
  EXPECT_EQ(plain_text("a\nb", "f"), "a\nb");
  EXPECT_EQ(plain_text("a\rb\r\r\n", "f"), "a\rb\r\n")
      << "others stay, and are refused by who reads the lines";
}

TEST(PlainText, OfWiderCharactersIsRefusedByName) {
  const std::pair<std::string, const char*> files[] = {{"\xff\xfe" + "a\0"s, "UTF-16"},
                                                       {"\xfe\xff\0a"s, "UTF-16"},
                                                       {"a\0 \0"s, "UTF-16"},
                                                       {"\0a\0b"s, "UTF-16"},
                                                       {"\xff\xfe\0\0a\0\0\0"s, "UTF-32"},
                                                       {"\0\0\xfe\xff\0\0\0a"s, "UTF-32"}};
  for (const auto& [bytes, form] : files)
    EXPECT_PROBLEM(message_of([&] { plain_text(bytes, "p.txt"); }),
                   "p.txt: the file is "s + form + " text; save it as UTF-8");
}

}  // namespace
}  // namespace harness

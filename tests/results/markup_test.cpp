#include "results/table/markup.h"

#include <gtest/gtest.h>

namespace harness {
namespace {

TEST(LatexText, IsPrintedByPdflatexAsItIs) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a_b & 50% #1 {x} $y$ ^ ~ \\ < > |",
       "a\\_b \\& 50\\% \\#1 \\{x\\} \\$y\\$ \\textasciicircum{} \\textasciitilde{} \\textbackslash{} "
       "\\textless{} \\textgreater{} \\textbar{}"},
      {"--fresh ---", "-{}-fresh -{}-{}-"},
      {"\u03bb \u2191 \u2014 \u2020", "$\\lambda$ $\\uparrow$ --- $\\dagger$"},
      {"a sign \"OPEN\" and \"SHUT\"", "a sign ``OPEN'' and ``SHUT''"},
      {"caf\u00e9 \u4f60 \U0001f600", "caf\u00e9 U+4F60 U+1F600"},  // what it has no sign for is named
      {"a\nb\tc", "a b c"}};
  for (const auto& [text, latex] : rows) EXPECT_EQ(latex_text(text), latex) << text;
}

TEST(HtmlText, EscapesMarkupAndQuotes) {
  EXPECT_EQ(html_text("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
}

TEST(CsvField, IsQuotedOnlyWhereItMustBe) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
}

TEST(LatexProse, SetsSignedAndScientificNumbersThatAreWordsAsMathematics) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"by -4.17 [-8.33, +0.00], not resolved", "by $-4.17$ [$-8.33$, $+0.00$], not resolved"},
      {"3.8e-5", "$3.8\\times10^{-5}$"},
      {"sd35-ocr, lr=5e-05, 2026-11-22, 59e-7f", "sd35-ocr, lr=5e-05, 2026-11-22, 59e-7f"},
      {"-1", "$-1$"},
      {"+1.5e-05.", "$+1.5\\times10^{-5}$."},
      {"-1.2.3", "-1.2.3"},  // a version
      {"-1e1234 -1.x -1_000 -5%", "-1e1234 -1.x -1\\_000 $-5$\\%"},
      {"a-1 (-1) [-2] x(+3, -4)", "a-1 ($-1$) [$-2$] x($+3$, $-4$)"},
      {"12e5 1e5 e5 1.5e5 1.e5 1.5 -.5 - 5", "12e5 $1\\times10^{5}$ e5 $1.5\\times10^{5}$ 1.e5 1.5 -.5 - 5"},
      {"-1... -2..", "$-1$... $-2$.."}};
  for (const auto& [text, latex] : rows) EXPECT_EQ(latex_prose(text), latex) << text;
}

TEST(LatexProse, TakesATextOfAnyLength) {
  const std::string digits(200'000, '1');
  EXPECT_EQ(latex_prose(" +" + digits), " $+" + digits + "$");
  EXPECT_EQ(latex_prose("+" + digits + "x").size(), digits.size() + 2);
}

TEST(LatexProse, SetsWhatStandsBetweenBackquotesInTypewriterType) {
  EXPECT_EQ(latex_prose("see `harness check --paper` and \"`a_b`\""),
            "see \\texttt{harness check -{}-paper} and ``\\texttt{a\\_b}''");
  EXPECT_EQ(latex_prose("one ` alone"), latex_text("one ` alone"));
}

}  // namespace
}  // namespace harness

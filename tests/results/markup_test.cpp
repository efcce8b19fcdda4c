#include "results/markup.h"

#include <gtest/gtest.h>

namespace harness {
namespace {

TEST(LatexText, EscapesEverySpecialCharacter) {
  EXPECT_EQ(latex_text("a_b & 50% #1 {x} $y$ ^ ~ \\ < > |"),
            "a\\_b \\& 50\\% \\#1 \\{x\\} \\$y\\$ \\textasciicircum{} \\textasciitilde{} \\textbackslash{} "
            "\\textless{} \\textgreater{} \\textbar{}");
}

TEST(LatexText, HyphensStayHyphens) {
  EXPECT_EQ(latex_text("--fresh ---"), "-{}-fresh -{}-{}-");
}

TEST(LatexText, SymbolsBecomeCommands) {
  EXPECT_EQ(latex_text("\u03bb \u2191 \u2014 \u2020"), "$\\lambda$ $\\uparrow$ --- $\\dagger$");
}

TEST(LatexText, StraightQuotesOpenAndClose) {
  EXPECT_EQ(latex_text("a sign \"OPEN\" and \"SHUT\""), "a sign ``OPEN'' and ``SHUT''");
}

TEST(LatexText, WhatPdflatexCannotPrintIsNamed) {
  EXPECT_EQ(latex_text("caf\u00e9 \u4f60 \U0001f600"), "caf\u00e9 U+4F60 U+1F600");
  EXPECT_EQ(latex_text("a\nb\tc"), "a b c");
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

}  // namespace
}  // namespace harness

#include "core/source_sums/source_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace harness {
namespace {

using ::testing::ElementsAre;

TEST(SourceCode, CommentsAndLayoutDoNotCount) {
  const auto* plain = "double f(double x) {\n  return std::exp(-5 * x);  // five\n}\n";
  const auto* other = "/* E12 */ double f( double x )\n{ return std::exp(\n    -5 * x); }";
  EXPECT_EQ(code_of(plain), code_of(other));
}

TEST(SourceCode, EveryTokenCounts) {
  const auto code = code_of("a = exp(-5 * x);");
  EXPECT_NE(code, code_of("a = exp(-6 * x);"));
  EXPECT_NE(code, code_of("a = exp(5 * x);"));
  EXPECT_NE(code, code_of("a = expm1(-5 * x);"));
  EXPECT_NE(code, code_of("// a = exp(-5 * x);"));
}

TEST(SourceCode, ABlankThatPartsTokensIsKept) {
  EXPECT_NE(code_of("x+ ++y"), code_of("x++ +y"));
  EXPECT_NE(code_of("return x"), code_of("returnx"));
  EXPECT_NE(code_of("a > > b"), code_of("a >> b"));
  EXPECT_NE(code_of("a / *p"), code_of("a /*p"));
  EXPECT_EQ(code_of("a  +  b"), code_of("a+b"));
}

TEST(SourceCode, LiteralsAreKeptByteForByte) {
  EXPECT_NE(code_of(R"(f("a  b");)"), code_of(R"(f("a b");)"));
  EXPECT_NE(code_of(R"(f("// x");)"), code_of(R"(f("");)"));
  EXPECT_NE(code_of(R"(f("a\"  // b");)"), code_of(R"(f("a\"  ");)"));
  EXPECT_NE(code_of("f(R\"q( // a\n )\" b)q\");"), code_of("f(R\"q(  )\" b)q\");"));
  EXPECT_NE(code_of("c = ' ';"), code_of("c = '';"));
  EXPECT_EQ(code_of("c = '\"'; // d\ne"), code_of("c = '\"';\ne"));
}

TEST(SourceCode, ADigitSeparatorBeginsNoLiteral) {
  EXPECT_EQ(code_of("n = 20'000;  // 10 'ms'\nm = 1'0;"), code_of("n = 20'000; m = 1'0;"));
  EXPECT_NE(code_of("n = 20'000; m = 1;"), code_of("n = 20'000; m = 2;"));
}

TEST(SourceCode, TheEndOfADirectiveCounts) {
  EXPECT_NE(code_of("#define A 1\nfoo"), code_of("#define A 1 foo"));
  EXPECT_NE(code_of("#define A(x) 1\n"), code_of("#define A (x) 1\n"));
  EXPECT_EQ(code_of("#define A \\\n  1\nfoo"), code_of("#define A 1  // one\n\nfoo"));
}

TEST(SourceCode, AnUnfinishedTextIsReadToItsEnd) {
  EXPECT_EQ(code_of("a /* b"), code_of("a"));
  EXPECT_NE(code_of("\"a"), code_of(""));
  EXPECT_NE(code_of("R\"x(a"), code_of(""));
  EXPECT_EQ(code_of("'\\"), "'\\");
}

TEST(SourceCode, IncludesInQuotesAreFound) {
  EXPECT_THAT(quoted_includes("#include <cmath>\n#include \"a/b.h\"  // c\n# include  \"d.h\"\n"
                              "// #include \"no.h\"\nconst char* x = \"#include \\\"no.h\\\"\";\n"),
              ElementsAre("a/b.h", "d.h"));
}

}  // namespace
}  // namespace harness

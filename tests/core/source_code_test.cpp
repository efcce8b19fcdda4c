#include "core/source_sums/source_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace harness {
namespace {

using ::testing::ElementsAre;

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(SourceCode, CommentsAndLayoutDoNotCount) {
  const Pairs alike = {{"double f(double x) {\n  return std::exp(-5 * x);  // five\n}\n",
                        "/* E12 */ double f( double x )\n{ return std::exp(\n    -5 * x); }"},
                       {"a  +  b", "a+b"},
                       {"c = '\"'; // d\ne", "c = '\"';\ne"},
                       {"n = 20'000;  // 10 'ms'\nm = 1'0;", "n = 20'000; m = 1'0;"},
                       {"#define A \\\n  1\nfoo", "#define A 1  // one\n\nfoo"},
                       {"a /* b", "a"}};
  for (const auto& [one, other] : alike) EXPECT_EQ(code_of(one), code_of(other));
  EXPECT_EQ(code_of("'\\"), "'\\") << "an unfinished text is read to its end";
}

TEST(SourceCode, EveryTokenAndWhatPartsThemCounts) {
  const Pairs different = {{"a = exp(-5 * x);", "a = exp(-6 * x);"},
                           {"a = exp(-5 * x);", "a = exp(5 * x);"},
                           {"a = exp(-5 * x);", "a = expm1(-5 * x);"},
                           {"a = exp(-5 * x);", "// a = exp(-5 * x);"},
                           {"n = 20'000; m = 1;", "n = 20'000; m = 2;"},
                           // Blanks.
                           {"x+ ++y", "x++ +y"},
                           {"return x", "returnx"},
                           {"a > > b", "a >> b"},
                           {"a / *p", "a /*p"},
                           // Literals, byte for byte and also unfinished.
                           {R"(f("a  b");)", R"(f("a b");)"},
                           {R"(f("// x");)", R"(f("");)"},
                           {R"(f("a\"  // b");)", R"(f("a\"  ");)"},
                           {"f(R\"q( // a\n )\" b)q\");", "f(R\"q(  )\" b)q\");"},
                           {"c = ' ';", "c = '';"},
                           {"\"a", ""},
                           {"R\"x(a", ""},
                           // Directives and their ends.
                           {"#define A 1\nfoo", "#define A 1 foo"},
                           {"#define A(x) 1\n", "#define A (x) 1\n"}};
  for (const auto& [one, other] : different) EXPECT_NE(code_of(one), code_of(other)) << one;
}

TEST(SourceCode, IncludesInQuotesAreFound) {
  EXPECT_THAT(quoted_includes("#include <cmath>\n#include \"a/b.h\"  // c\n# include  \"d.h\"\n"
                              "// #include \"no.h\"\nconst char* x = \"#include \\\"no.h\\\"\";\n"),
              ElementsAre("a/b.h", "d.h"));
}

}  // namespace
}  // namespace harness

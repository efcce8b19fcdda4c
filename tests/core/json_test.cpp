#include "core/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace harness {
namespace {

std::string problem_of(std::string_view text) {
  try {
    parse_json(text, "a.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Json, ATextThatEndsTooEarlyIsToldSo) {
  for (const char* text : {"{\"a\": 1\n", "[1, 2", "{\"a\": \"b"}) {
    try {
      parse_json(text, "a file");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_TRUE(error.hint().starts_with("the text ends too early")) << text << ": " << error.what();
    }
  }
  try {
    parse_json("{\"a\": 1,}", "a file");
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(error.hint().empty()) << error.what();
  }
}

TEST(ParseJson, AKeyThatOccursTwiceIsRefused) {
  EXPECT_EQ(problem_of(R"({"a": {"b": 1, "b": 2}})"), "a.json: key \"b\" occurs twice in one object");
}

TEST(ParseJson, ASyntaxErrorNamesLineAndColumn) {
  EXPECT_NE(problem_of("{\n  \"a\": ]\n}").find("a.json: line 2, column 8"), std::string::npos)
      << problem_of("{\n  \"a\": ]\n}");
}

TEST(ParseJson, TrailingTextIsRefused) {
  EXPECT_NE(problem_of("{} {}"), "");
}

TEST(ParseJson, NestingDeeperThanTheLimitIsRefused) {
  EXPECT_NE(problem_of(std::string(100, '[') + std::string(100, ']')).find("nested deeper"),
            std::string::npos);
}

TEST(CanonicalJson, EqualDocumentsGiveEqualBytesWhateverTheirOrder) {
  EXPECT_EQ(canonical_json(parse_json(R"({"b": 0.1, "a": [1, 2]})", "x")),
            canonical_json(parse_json(R"({"a":[1,2],"b":0.1})", "y")));
}

TEST(CanonicalJson, NumbersThatAreNotFiniteAreRefused) {
  EXPECT_THROW(canonical_json({{"a", std::nan("")}}), Error);
}

TEST(Fields, AnUnreadKeyIsAnErrorWithTheNearestName) {
  const Json object{{"nu", 1}, {"nuu", 2}};
  Fields fields(object, "t.json: methods[1]");
  fields.required<int>("nu");
  try {
    fields.finish();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "t.json: methods[1]: unknown key \"nuu\"; did you mean \"nu\"?");
  }
}

TEST(Fields, AWrongTypeAndAMissingKeyAreNamed) {
  const Json object{{"a", "text"}, {"b", 1.5}};
  Fields fields(object, "t.json");
  EXPECT_THROW(fields.required<int>("a"), Error);
  EXPECT_THROW(fields.required<int>("b"), Error);
  EXPECT_THROW(fields.required<int>("c"), Error);
  EXPECT_DOUBLE_EQ(fields.required<double>("b"), 1.5);
}

}  // namespace
}  // namespace harness

#include "core/json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/error_of.h"

namespace harness {
namespace {

Error refusal(std::string_view text) {
  return error_of([&] { parse_json(text, "a.json"); });
}

TEST(Json, ATextThatEndsTooEarlyIsToldSo) {
  for (const char* text : {"{\"a\": 1\n", "[1, 2", "{\"a\": \"b"})
    EXPECT_TRUE(refusal(text).hint().starts_with("the text ends too early")) << text;
  EXPECT_EQ(refusal("{\"a\": 1,}").hint(), "");
}

TEST(ParseJson, WhatIsNotOneDocumentIsRefusedWithItsPlace) {
  EXPECT_STREQ(refusal(R"({"a": {"b": 1, "b": 2}})").what(), "a.json: key \"b\" occurs twice in one object");
  EXPECT_EQ(refusal("{\n  \"a\": ]\n}").where(), "a.json: line 2, column 8");
  EXPECT_TRUE(refusal("{} {}").where().starts_with("a.json")) << "text that follows";
  EXPECT_EQ(refusal(std::string(100, '[') + std::string(100, ']')).problem(), "nested deeper than 64");
}

TEST(ParseJson, AFaultOfALineIsAtAColumnOfIt) {
  const auto error = error_of([] { parse_json_line(R"({"a": ])", "a.jsonl:7"); });
  EXPECT_EQ(error.where(), "a.jsonl:7: column 7");
  EXPECT_EQ(error_of([] { parse_json_line("\"\xff\"", "a.jsonl:7"); }).where(), "a.jsonl:7: column 2");
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
  EXPECT_STREQ(error_of([&] { fields.finish(); }).what(),
               "t.json: methods[1]: unknown key \"nuu\"; did you mean \"nu\"?");
}

TEST(Fields, AWrongTypeAndAMissingKeyAreNamed) {
  const Json object{{"a", "text"}, {"b", 1.5}};
  Fields fields(object, "t.json");
  EXPECT_THROW(fields.required<int>("a"), Error);
  EXPECT_STREQ(error_of([&] { fields.required<int>("b"); }).what(),
               "t.json: \"b\" must be a whole number, not 1.5");
  EXPECT_THROW(fields.required<int>("c"), Error);
  EXPECT_DOUBLE_EQ(fields.required<double>("b"), 1.5);
}

}  // namespace
}  // namespace harness

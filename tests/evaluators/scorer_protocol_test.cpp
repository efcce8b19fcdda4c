#include "evaluators/scorer_protocol.h"

#include <gtest/gtest.h>

#include "tests/recorded_cases.h"

namespace harness {
namespace {

TEST(ScorerProtocol, RequestsSurviveTheirLine) {
  const auto request = parse_request(request_line({7, 96, 48}));
  EXPECT_EQ(request.id, 7u);
  EXPECT_EQ(request.width, 96);
  EXPECT_EQ(request.height, 48);
  EXPECT_EQ(request.bytes(), 96u * 48u * 3u);
}

TEST(ScorerProtocol, RequestsMustFitTogether) {
  const std::vector<std::pair<std::string, std::string>> requests = {
      {R"({"id":1,"width":2,"height":2,"channels":3,"bytes":11})", "\"bytes\" is not width x height x 3"},
      {R"({"id":1,"width":0,"height":2,"channels":3,"bytes":0})", "0 pixels a side; 1 to 16384 are allowed"},
      {R"({"id":1,"width":1,"height":1,"channels":4,"bytes":3})", "\"channels\" is not 3"}};
  for (const auto& [line, problem] : requests)
    EXPECT_EQ(message_of([&] { parse_request(line); }), "request: " + problem);
}

TEST(ScorerProtocol, AnswersSurviveTheirLine) {
  ScorerAnswer answer;
  answer.transcript_raw = "two\nlines \u20ac";
  answer.confidence = 87.5;
  answer.values = {{"pickscore", 0.25}};
  const std::string line = answer_line(3, answer);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto read = parse_answer(line, 3);
  EXPECT_EQ(read.transcript_raw, answer.transcript_raw);
  EXPECT_EQ(read.confidence, answer.confidence);
  EXPECT_EQ(read.values, answer.values);
  EXPECT_FALSE(read.error.has_value());
}

TEST(ScorerProtocol, AnAnswerMustBeToThisImageAndHoldSomething) {
  EXPECT_EQ(message_of([] { parse_answer(R"({"id":4,"transcript_raw":""})", 3); }),
            "answer: it answers another image");
  EXPECT_EQ(message_of([] { parse_answer(R"({"id":3,"confidence":1})", 3); }),
            "answer: it holds neither \"transcript_raw\", \"values\" nor \"error\"");
  EXPECT_EQ(parse_answer(R"({"id":3,"error":"blurred","transcript_raw":"x"})", 3).error, "blurred");
  EXPECT_NE(message_of([] { parse_answer("[]", 3); }), "");
}

TEST(ScorerProtocol, WhatIsNoFiniteNumberIsNoValue) {
  const auto answer = parse_answer(
      R"({"id":3,"values":{"a":1.5,"b":NaN,"c":-Infinity,"d":"NaN \" NaN","e":null,"f":true,"g":[1]}})", 3);
  EXPECT_EQ(answer.values, (std::map<std::string, double>{{"a", 1.5}}));
  EXPECT_EQ(answer.unusable.at("b"), "\"NaN\", which is no number");
  EXPECT_EQ(answer.unusable.at("c"), "\"-Infinity\", which is no number");
  EXPECT_EQ(answer.unusable.at("d"), "\"NaN \\\" NaN\", which is no number") << "a text is left as it is";
  EXPECT_EQ(answer.unusable.size(), 6u);
  EXPECT_NE(message_of([] { parse_answer(R"({"id":3,"values":{"a":nan}})", 3); }), "");
}

TEST(ScorerProtocol, ANumberThatNoSquareFitsIsNoValue) {
  const auto answer = parse_answer(
      R"({"id":3,"values":{"a":1e100,"b":-1e100,"c":1.7976931348623157e308,"d":-2e154,"e":1e-308}})", 3);
  EXPECT_EQ(answer.values, (std::map<std::string, double>{{"a", 1e100}, {"b", -1e100}, {"e", 1e-308}}));
  EXPECT_EQ(answer.unusable.at("c"), "1.798e+308, which is beyond the limit of 1e+100 either way");
  EXPECT_EQ(answer.unusable.at("d"), "-2e+154, which is beyond the limit of 1e+100 either way");
}

TEST(ScorerProtocol, AScorersWordsStayOnOnePrintableLine) {
  const auto words = [](const Json& text) {
    return *parse_answer(Json{{"id", 3}, {"error", text}}.dump(), 3).error;
  };
  EXPECT_EQ(words("no \"eng\" data in C:\\x: \u20ac"), "no \"eng\" data in C:\\x: \u20ac");
  EXPECT_EQ(words("two\nlines"), R"("two\u000alines")");
  EXPECT_EQ(words("a\x1b[2J"), R"("a\u001b[2J")");
  EXPECT_LT(words(std::string(100'000, 'x')).size(), 200u);
}

TEST(ScorerProtocol, ARequestMayNameAFileAndSayWhatTheImageShallShow) {
  const auto line = Json::parse(request_line({7, 96, 48, "/tmp/7.png", ScorerText{"a sign", "OPEN"}}));
  EXPECT_EQ(line, (Json{{"id", 7},
                        {"width", 96},
                        {"height", 48},
                        {"path", "/tmp/7.png"},
                        {"prompt", "a sign"},
                        {"target", "OPEN"}}));
}

TEST(ScorerProtocol, AHelloMayLeaveOutWhatIsStatedAndNotContradictIt) {
  const ScorerHello stated{"mine", "2", Json::object(), {}};
  EXPECT_EQ(parse_hello(R"({"protocol":1})", "mine", &stated).to_json(), stated.to_json());
  EXPECT_EQ(parse_hello(R"({"protocol":1,"settings":{"k":1}})", "mine", &stated).settings, (Json{{"k", 1}}));
  EXPECT_EQ(message_of([&] { parse_hello(R"({"protocol":1,"version":"3"})", "mine", &stated); }),
            "mine: says that it is \"mine\" version \"3\", and \"mine\" version \"2\" was expected");
}

TEST(ScorerProtocol, AHelloMustDescribeTheScorer) {
  const ScorerHello hello{"mine", "2", {{"k", 1}}, {{"w.bin", "ab"}}};
  EXPECT_EQ(parse_hello(hello.to_json().dump(), "mine").to_json(), hello.to_json());
  EXPECT_EQ(message_of([] { parse_hello(R"({"protocol":2})", "mine"); }),
            "mine: speaks scorer protocol 2, this program 1");
  EXPECT_EQ(message_of([] { parse_hello(R"({"protocol":1,"error":"no weights"})", "mine"); }),
            "mine: no weights");
  EXPECT_EQ(
      message_of([] { parse_hello(R"({"protocol":1,"name":"x","version":"1","settings":{}})", "mine"); }),
      "mine: \"data\" is missing");
}

}  // namespace
}  // namespace harness

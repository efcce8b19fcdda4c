#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "core/files.h"
#include "core/geneval/record.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

const char* const kPosition =
    R"({"tag": "position", "prompt": "a photo of a dog right of a tv remote",
        "include": [{"class": "tv remote", "count": 1}, {"class": "dog", "count": 1, "position": ["right of", 0]}]})";

GenevalRecord record_of(const std::string& text) {
  return read_geneval_record(parse_json(text, "text"), "file: line 3");
}

TEST(GenevalRecord, HoldsClassesByIndexAndPositionsByEarlierClauses) {
  const auto record = record_of(kPosition);
  ASSERT_EQ(record.include.size(), 2u);
  EXPECT_EQ(record.include[0].label, 65);
  EXPECT_EQ(record.include[1].label, 16);
  ASSERT_TRUE(record.include[1].position);
  EXPECT_EQ(record.include[1].position->relation, GenevalRelation::kRightOf);
  EXPECT_EQ(record.include[1].position->other, 0u);
  EXPECT_FALSE(record.is_counting());
  const auto counting = record_of(
      R"({"tag": "counting", "prompt": "three clocks", "include": [{"class": "clock", "count": 3}],
          "exclude": [{"class": "clock", "count": 4}]})");
  EXPECT_TRUE(counting.is_counting());
  EXPECT_EQ(counting.exclude.at(0).count, 4);
}

TEST(GenevalRecord, NamesAreAllDifferent) {
  EXPECT_EQ(std::set(kGenevalClasses.begin(), kGenevalClasses.end()).size(), 80u);
  EXPECT_EQ(kGenevalClasses.front(), "person");
  EXPECT_EQ(kGenevalClasses[64], "computer mouse");
  EXPECT_EQ(kGenevalClasses.back(), "toothbrush");
  EXPECT_EQ(std::set(kGenevalColours.begin(), kGenevalColours.end()).size(), 10u);
}

TEST(GenevalRecord, OfShapesHasTheirLabelsAndNoClassOfTheBenchmarkBeside) {
  const auto record = record_of(
      R"({"tag": "two_object", "prompt": "a star and a ring",
          "include": [{"class": "star", "count": 1}, {"class": "ring", "count": 1, "color": "red"}]})");
  EXPECT_EQ(&record.vocabulary(), &shapes_vocabulary());
  EXPECT_EQ(record.include[0].label, 3);
  EXPECT_EQ(record.include[1].name(), "ring");
  EXPECT_EQ(&record_of(kPosition).vocabulary(), &benchmark_vocabulary());
  EXPECT_PROBLEM(message_of([] {
                   record_of(R"({"tag": "two_object", "prompt": "a star and a dog",
                      "include": [{"class": "star", "count": 1}, {"class": "dog", "count": 1}]})");
                 }),
                 "names a dog and a star");
}

TEST(GenevalRecord, TravelsAsTheTargetOfItsPrompt) {
  const auto record = record_of(kPosition);
  const auto target = geneval_target(record);
  EXPECT_EQ(target.find("photo"), std::string::npos);
  EXPECT_EQ(target.find('\n'), std::string::npos);
  EXPECT_EQ(to_json(record_of_target(record.prompt, target, "target")), to_json(record));
  EXPECT_PROBLEM(message_of([] { record_of_target("a dog", "OPEN", "target"); }), "target");
}

TEST(GenevalRecord, WhatIsWrongIsRefusedWhereItStandsWithTheNearestName) {
  const auto problem_with = [](const Json& patch) {
    auto document = parse_json(kPosition, "text");
    document.merge_patch(patch);
    return message_of([&] { read_geneval_record(document, "file: line 3"); });
  };
  const auto clause = [](Json more) {
    Json one = {{"class", "dog"}, {"count", 1}};
    one.update(more);
    return Json{{"include", {one}}};
  };
  EXPECT_EQ(problem_with(Json::object()), "");
  EXPECT_PROBLEM(problem_with({{"tag", "colour"}}), "file: line 3.tag: unknown tag \"colour\"");
  EXPECT_PROBLEM(problem_with({{"tag", "color"}}), "did you mean \"colors\"?");
  EXPECT_PROBLEM(problem_with(clause({{"class", "remote"}})), "include[0].class: unknown class \"remote\"");
  EXPECT_PROBLEM(problem_with(clause({{"class", "dogs"}})), "did you mean \"dog\"?");
  EXPECT_PROBLEM(problem_with(clause({{"color", "grey"}})), "include[0].color: unknown color \"grey\"");
  EXPECT_PROBLEM(problem_with(clause({{"count", 0}})), "include[0].count: is 0");
  EXPECT_PROBLEM(problem_with(clause({{"count", 1.5}})),
                 "include[0]: \"count\" must be a whole number, not 1.5");
  EXPECT_PROBLEM(problem_with(clause({{"size", "big"}})), "unknown key \"size\"");
  EXPECT_PROBLEM(problem_with(clause({{"position", {"left of", 0}}})), "points at clause 0");
  EXPECT_PROBLEM(problem_with(clause({{"position", {"beside", 0}}})), "unknown relation \"beside\"");
  EXPECT_PROBLEM(problem_with(clause({{"position", "left of"}})), "must be [relation, index");
  EXPECT_PROBLEM(problem_with({{"include", Json::array()}}), "names no object");
  EXPECT_PROBLEM(problem_with({{"exclude", {{{"class", "dog"}, {"count", 2}, {"color", "red"}}}}}),
                 "unknown key \"color\"");
}

TEST(GenevalRecords, ALineThatIsNoneIsNamed) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "records.jsonl";
  auto line = parse_json(kPosition, "text").dump();
  write_file(file, line + "\n\n" + line + "\n");
  EXPECT_EQ(load_geneval_records(file).size(), 2u);
  write_file(file, line + "\n{\"tag\": \"position\"\n");
  EXPECT_PROBLEM(message_of([&] { load_geneval_records(file); }),
                 "records.jsonl: line 2: column 19: not valid JSON");
  write_file(file, "\n");
  EXPECT_PROBLEM(message_of([&] { load_geneval_records(file); }), "holds no record");
}

}  // namespace
}  // namespace harness

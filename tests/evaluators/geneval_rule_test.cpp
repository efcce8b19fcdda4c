#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "evaluators/geneval/rule.h"
#include "evaluators/geneval/rule_parity.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

int label_of(std::string_view name) {
  return static_cast<int>(std::ranges::find(kGenevalClasses, name) - kGenevalClasses.begin());
}

int colour_of(std::string_view name) {
  return static_cast<int>(std::ranges::find(kGenevalColours, name) - kGenevalColours.begin());
}

GenevalObject object(double x, double y, float score = 0.95F, std::optional<int> colour = {}) {
  return {.box = {x, y, x + 10, y + 10}, .score = score, .colour = colour};
}

GenevalVerdict verdict(const GenevalRecord& record, const GenevalDetections& all,
                       const GenevalRule& rule = {}) {
  return judge(record, kept_objects(record, all, rule), rule);
}

const int kDog = label_of("dog"), kBear = label_of("teddy bear");

/// "a dog right of a teddy bear"
GenevalRecord dog_right_of_bear() {
  GenevalRecord record{
      .tag = "position", .prompt = "", .include = {{.label = kBear}, {.label = kDog}}, .exclude = {}};
  record.include[1].position = GenevalClause::Position{GenevalRelation::kRightOf, 0};
  return record;
}

TEST(GenevalRule, OnlyScoresAboveTheThresholdCountAndInCountingAHigherOne) {
  GenevalRecord record{.tag = "single_object", .prompt = "", .include = {{.label = kDog}}, .exclude = {}};
  EXPECT_FALSE(verdict(record, {{kDog, {object(0, 0, 0.3F)}}}).correct);
  EXPECT_TRUE(verdict(record, {{kDog, {object(0, 0, 0.31F)}}}).correct);
  record.tag = "counting";
  EXPECT_FALSE(verdict(record, {{kDog, {object(0, 0, 0.89F)}}}).correct);
  EXPECT_TRUE(verdict(record, {{kDog, {object(0, 0, 0.91F)}}}).correct);
}

TEST(GenevalRule, MoreThanAskedForPassesExceptWhereTheRecordExcludesIt) {
  GenevalRecord record{
      .tag = "counting", .prompt = "", .include = {{.label = kDog, .count = 2}}, .exclude = {}};
  const GenevalDetections three = {{kDog, {object(0, 0), object(20, 0), object(40, 0)}}};
  EXPECT_TRUE(verdict(record, three).correct);
  EXPECT_DOUBLE_EQ(verdict(record, three).score, 0.5) << "the grade wants exactly two";
  EXPECT_FALSE(verdict(record, three).strict);
  record.exclude = {{.label = kDog, .count = 3}};
  EXPECT_EQ(verdict(record, three).reason, "expected dog<3, found 3");
}

TEST(GenevalRule, TheGradeHasNoLowerBoundButThatOfSixteenObjects) {
  const GenevalRecord record{
      .tag = "single_object", .prompt = "", .include = {{.label = kDog}}, .exclude = {}};
  const GenevalDetections twenty = {{kDog, std::vector<GenevalObject>(20, object(0, 0))}};
  EXPECT_DOUBLE_EQ(verdict(record, twenty).score, -14);
  EXPECT_TRUE(verdict(record, twenty).correct);
}

TEST(GenevalRule, ARelationNeedsTheCentresApartByMoreThanOverlapAllows) {
  const auto placed = [&](double x, double y) {
    return verdict(dog_right_of_bear(), {{kBear, {object(100, 100)}}, {kDog, {object(x, y)}}});
  };
  EXPECT_TRUE(placed(140, 100).correct);
  EXPECT_DOUBLE_EQ(placed(140, 100).score, 1);
  EXPECT_EQ(placed(60, 100).reason, "expected dog right of target, found left of target");
  EXPECT_EQ(placed(101, 100).reason, "expected dog right of target, found  target");
  EXPECT_EQ(placed(60, 60).reason, "expected dog right of target, found above and left of target");
  EXPECT_EQ(placed(100, 160).reason, "expected dog right of target, found below target");
}

TEST(GenevalRule, AWrongPlaceIsWorthThreeQuartersAndWithASinglePositionTermTwoThirds) {
  const GenevalDetections left = {{kBear, {object(100, 100)}}, {kDog, {object(60, 100)}}};
  EXPECT_DOUBLE_EQ(verdict(dog_right_of_bear(), left).score, 0.75);
  EXPECT_DOUBLE_EQ(verdict(dog_right_of_bear(), left, {.single_position = true}).score, 2.0 / 3);
  EXPECT_EQ(verdict(dog_right_of_bear(), {{kDog, {object(60, 100)}}}).reason,
            "expected teddy bear>=1, found 0\nno target for dog to be right of");
}

TEST(GenevalRule, ColoursAreCountedAmongTheMostConfidentAndAllThatWereSeenAreNamed) {
  GenevalRecord record{.tag = "colors",
                       .prompt = "",
                       .include = {{.label = kDog, .count = 2, .colour = colour_of("red")}},
                       .exclude = {}};
  const auto dogs = [](std::initializer_list<const char*> colours) {
    std::vector<GenevalObject> objects;
    for (const auto* colour : colours) objects.push_back(object(0, 0, 0.9F, colour_of(colour)));
    return GenevalDetections{{kDog, objects}};
  };
  EXPECT_TRUE(verdict(record, dogs({"red", "red"})).strict);
  EXPECT_EQ(verdict(record, dogs({"white", "red"})).reason,
            "expected red dog>=2, found 1 red; and 1 red, 1 white");
  EXPECT_DOUBLE_EQ(verdict(record, dogs({"white", "red"})).score, 0.75);
  EXPECT_FALSE(verdict(record, dogs({"white", "red", "red"})).correct) << "the third is not looked at";
  EXPECT_EQ(objects_to_colour(record, dogs({"red", "red", "red"})), (std::map<int, std::size_t>{{kDog, 2}}));
  EXPECT_TRUE(objects_to_colour(record, dogs({"red"})).empty());
  EXPECT_THROW(verdict(record, {{kDog, {object(0, 0), object(1, 1)}}}), Error);
}

TEST(GenevalRule, ARecordedCaseIsJudgedAsTheReferenceDid) {
  const auto report = check_geneval_rule_case(case_folder("geneval_rule"));
  EXPECT_TRUE(report.passed()) << report.message;
}

}  // namespace
}  // namespace harness

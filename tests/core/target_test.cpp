#include "core/geneval/target.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace harness {
namespace {

Target of_record(const std::string& text) {
  return Target::of_record("stars", text);
}

TEST(Target, OfARecordIsShownAsItsTagAndWhatItAsksFor) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {R"({"tag":"single_object","include":[{"class":"star","count":1}]})", "single_object: star"},
      {R"({"tag":"two_object","include":[{"class":"star","count":1},{"class":"ring","count":1}]})",
       "two_object: star, ring"},
      {R"({"tag":"counting","include":[{"class":"star","count":3}],"exclude":[{"class":"star","count":4}]})",
       "counting: 3 star"},
      {R"({"tag":"counting","include":[{"class":"star","count":1}]})", "counting: 1 star"},
      {R"({"tag":"colors","include":[{"class":"tv remote","count":1,"color":"pink"}]})",
       "colors: pink tv remote"},
      {R"({"tag":"position","include":[{"class":"square","count":1,"color":"blue"},
           {"class":"circle","count":1,"color":"red","position":["left of",0]}]})",
       "position: red circle left of blue square"},
      {R"({"tag":"position","include":[{"class":"dog","count":1},{"class":"cat","count":2,"position":["above",0]},
           {"class":"cow","count":1}]})",
       "position: 2 cat above dog, cow"},
      {R"({"tag":"color_attr","include":[{"class":"star","count":1,"color":"red"},
           {"class":"ring","count":1,"color":"white"}]})",
       "color_attr: red star, white ring"}};
  for (const auto& [target, shown] : rows) EXPECT_EQ(of_record(target).shown(), shown) << target;
}

TEST(Target, ShowsAnExclusionThatIsMoreThanAnExactCount) {
  EXPECT_EQ(
      of_record(
          R"({"tag":"counting","include":[{"class":"star","count":2}],"exclude":[{"class":"ring","count":1}]})")
          .shown(),
      "counting: 2 star, fewer than 1 ring");
  EXPECT_EQ(
      of_record(
          R"({"tag":"colors","include":[{"class":"star","count":1}],"exclude":[{"class":"star","count":2}]})")
          .shown(),
      "colors: star, fewer than 2 star");
}

TEST(Target, ARecordKeepsItsTextAndHasNoWords) {
  const std::string text = R"({"include":[{"class":"star","count":3}],"tag":"counting"})";
  const auto target = of_record(text);
  EXPECT_EQ(target.text(), text);
  EXPECT_EQ(target.words(), "");
  EXPECT_EQ(target.tag(), "counting");
  EXPECT_EQ(target.record()->prompt, "stars");
  EXPECT_EQ(Target(*target.record()).text(), text);
  const std::string other_order = R"({"tag": "counting", "include": [{"class": "star", "count": 3}]})";
  EXPECT_EQ(of_record(other_order).text(), other_order) << "as a DB of another version may have it";
}

TEST(Target, WordsAreNoRecordWhateverTheyLookLike) {
  const Target target(std::string(R"({"include":[{"class":"star","count":3}],"tag":"counting"})"));
  EXPECT_FALSE(target.record());
  EXPECT_EQ(target.words(), target.text());
  EXPECT_EQ(target.shown(), target.text());
  EXPECT_EQ(target.tag(), "");
  EXPECT_TRUE(Target().empty());
}

TEST(Target, ATextThatIsNoRecordIsTakenForWords) {
  for (const std::string text :
       {"", "OPEN", "{", "{\"include\"", R"({"include":[],"tag":"counting"})",
        R"({"include":[{"class":"unicorn","count":1}],"tag":"counting"})", "3 star"}) {
    EXPECT_EQ(of_record(text).shown(), text);
    EXPECT_EQ(of_record(text).words(), text);
    EXPECT_EQ(of_record(text).tag(), "") << text;
  }
}

}  // namespace
}  // namespace harness

#include "core/geneval/shown_target.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace harness {
namespace {

TEST(ShownTarget, OfARecordIsItsTagAndWhatItAsksFor) {
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
  for (const auto& [target, shown] : rows) EXPECT_EQ(shown_target(target), shown) << target;
}

TEST(ShownTarget, NamesAnExclusionThatIsMoreThanAnExactCount) {
  EXPECT_EQ(
      shown_target(
          R"({"tag":"counting","include":[{"class":"star","count":2}],"exclude":[{"class":"ring","count":1}]})"),
      "counting: 2 star, fewer than 1 ring");
  EXPECT_EQ(
      shown_target(
          R"({"tag":"colors","include":[{"class":"star","count":1}],"exclude":[{"class":"star","count":2}]})"),
      "colors: star, fewer than 2 star");
}

TEST(ShownTarget, OfAnyOtherTargetIsTheTargetItself) {
  for (const std::string target :
       {"", "OPEN", "{", "{\"include\"", R"({"include":[],"tag":"counting"})",
        R"({"include":[{"class":"unicorn","count":1}],"tag":"counting"})", "3 star"}) {
    EXPECT_EQ(shown_target(target), target);
    EXPECT_EQ(tag_of_target(target), "") << target;
  }
}

TEST(ShownTarget, TheTagIsTheRecords) {
  EXPECT_EQ(tag_of_target(R"({"include":[{"class":"star","count":3}],"tag":"counting"})"), "counting");
}

}  // namespace
}  // namespace harness

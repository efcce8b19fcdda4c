#include "results/verdict/analysis_plan.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "results/verdict/families.h"

namespace harness {
namespace {

AnalysisPlan plan_of(std::vector<std::int64_t> looks) {
  AnalysisPlan plan{.table = "t",
                    .backbone = "glyph",
                    .scale = "default",
                    .split = "test",
                    .baseline = "a",
                    .base = "base",
                    .primary = "ocr_reward",
                    .selection = {{"metric", "ocr_reward"}},
                    .prompts = "sum",
                    .metrics = {"ocr_reward", "cer"},
                    .pairs = {{"a", "b"}, {"base", "a"}},
                    .seeds = {},
                    .looks = std::move(looks),
                    .equal_within = {{"ocr_reward", 0.02}},
                    .rows = {}};
  for (std::int64_t seed = 1; seed <= plan.looks.back(); ++seed) {
    plan.seeds.push_back(seed);
    for (const char* row : {"a", "b", "base"}) plan.rows[row].runs[seed] = row + std::to_string(seed);
  }
  return plan;
}

TEST(LevelOfALook, IsWhatOBrienAndFlemingSpendThereAndAllLooksSpendTheLevel) {
  const auto plan = plan_of({3, 5, 8});
  EXPECT_NEAR(plan.level_of_look(0), .0014, 5e-5);
  EXPECT_NEAR(plan.level_of_look(1), .0118, 5e-5);
  EXPECT_NEAR(plan.level_of_look(2), .0368, 5e-5);
  for (const auto& looks : {std::vector<std::int64_t>{3, 5, 8}, {8}, {3, 4, 5, 6, 7, 8, 9, 10}, {5, 8, 12}}) {
    const auto of = plan_of(looks);
    double spent = 0;
    for (std::size_t look = 0; look < looks.size(); ++look) spent += of.level_of_look(look);
    EXPECT_NEAR(spent, kFamilyLevel, 1e-12) << looks.size();
  }
  EXPECT_NEAR(plan_of({5, 8, 12}).level_of_look(0), .0024, 5e-5);
}

TEST(PAtFamilyLevel, IsBelowTheLevelExactlyWherePIsBelowThatOfTheLook) {
  EXPECT_LT(p_at_family_level(.00139, .0014), kFamilyLevel);
  EXPECT_GT(p_at_family_level(.00141, .0014), kFamilyLevel);
  EXPECT_DOUBLE_EQ(p_at_family_level(.02, kFamilyLevel), .02);
  EXPECT_EQ(p_at_family_level(.9, .001), 1);
}

TEST(Looks, RiseAndEndWithAllRuns) {
  EXPECT_EQ(checked_looks({}, 5), std::vector<std::int64_t>{5});
  EXPECT_EQ(checked_looks({3, 5}, 8), (std::vector<std::int64_t>{3, 5, 8}));
  EXPECT_THROW(checked_looks({3, 3}, 8), Error);
  EXPECT_THROW(checked_looks({0}, 8), Error);
  EXPECT_THROW(checked_looks({3, 9}, 8), Error);
}

TEST(Plan, IsReadAsItWasWritten) {
  const auto plan = plan_of({3, 5, 8});
  const auto read = AnalysisPlan::from_json(plan.to_json(), "here");
  EXPECT_EQ(read.to_json(), plan.to_json());
  EXPECT_EQ(read.digest(), plan.digest());
  auto broken = plan.to_json();
  broken["looks"] = {3, 5};
  EXPECT_THROW(AnalysisPlan::from_json(broken, "here"), Error);
  broken.erase("looks");
  EXPECT_THROW(AnalysisPlan::from_json(broken, "here"), Error);
}

TEST(DigestOfAPlan, HoldsWhatIsAskedAndNotWhatWasKnown) {
  const auto plan = plan_of({8});
  auto later = plan;
  later.opened = {"a1"};
  later.supersedes = {"0123456789ab"};
  EXPECT_EQ(later.digest(), plan.digest());
  auto other = plan;
  other.equal_within["ocr_reward"] = 0.03;
  EXPECT_NE(other.digest(), plan.digest());
  EXPECT_NE(plan_of({5, 8}).digest(), plan.digest());
}

TEST(Plan, AsksOnlyOfRowsThatHadNotBeenTestedTheBaseModelAside) {
  auto plan = plan_of({3});
  EXPECT_TRUE(plan.asks("a", "b", "cer"));
  EXPECT_TRUE(plan.asks("b", "a", "cer")) << "whichever is named first";
  EXPECT_FALSE(plan.asks("a", "b", "exact_match"));
  EXPECT_FALSE(plan.asks("base", "b", "cer")) << "no such pair";
  plan.opened = {"base1", "base2"};
  EXPECT_TRUE(plan.asks("base", "a", "cer"));
  plan.opened = {"b2"};
  EXPECT_FALSE(plan.asks("a", "b", "cer"));
  EXPECT_TRUE(plan.asks("base", "a", "cer"));
}

TEST(NearSettings, AreNumbersWithFractionsWithinFivePercent) {
  const auto near = [](const Json& a, const Json& b) {
    return near_settings({{"seed", 42}, {"settings", {{"s", a}}}}, {{"seed", 42}, {"settings", {{"s", b}}}});
  };
  EXPECT_EQ(near(1e-8, 1.0001e-8), std::vector<std::string>{"s 1e-08, here 1.0001e-08"});
  EXPECT_TRUE(near(1e-5, 1.02e-5) && near(0.0, 0.0) && near(0.999, 0.99901) && near(-2.0, -2.05));
  EXPECT_FALSE(near(1e-5, 1.1e-5) || near(0.0, 1e-300) || near(1.0, -1.0) || near(0.99, 0.999));
  EXPECT_FALSE(near(100, 101) || near(true, false) || near("a", "b") || near(nullptr, 1.0));
  EXPECT_FALSE(near_settings({{"seed", 42}}, {{"seed", 43}}));
  EXPECT_FALSE(near_settings({{"seed", 42}}, {{"seed", 42}, {"task", "ocr"}}));
}

TEST(NearSettings, AreNoMatterOfWhichCheckpointsAreKeptAndOfHowGivenFilesAreNumbered) {
  const auto training = [](const Json& checkpoints) {
    return Json{{"seed", 42}, {"settings", {{"checkpoints", checkpoints}, {"lr", 1e-5}}}};
  };
  EXPECT_EQ(near_settings(training({2, 4, 6}), training({2, 4})),
            std::vector<std::string>{"other checkpoints"});
  const auto images = [](int seed, const std::string& prompts, const std::string& files) {
    return Json{{"kind", "images"}, {"seed", seed}, {"prompts_sha256", prompts}, {"images", {{"0", files}}}};
  };
  EXPECT_TRUE(near_settings(images(1, "a", "x"), images(3, "b", "x")));
  EXPECT_FALSE(near_settings(images(1, "a", "x"), images(1, "a", "y")));
}

}  // namespace
}  // namespace harness

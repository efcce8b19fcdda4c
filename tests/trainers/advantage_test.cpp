#include "trainers/advantage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"

namespace harness {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pointwise;

using Rewards = std::vector<std::optional<double>>;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr AdvantageRule kRules[] = {
    AdvantageRule::kGroup,   AdvantageRule::kGlobal,      AdvantageRule::kUnbiased, AdvantageRule::kFloor,
    AdvantageRule::kCentred, AdvantageRule::kLeaveOneOut, AdvantageRule::kWinRate,  AdvantageRule::kBatch,
    AdvantageRule::kTracked, AdvantageRule::kRaw};

auto is_near(const std::vector<double>& expected, double error = 1e-12) {
  return Pointwise(DoubleNear(error), expected);
}

TEST(Advantage, IsClampedToTheLimit) {
  std::vector<std::optional<double>> rewards(100, 0.0);
  rewards[3] = 1.0;  // 9.9 standard deviations
  EXPECT_EQ(group_advantages(rewards, 100).values[3], 5);
  EXPECT_EQ(group_advantages(rewards, 100, 2).values[3], 2);
}

TEST(Advantage, AGroupWithoutAnyRewardIsMissingAndNotEqual) {
  const std::optional<double> rewards[] = {{}, {}};
  const auto a = group_advantages(rewards, 2);
  EXPECT_THAT(a.values, Each(0.0));
  EXPECT_EQ(a.missing, 2);
  EXPECT_EQ(a.zero_std_groups, 0);
  EXPECT_THAT(a.group_differs, ElementsAre(false));
}

// Two groups of three: mean 3, deviations sqrt(14 / 3) (divisor n) and sqrt(7); mean 0.5.
TEST(AdvantageRules, GiveTheirFormulas) {
  const Rewards rewards = {1.0, 2.0, 6.0, 0.0, 0.5, 1.0};
  const double sd = std::sqrt(14.0 / 3), all = 1.75, of_all = std::sqrt(42.25 / 6 - all * all);
  const double small = std::sqrt(1.0 / 6);
  const auto raw = [&](AdvantageRule rule) { return group_advantages(rewards, 3, kUnlimited, rule).raw; };
  const auto divided = [&](double first, double second) {
    return is_near({-2 / first, -1 / first, 3 / first, -0.5 / second, 0, 0.5 / second});
  };
  EXPECT_THAT(raw(AdvantageRule::kGroup), divided(sd + 1e-4, small + 1e-4));
  EXPECT_THAT(raw(AdvantageRule::kGlobal), divided(of_all + 1e-4, of_all + 1e-4));
  EXPECT_THAT(raw(AdvantageRule::kUnbiased), divided(std::sqrt(7.0) + 1e-8, 0.5 + 1e-8));
  EXPECT_THAT(raw(AdvantageRule::kFloor), divided(sd, small));
  EXPECT_THAT(raw(AdvantageRule::kCentred), divided(1, 1));
  EXPECT_THAT(raw(AdvantageRule::kLeaveOneOut), is_near({1 - 4.0, 2 - 3.5, 6 - 1.5, -0.75, 0, 0.75}));
  const double divisor = of_all + 1e-4;
  EXPECT_THAT(raw(AdvantageRule::kBatch), is_near({-0.75 / divisor, 0.25 / divisor, 4.25 / divisor,
                                                   -1.75 / divisor, -1.25 / divisor, -0.75 / divisor}));
  const double top = 0.5 / (small + 1e-4);  // win rates 0, 1/2, 1
  EXPECT_THAT(raw(AdvantageRule::kWinRate), is_near({-top, 0, top, -top, 0, top}));
  EXPECT_THAT(raw(AdvantageRule::kRaw), ElementsAre(1, 2, 6, 0, 0.5, 1));
}

TEST(AdvantageRules, FloorTakesASmallDeviationUpToAMillionth) {
  const Rewards rewards = {1.0, 1.0 + 0x1p-30};
  EXPECT_THAT(group_advantages(rewards, 2, 5, AdvantageRule::kFloor).raw,
              is_near({-0x1p-31 / 1e-6, 0x1p-31 / 1e-6}));
}

TEST(AdvantageRules, RawIsTheAdvantageBeforeItIsClamped) {
  for (const auto rule : kRules) {
    const auto free = group_advantages(Rewards{9.0, 0.0, 3.0}, 3, kUnlimited, rule);
    const auto tight = group_advantages(Rewards{9.0, 0.0, 3.0}, 3, 0.25, rule);
    EXPECT_EQ(tight.raw, free.raw);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(tight.values[i], std::clamp(free.raw[i], -0.25, 0.25));
  }
}

TEST(AdvantageRules, ThatCompareWithinTheGroupGiveExactlyZeroInOneOfEqualRewards) {
  const Rewards rewards = {0.1, 0.1, 0.1, 0.0, 0.5, 1.0};
  for (const auto rule : kRules) {
    const bool within =
        rule != AdvantageRule::kBatch && rule != AdvantageRule::kTracked && rule != AdvantageRule::kRaw;
    const auto a = group_advantages(rewards, 3, 5, rule);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(a.values[i] == 0, within);
      EXPECT_EQ(a.raw[i] == 0, within);
    }
    EXPECT_EQ(a.zero_std_groups, 1);
    EXPECT_THAT(a.group_differs, ElementsAre(false, true));
  }
  for (const auto rule : {AdvantageRule::kBatch, AdvantageRule::kTracked})
    EXPECT_THAT(group_advantages(Rewards(6, 0.1), 3, 5, rule).values, Each(0.0));
}

TEST(AdvantageRules, LeaveAMissingRewardOut) {
  for (const auto rule : kRules) {
    const auto with = group_advantages(Rewards{0.25, {}, 1.0, 0.5}, 4, 5, rule);
    const auto without = group_advantages(Rewards{0.25, 1.0, 0.5}, 3, 5, rule);
    EXPECT_THAT(with.raw, ElementsAre(without.raw[0], 0, without.raw[1], without.raw[2]));
    EXPECT_EQ(with.missing, 1);
    const auto alone = group_advantages(Rewards{{}, 0.7, {}, {}}, 2, 5, rule);
    EXPECT_EQ(alone.values[1], rule == AdvantageRule::kRaw ? 0.7 : 0);
    EXPECT_EQ(alone.missing, 3);
  }
}

TEST(WinRates, CountATieOneHalf) {
  EXPECT_THAT(win_rates(std::vector{0.2, 0.9, 0.2, 0.5, 0.9}), ElementsAre(0.125, 0.875, 0.125, 0.5, 0.875));
  EXPECT_THAT(win_rates(std::vector{0.5, 0.5, 0.5}), Each(0.5));
}

/// Rewards of two groups of eight, other ones in every epoch.
Rewards of_epoch(int epoch) {
  Rewards rewards;
  for (int i = 0; i < 16; ++i)
    rewards.emplace_back(std::fmod(0.618034 * (16 * epoch + i), 1) + (i < 8 ? 0 : 2));
  return rewards;
}

/// Mean and population standard deviation.
std::pair<double, double> moments(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  const auto count = static_cast<double>(values.size());
  for (const double v : values) sum += v;
  for (const double v : values) squares += (v - sum / count) * (v - sum / count);
  return {sum / count, std::sqrt(squares / count)};
}

TEST(AdvantageTracker, ComparesWithTheLast32RewardsOfThePromptOnceItHas16) {
  AdvantageTracker tracker(AdvantageRule::kTracked, false, 5);
  std::vector<double> history;
  for (int epoch = 0; epoch < 6; ++epoch) {
    const auto rewards = of_epoch(epoch);
    const int prompts[] = {7, 100 + epoch};  // the second is new every time
    const auto a = tracker.next(rewards, 8, prompts);
    const auto batch = group_advantages(rewards, 8, 5, AdvantageRule::kBatch);
    for (std::size_t i = 0; i < 8; ++i) history.push_back(*rewards[i]);
    if (history.size() > 32) history.erase(history.begin(), history.end() - 32);
    const auto [mean, deviation] = moments(history);
    for (std::size_t i = 0; i < 16; ++i) {
      const bool tracked = i < 8 && epoch > 0;
      EXPECT_NEAR(a.raw[i], tracked ? (*rewards[i] - mean) / (deviation + 1e-6) : batch.raw[i], 1e-12)
          << epoch << " " << i;
    }
  }
}

TEST(AdvantageTracker, TakesTheUnitOfTheFirstEpochWhoseRewardsDiffer) {
  const int prompts[] = {0, 1};
  for (const auto rule : {AdvantageRule::kCentred, AdvantageRule::kLeaveOneOut, AdvantageRule::kRaw}) {
    AdvantageTracker tracker(rule, true, 5);
    EXPECT_EQ(tracker.next(Rewards(16, 0.3), 8, prompts).raw[0], rule == AdvantageRule::kRaw ? 0.3 : 0);
    EXPECT_TRUE(tracker.state().is_null());
    std::vector<double> first;
    for (const auto& r : of_epoch(1)) first.push_back(*r);
    for (const int epoch : {1, 2}) {
      const auto a = tracker.next(of_epoch(epoch), 8, prompts);
      const auto plain = group_advantages(of_epoch(epoch), 8, 5, rule);
      for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(a.raw[i], plain.raw[i] / moments(first).second, 1e-12);
    }
  }
}

TEST(AdvantageTracker, RemembersNothingForOtherRules) {
  const int prompts[] = {0, 1};
  for (const auto rule : kRules) {
    if (rule == AdvantageRule::kTracked) continue;
    AdvantageTracker tracker(rule, rule == AdvantageRule::kGroup, 2);
    const auto a = tracker.next(of_epoch(0), 8, prompts), plain = group_advantages(of_epoch(0), 8, 2, rule);
    EXPECT_EQ(a.values, plain.values);
    EXPECT_EQ(a.raw, plain.raw);
    EXPECT_TRUE(tracker.state().is_null());
  }
}

TEST(AdvantageTracker, GoesOnBitForBitFromItsState) {
  const int prompts[] = {3, 12};
  for (const auto rule : {AdvantageRule::kTracked, AdvantageRule::kCentred, AdvantageRule::kGroup}) {
    AdvantageTracker whole(rule, true, 5), resumed(rule, true, 5);
    for (const int epoch : {0, 1, 2}) whole.next(of_epoch(epoch), 8, prompts);
    resumed.restore(parse_json(whole.state().dump(), "state"), "test");
    EXPECT_EQ(resumed.state(), whole.state());
    EXPECT_EQ(resumed.next(of_epoch(3), 8, prompts).raw, whole.next(of_epoch(3), 8, prompts).raw);
    resumed.restore(Json(), "test");
    EXPECT_TRUE(resumed.state().is_null());
  }
}

TEST(AdvantageTracker, RefusesAStateThatIsNotOfItsRule) {
  AdvantageTracker group(AdvantageRule::kGroup, true, 5), raw(AdvantageRule::kRaw, true, 5),
      tracked(AdvantageRule::kTracked, false, 5);
  const Json row = {{"prompt", 1}, {"rewards", {0.5}}};
  EXPECT_THROW(group.restore({{"unit", 1.0}}, "test"), Error);
  EXPECT_THROW(raw.restore({{"unit", 0.0}}, "test"), Error);
  EXPECT_THROW(raw.restore(Json::object(), "test"), Error);
  EXPECT_THROW(tracked.restore({{"unit", 1.0}, {"history", Json::array({row})}}, "test"), Error);
  EXPECT_THROW(tracked.restore({{"history", Json::array({row, row})}}, "test"), Error);
  EXPECT_THROW(
      tracked.restore({{"history", {{{"prompt", 1}, {"rewards", std::vector<double>(33, 0.5)}}}}}, "test"),
      Error);
  EXPECT_NO_THROW(tracked.restore({{"history", Json::array({row})}}, "test"));
}

}  // namespace
}  // namespace harness

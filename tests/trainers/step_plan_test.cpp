// What the methods on recorded transitions sample, and which plans are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tests/error_of.h"
#include "tests/trainers/method_fixture.h"
#include "trainers/loop/trainable.h"

namespace harness {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = StepRule::Kind;

PlanContext at(std::int64_t epoch) {
  return {.steps = 10, .trained_steps = 10, .noise_level = 0.7, .guidance = 1.5, .seed = 7, .epoch = epoch};
}

RolloutPlan plan_of(const std::string& method, const Json& given, std::int64_t epoch = 1) {
  return method_of(method, given)->plan(at(epoch));
}

/// Steps of a kind other than kOde.
std::vector<int> noisy(const RolloutPlan& plan) {
  std::vector<int> steps;
  for (int k = 0; k < static_cast<int>(plan.steps.size()); ++k) {
    if (plan.steps[static_cast<std::size_t>(k)].rule.kind != Kind::kOde) steps.push_back(k);
  }
  return steps;
}

std::vector<int> first_steps(int count) {
  std::vector<int> steps;
  for (int k = 0; k < count; ++k) steps.push_back(k);
  return steps;
}

/// First steps of what is trained in 200 epochs.
std::set<int> starts_of(const std::string& method, const Json& given) {
  std::set<int> starts;
  for (std::int64_t epoch = 1; epoch <= 200; ++epoch)
    starts.insert(plan_of(method, given, epoch).trained().at(0));
  return starts;
}

TEST(FlowGrpoFast, DrawsAWindowInclusiveOfItsLastPlace) {
  for (std::int64_t epoch = 1; epoch <= 20; ++epoch) {
    const auto plan = plan_of("flow-grpo-fast", {{"window", 3}}, epoch);
    const auto trained = plan.trained();
    ASSERT_EQ(trained.size(), 3u);
    EXPECT_EQ(trained[2], trained[0] + 2);
    EXPECT_EQ(noisy(plan), trained);
    EXPECT_EQ(plan.guidance, 1.5);
    EXPECT_EQ(plan.steps[static_cast<std::size_t>(trained[0])].rule, (StepRule{Kind::kFlowSde, 0.7}));
  }
  EXPECT_THAT(starts_of("flow-grpo-fast", {{"window", 3}}), ElementsAre(0, 1, 2));
  EXPECT_THAT(starts_of("flow-grpo-fast", {{"window", 2}, {"window_from", 2}}), ElementsAre(2, 3));
}

TEST(FlowGrpoFast, WithoutAWindowTrainsAllStepsButTheLast) {
  const auto plan = plan_of("flow-grpo-fast", {{"window", 0}});
  EXPECT_EQ(plan.trained(), first_steps(9));
  EXPECT_EQ(noisy(plan), first_steps(9));
}

TEST(FlowGrpoFast, WithAWindowOfAllStepsSamplesAsFlowGrpo) {
  const auto plan = plan_of("flow-grpo-fast", {{"window", 10}, {"window_to", 10}});
  EXPECT_EQ(plan.trained(), first_steps(10));
  EXPECT_EQ(noisy(plan), noisy(plan_of("flow-grpo", Json::object())));
}

TEST(FlowGrpoFast, PresetsSampleAsTheirCodes) {
  for (std::int64_t epoch = 1; epoch <= 20; ++epoch) {
    const auto upstream = plan_of("flow-grpo-fast", {{"preset", "upstream"}}, epoch);
    const auto first = static_cast<std::size_t>(upstream.trained().at(0));
    EXPECT_EQ(upstream.steps[first].rule, (StepRule{Kind::kCps, 0.8}));
    EXPECT_EQ(upstream.trained().size(), 3u);
    const auto factory = plan_of("flow-grpo-fast", {{"preset", "flow-factory"}}, epoch).trained();
    ASSERT_EQ(factory.size(), 2u);
    EXPECT_GE(factory[0], 1);
    EXPECT_LE(factory[1], 5);
  }
}

TEST(FlowCps, LeavesTheLastStepAlone) {
  const auto plan = plan_of("flow-cps", Json::object());
  EXPECT_EQ(plan.trained(), first_steps(9));
  EXPECT_EQ(noisy(plan), first_steps(9));
  EXPECT_EQ(plan.steps[0].rule, (StepRule{Kind::kCps, 0.8}));
  EXPECT_EQ(plan.steps[9].rule.kind, Kind::kOde);
}

TEST(MixGrpo, WalksFromNoiseToDataAndBack) {
  const Json given = {{"stay", 2}};
  std::vector<int> starts;
  for (std::int64_t epoch = 1; epoch <= 20; ++epoch) {
    const auto plan = plan_of("mix-grpo", given, epoch);
    ASSERT_EQ(plan.trained().size(), 4u) << epoch;
    EXPECT_EQ(noisy(plan), plan.trained());
    starts.push_back(plan.trained()[0]);
  }
  // Places 0 to 8 by the public rule; the last where a window of 4 before step 8 fits is 4.
  EXPECT_THAT(starts, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 0, 0));
}

TEST(MixGrpo, PublicWindowEndsEmpty) {
  const Json given = {{"stay", 1}, {"window_end", "public"}};
  std::vector<std::size_t> sizes;
  for (std::int64_t epoch = 1; epoch <= 10; ++epoch)
    sizes.push_back(plan_of("mix-grpo", given, epoch).trained().size());
  EXPECT_THAT(sizes, ElementsAre(4, 4, 4, 4, 4, 3, 2, 1, 0, 4));
}

TEST(MixGrpo, HoldsOrStaysOrJumps) {
  const Json held = {{"stay", 1}, {"at_the_end", "hold"}};
  EXPECT_EQ(plan_of("mix-grpo", held, 30).trained().at(0), 4);
  EXPECT_EQ(plan_of("mix-grpo", {{"strategy", "fixed"}}, 30).trained(), first_steps(4));
  EXPECT_THAT(starts_of("mix-grpo", {{"strategy", "random"}}), ElementsAre(0, 1, 2, 3, 4));
}

TEST(MixGrpo, FlashFinishesWithFewerEvaluations) {
  const Json flash = {{"flash_ratio", 0.4}, {"stay", 1}};
  EXPECT_EQ(plan_of("mix-grpo", flash, 1).finish->from, 4);
  EXPECT_EQ(plan_of("mix-grpo", flash, 1).finish->points, 2);  // int(6 x 0.4)
  EXPECT_EQ(plan_of("mix-grpo", flash, 5).finish->from, 8);
  EXPECT_EQ(plan_of("mix-grpo", flash, 5).finish->points, 1);
  EXPECT_EQ(plan_of("mix-grpo", {{"flash_ratio", 1.0}}).finish->points, 6);
  EXPECT_FALSE(plan_of("mix-grpo", Json::object()).finish.has_value());
}

TEST(DanceGrpo, HasConstantNoiseButInTheLastStepAndASharedStart) {
  const auto plan = plan_of("dance-grpo", Json::object());
  EXPECT_TRUE(plan.shared_start);
  EXPECT_EQ(plan.trained(), first_steps(9));
  EXPECT_EQ(noisy(plan), first_steps(9));
  EXPECT_EQ(plan.steps[8].rule, (StepRule{Kind::kConstant, 0.3}));
}

TEST(DanceGrpo, PresetsTrainASubset) {
  for (std::int64_t epoch = 1; epoch <= 20; ++epoch) {
    const auto upstream = plan_of("dance-grpo", {{"preset", "upstream"}}, epoch);
    EXPECT_EQ(upstream.trained().size(), 5u);
    EXPECT_EQ(noisy(upstream), first_steps(9));
    EXPECT_LE(upstream.trained().back(), 8);
    const auto unirl = plan_of("dance-grpo", {{"preset", "unirl"}}, epoch);
    EXPECT_FALSE(unirl.shared_start);
    EXPECT_EQ(unirl.trained().size(), 3u);
    EXPECT_EQ(noisy(unirl), unirl.trained());
    EXPECT_LE(unirl.trained().back(), 4);
  }
}

TEST(FlowDppo, SamplesAsFlowGrpoOrDrawsStepsOfTheFirstHalf) {
  EXPECT_EQ(plan_of("flow-dppo", Json::object()).trained(), first_steps(10));
  for (std::int64_t epoch = 1; epoch <= 20; ++epoch) {
    const auto plan = plan_of("flow-dppo", {{"sde_steps", 3}}, epoch);
    EXPECT_EQ(plan.trained().size(), 3u);
    EXPECT_EQ(noisy(plan), plan.trained());
    EXPECT_LE(plan.trained().back(), 4);
  }
}

TEST(StepMethods, PlansAreAFunctionOfSeedAndEpoch) {
  for (const auto& [name, info] : methods()) {
    const auto method = method_of(name), other = method_of(name);
    if (!has_recorded_steps(*method)) continue;
    for (const std::int64_t epoch : {1, 2, 40}) {
      method->plan(at(epoch + 1));
      const auto plan = method->plan(at(epoch)), again = other->plan(at(epoch));
      EXPECT_EQ(plan.trained(), again.trained()) << name;
      EXPECT_EQ(noisy(plan), noisy(again)) << name;
    }
  }
}

TEST(StepMethods, DefaultsFitShortAndLongSchedules) {
  for (const auto& [name, info] : methods()) {
    for (const int steps : {2, 3, 6, 40}) {
      auto context = kOcr;
      context.sampling_steps = context.trained_steps = steps;
      context.late_steps = 1;
      const auto method = method_of(name, Json::object(), context);
      if (!has_recorded_steps(*method)) continue;
      auto asked = at(3);
      asked.steps = asked.trained_steps = steps;
      const auto plan = method->plan(asked);
      EXPECT_EQ(plan.steps.size(), static_cast<std::size_t>(steps)) << name;
      EXPECT_FALSE(plan.trained().empty()) << name << ", " << steps << " steps";
      for (const int k : plan.trained())
        EXPECT_NE(plan.steps[static_cast<std::size_t>(k)].rule.kind, Kind::kOde) << name;
    }
  }
}

/// A method that samples what it is told to.
class Planned : public Method {
 public:
  using Rule = std::function<RolloutPlan(const PlanContext&)>;
  explicit Planned(Rule rule) : rule_(std::move(rule)) {}
  RolloutPlan plan(const PlanContext& context) const override { return rule_(context); }

 private:
  Rule rule_;
};

/// In three epochs of two updates, of four steps each.
void require_planned(const Planned& method) {
  const auto settings =
      read_train_settings({{"sampling_steps", 4}, {"late_steps", 2}, {"updates", 6}}, "test");
  require_trainable(method, settings, 7, "table.json");
}

TEST(PlannedSteps, WithoutNoiseAreRefusedInWhateverEpoch) {
  struct Row {
    const char* what;
    int step;
    StepRule rule;
    std::optional<SolverFinish> finish = {};
  };
  for (const auto& [what, step, rule, finish] :
       std::vector<Row>{{"Euler's step", 1, {Kind::kOde, 0}},
                        {"a level of 0", 2, {Kind::kFlowSde, 0}},
                        {"the last step of CPS", 3, {Kind::kCps, 0.8}},
                        {"a step that the solver's finish takes the place of",
                         2,
                         {Kind::kFlowSde, 0.7},
                         SolverFinish{.from = 2, .points = 1}}}) {
    const Planned method([&](const PlanContext& context) {
      auto plan = flow_sde_plan(context);
      if (context.epoch < 3) return plan;
      plan.steps[static_cast<std::size_t>(step)].rule = rule;
      plan.finish = finish;
      return plan;
    });
    const auto error = error_of([&] { require_planned(method); });
    EXPECT_THAT(error.what(), HasSubstr("table.json: would train step " + std::to_string(step) +
                                        " of epoch 3, which has no noise and so no log-ratio"))
        << what;
    EXPECT_EQ(error.status(), Status::kUsage) << what;
  }
}

TEST(PlannedSteps, AreRefusedWhereNoEpochOfTheRunHasOne) {
  const auto trains_in = [](std::int64_t epoch) {
    return Planned([epoch](const PlanContext& context) {
      return window_plan(context, {Kind::kCps, 0.8}, 0, context.epoch == epoch ? 3 : 0);
    });
  };
  const auto error = error_of([&] { require_planned(trains_in(4)); });
  EXPECT_THAT(error.what(), HasSubstr("table.json: trains no step in any epoch"));
  EXPECT_EQ(error.status(), Status::kUsage);
  EXPECT_NO_THROW(require_planned(trains_in(3))) << "the last epoch alone trains";
}

TEST(PlannedSteps, OfOtherWeightsThanTheCurrentOnesAreRefusedInWhateverEpoch) {
  const Planned method([](const PlanContext& context) {
    auto plan = flow_sde_plan(context);
    if (context.epoch == 3) plan.weights = "old";
    return plan;
  });
  const auto error = error_of([&] { require_planned(method); });
  EXPECT_THAT(error.what(),
              HasSubstr("table.json: samples with weights \"old\", so that no first ratio would be 1"));
  EXPECT_EQ(error.status(), Status::kUsage);
}

}  // namespace
}  // namespace harness

// Methods on recorded transitions: what their losses are, beyond that their gradients are derivatives
// (method_test.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/recorded_cases.h"
#include "tests/trainers/method_fixture.h"
#include "trainers/parity/method_cases.h"

namespace harness {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Json kNothing = Json::object();
constexpr double kRadius = 2e-3;
const Json kAbsolute = {{"clip_rule", "absolute"}, {"clip", kRadius}};

/// The derivative of a step's loss by each y, times the number of samples.
torch::Tensor pull(const Method& method, const StepStats& stats) {
  const auto loss = surrogate_loss(method.step(stats), stats.advantage) * stats.y.numel();
  return torch::autograd::grad({loss}, {stats.y})[0];
}

/// The same of steps taken together, times their number too.
torch::Tensor pull(const TrajectoryMethod& method, const TrajectoryStats& stats) {
  const auto loss = mean_loss(method.trajectory(stats), stats.advantage) * stats.y.numel();
  return torch::autograd::grad({loss}, {stats.y})[0];
}

TEST(StepMethods, RepeatTheRecordedTransitions) {
  const auto report = check_case(case_folder("method_transitions"), transition_parity_kinds());
  EXPECT_TRUE(report.passed()) << report.message;
}

TEST(StepMethods, OnPolicyAllButTheWeighedHaveThePolicyGradient) {
  const auto stats = stats_of({0, 0, 0, 0}, {0, 0, 0, 0});
  for (const char* name :
       {"flow-grpo", "flow-grpo-kl", "flow-grpo-fast", "mix-grpo", "dance-grpo", "tempflow-weight",
        "flow-dppo", "spo", "aspo", "reinforce", "cispo", "rloo", "dr-grpo", "ddpo", "pref-grpo"})
    EXPECT_TRUE(torch::allclose(pull(*method_of(name), stats), -stats.advantage, 0, 1e-15)) << name;
  EXPECT_TRUE(torch::allclose(pull(*method_of("flow-cps"), stats), -stats.advantage * 2 * 0.2 * 0.2));
  EXPECT_TRUE(
      torch::allclose(pull(*method_of("flow-cps", {{"log_prob", "gaussian"}}), stats), -stats.advantage));
}

TEST(TrajectoryMethods, OnPolicyHaveThePolicyGradient) {
  // That of chunks of unequal length weighs each chunk alike, hence its steps by 1 / length.
  const auto stats = trajectory_stats(std::vector<double>(40, 0.0), 10);
  const auto expected = (-stats.advantage).expand_as(stats.y);
  for (const auto& [name, given] :
       std::vector<std::pair<const char*, Json>>{{"gspo", kNothing},
                                                 {"gmpo", kNothing},
                                                 {"chunk-grpo", {{"chunks", "5,5"}}},
                                                 {"chunk-grpo", {{"chunks", "1,1,1,1,1,1,1,1,1,1"}}}}) {
    const auto method = method_of(name, given);
    EXPECT_TRUE(torch::allclose(pull(*trajectory_of(*method), stats), expected, 0, 1e-14)) << name << given;
  }
  const auto method = method_of("chunk-grpo");
  EXPECT_TRUE(torch::allclose(pull(*trajectory_of(*method), stats)[0], expected[0] * (10 / (3 * 2.0))));
}

TEST(FlowCps, RatioIsTheLikelihoodsToThePowerOfTwiceTheVariance) {
  const auto stats = stats_of({2e-3, -1e-3}, {0, 0});
  const auto surrogate = method_of("flow-cps", kAbsolute)->step(stats);
  EXPECT_TRUE(torch::allclose(surrogate.ratio.log(), stats.y * 0.08, 1e-12, 0));
  EXPECT_EQ(surrogate.clip, kRadius);
  const auto one_sigma = method_of("flow-cps", {{"clip_rule", "one-sigma"}})->step(stats);
  EXPECT_DOUBLE_EQ(one_sigma.clip, 0.08 * std::sqrt(kTau / 1152));
  const auto fast = method_of("flow-grpo-fast", {{"preset", "upstream"}})->step(stats);
  EXPECT_TRUE(fast.ratio.equal(method_of("flow-cps")->step(stats).ratio));
}

TEST(Spo, IsLeastAtTheRadiusAndPullsBackBeyondIt) {
  const auto at = [](double ratio, double sign) {
    auto stats = stats_of({std::log(ratio)}, {0});
    stats.advantage = doubles_of({sign * 1.7});
    return pull(*method_of("spo", kAbsolute), stats).item<double>();
  };
  for (const double sign : {1.0, -1.0}) {
    EXPECT_NEAR(at(1 + sign * kRadius, sign), 0, 1e-12);
    EXPECT_LT(sign * at(1 + sign * 0.9 * kRadius, sign), 0);
    EXPECT_GT(sign * at(1 + sign * 1.1 * kRadius, sign), 0);
  }
}

TEST(Aspo, ClipsWherePositiveAndIsSpoWhereNegative) {
  const auto stats = stats_of({5e-3, -5e-3, -5e-3, 5e-3}, {0, 0, 0, 0});
  const auto aspo = pull(*method_of("aspo", kAbsolute), stats);
  const auto spo = pull(*method_of("spo", kAbsolute), stats);
  const auto clip = pull(*method_of("flow-grpo", kAbsolute), stats);
  const auto is_negative = stats.advantage < 0;
  EXPECT_TRUE(aspo.equal(torch::where(is_negative, spo, clip)));
  EXPECT_EQ(aspo[0].item<double>(), 0);  // A > 0, beyond the radius
}

TEST(FlowDppo, DropsFromTheThresholdOnWhatMovesOutward) {
  constexpr double kDelta = 1e-3;
  const auto method = method_of("flow-dppo", {{"delta", kDelta}});
  // Outward at the threshold, outward below it, inward above it (A is 1.3, -0.7, 0.4, -2).
  const auto stats = stats_of({1e-4, -1e-4, -1e-4, 1e-4}, {2 * kDelta, 1.9 * kDelta, 9 * kDelta, 9 * kDelta});
  const auto surrogate = method->step(stats);
  const auto &loss = surrogate.loss, whole = -stats.advantage * stats.y.exp();
  EXPECT_TRUE(surrogate.clipped.equal(torch::tensor({true, false, false, false}))) << "for the record";
  EXPECT_EQ(loss[0].item<double>(), 0);
  EXPECT_TRUE(loss.slice(0, 1).equal(whole.slice(0, 1)));
  EXPECT_TRUE(method_of("flow-dppo", {{"delta", 1e300}})->step(stats).loss.equal(whole));
  // lambda_center s^2 is the squared distance.
  const auto by_distance =
      method_of("flow-dppo", {{"delta", 2 * kDelta * 0.2 * 0.2}, {"divergence", "squared"}});
  EXPECT_EQ(by_distance->step(stats).loss[0].item<double>(), 0);
  EXPECT_TRUE(by_distance->step(stats).loss.slice(0, 1).equal(whole.slice(0, 1)));
}

TEST(Gmpo, ClipsEachStepOnTheSideOfItsAdvantage) {
  // Two samples, A 1.3 and -0.7; steps within, beyond on the outer side, beyond on the inner side.
  const double within = 1e-3, beyond = 5e-3;
  const auto stats = trajectory_stats({within, within, beyond, -beyond, -beyond, beyond}, 3);
  const auto method = method_of("gmpo", kAbsolute);
  const auto surrogate = trajectory_of(*method)->trajectory(stats).at(0);
  EXPECT_NEAR(surrogate.ratio[0].log().item<double>(), (within + kRadius - beyond) / 3, 1e-15);
  EXPECT_NEAR(surrogate.ratio[1].log().item<double>(), (within - kRadius + beyond) / 3, 1e-15);
  const auto gradient = pull(*trajectory_of(*method), stats);
  const auto flows = gradient != 0;
  EXPECT_TRUE(flows.equal(torch::tensor({{true, true}, {false, false}, {true, true}})));
  EXPECT_TRUE(torch::allclose(surrogate.slope, torch::full({2}, 2.0 / 9, torch::kFloat64)));
}

// The splits 0, 2 and 4 of ten steps: 2, 2, 4, 4 and then six times 8 edges.
TEST(BranchGrpo, EveryEdgeCountsAlike) {
  const std::vector<double> s(10, 0.1);
  const auto weights = method_of("branch-grpo", kNothing)->step_weights(s);
  ASSERT_EQ(weights.size(), 10U);
  EXPECT_NEAR(weights[0], 10.0 * 2 / 60, 1e-12);
  EXPECT_NEAR(weights[3], 10.0 * 4 / 60, 1e-12);
  EXPECT_NEAR(weights[9], 10.0 * 8 / 60, 1e-12);
  EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 10, 1e-12)
      << "the mean over steps stays one";
}

TEST(Cispo, ClipsTheWeightAndKeepsTheGradientOfEverySample) {
  const auto stats = stats_of({1e-3, -9e-3, -1e-3, 9e-3}, {0, 0, 0, 0});
  const auto upper = method_of("cispo", {{"eps_high", 3e-3}});
  const auto both = method_of("cispo", {{"eps_high", 3e-3}, {"eps_low", 2e-3}});
  const auto expected = [&](double least) {
    return -stats.y.exp().detach().clamp(least, 1 + 3e-3) * stats.advantage;
  };
  EXPECT_TRUE(pull(*upper, stats).equal(expected(0)));
  EXPECT_TRUE(pull(*both, stats).equal(expected(1 - 2e-3)));
  EXPECT_TRUE(upper->step(stats).clipped.equal(torch::tensor({false, false, false, true})));
  EXPECT_TRUE(both->step(stats).clipped.equal(torch::tensor({false, true, false, true})));
  EXPECT_DOUBLE_EQ(effective("cispo").at("eps_high").get<double>(), 3e-4 * std::sqrt(65536.0 / 1152));
}

TEST(TempflowWeight, WeighsStepsByTheirNoiseAndDividesTheKlByTheirVariance) {
  const auto method = method_of("tempflow-weight");
  EXPECT_THAT(method->step_weights(std::vector<double>{0.6, 0.3, 0.3}),
              ElementsAre(DoubleNear(1.5, 1e-15), DoubleNear(0.75, 1e-15), DoubleNear(0.75, 1e-15)));
  EXPECT_TRUE(method->reference_kl()->per_step_variance);
  EXPECT_EQ(method->reference_kl()->weight, 0.004);
  EXPECT_FALSE(method_of("flow-grpo-kl")->reference_kl()->per_step_variance);
  EXPECT_EQ(method_of("flow-grpo-kl")->reference_kl()->weight, 0.04);
  EXPECT_FALSE(method_of("flow-cps")->reference_kl().has_value());
  EXPECT_TRUE(method_of("flow-cps", {{"kl_weight", 0.01}})->reference_kl()->per_step_variance);
}

TEST(ReferenceKl, IsOfTheDiffusionCoefficientOrOfTheStep) {
  const SdeStep step{.dt = 0.04, .std = 0.5, .s = 0.1};
  const auto mean = torch::full({2, 3}, 0.3, torch::kFloat64), reference = torch::zeros_like(mean);
  EXPECT_NEAR(reference_kl(step, mean, reference)[0].item<double>(), 0.09 / (2 * 0.25), 1e-15);
  EXPECT_NEAR(reference_kl(step, mean, reference, true)[0].item<double>(), 0.09 / (2 * 0.01), 1e-14);
}

TEST(StepMethods, HaveTheirAdvantageRules) {
  using Rule = AdvantageRule;
  struct Row {
    const char* method;
    Json given;
    std::optional<Rule> rule;
    bool takes_unit = false;
  };
  for (const auto& [name, given, rule, takes_unit] :
       std::vector<Row>{{"flow-grpo-kl", kNothing, {}},
                        {"rloo", kNothing, Rule::kLeaveOneOut, true},
                        {"rloo", {{"unit", "none"}}, Rule::kLeaveOneOut},
                        {"dr-grpo", kNothing, Rule::kCentred, true},
                        {"ddpo", kNothing, Rule::kTracked},
                        {"pref-grpo", kNothing, Rule::kWinRate},
                        {"mix-grpo", kNothing, {}},
                        {"mix-grpo", {{"preset", "upstream"}}, Rule::kUnbiased},
                        {"dance-grpo", {{"preset", "unirl"}}, Rule::kGlobal},
                        {"flow-cps", {{"preset", "upstream"}}, Rule::kGlobal},
                        {"flow-grpo-fast", {{"preset", "flow-factory"}}, Rule::kFloor},
                        {"flow-grpo-fast", {{"preset", "upstream"}, {"advantage_rule", "loop"}}, {}}}) {
    EXPECT_EQ(method_of(name, given)->advantage_rule(), rule) << name << given;
    EXPECT_EQ(method_of(name, given)->takes_first_epochs_unit(), takes_unit) << name << given;
  }
}

TEST(StepMethodSettings, GiveTheirValuesAndThoseOfPresets) {
  const double plain = 1e-4 * std::sqrt(65536.0 / 1152);
  struct Row {
    const char* method;
    Json given;
    const char* name;
    Json expected;
  };
  for (const auto& [method, given, name, expected] :
       std::vector<Row>{{"flow-cps", kNothing, "clip", plain * 0.1},
                        {"flow-cps", {{"log_prob", "gaussian"}}, "clip", plain},
                        {"flow-cps", kAbsolute, "clip", kRadius},
                        {"spo", kNothing, "clip", plain},
                        {"gspo", kNothing, "clip", plain / std::sqrt(10)},
                        {"chunk-grpo", kNothing, "clip", plain / std::sqrt(10 / 3.0)},
                        {"gmpo", {{"clip_rule", "one-sigma"}}, "clip", std::sqrt(kTau / 1152)},
                        {"chunk-grpo", kNothing, "chunks", "2,3,5"},
                        {"flow-cps", kNothing, "window", 0},
                        {"flow-cps", {{"preset", "upstream"}}, "window", 3},
                        {"flow-grpo-fast", kNothing, "window", 2},
                        {"flow-grpo-fast", {{"preset", "upstream"}}, "level", 0.8},
                        {"flow-grpo-fast", {{"preset", "upstream"}, {"window", 1}}, "window", 1},
                        {"mix-grpo", kNothing, "stay", 5},
                        {"mix-grpo", {{"preset", "upstream"}}, "stay", 25},
                        {"mix-grpo", {{"preset", "unirl"}}, "stride", 3},
                        {"mix-grpo", kNothing, "window_to", 8},
                        {"dance-grpo", kNothing, "drawn_steps", 9},
                        {"dance-grpo", {{"preset", "upstream"}}, "drawn_steps", 5},
                        {"dance-grpo", {{"preset", "unirl"}}, "eta", 0.7},
                        {"flow-dppo", {{"preset", "unirl"}}, "sde_steps", 3},
                        {"flow-dppo", kNothing, "delta", 1e-5}}) {
    const auto found = effective(method, given).at(name);
    if (expected.is_number_float()) {
      EXPECT_DOUBLE_EQ(found.get<double>(), expected.get<double>()) << method << given << name;
    } else {
      EXPECT_EQ(found, expected) << method << given << name;
    }
  }
}

TEST(StepMethodSettings, AreRefusedWhereTheyDoNotFitTheSchedule) {
  const auto alone = [] {
    auto context = kOcr;
    context.group_size = 1;
    return context;
  }();
  struct Row {
    const char* method;
    Json given;
    const char* expected;
    MethodContext context = kOcr;
  };
  for (const auto& [method, given, expected, context] : std::vector<Row>{
           {"flow-grpo-fast", {{"window_to", 11}}, "setting window_to is 11, and 10 steps can be trained"},
           {"flow-cps", {{"window", 3}, {"window_to", 10}}, "setting window_to is 10, and 9 steps can be"},
           {"flow-grpo-fast", {{"window", 6}}, "setting window is 6, more than the steps"},
           {"flow-grpo-fast", {{"window", 1.5}}, "setting window is 1.5, no whole number"},
           {"flow-cps", {{"preset", "unirl"}}, "setting preset must be one of harness, upstream"},
           {"flow-grpo-fast", {{"sampler", "cps"}, {"level", 2}}, "setting level is 2, and cps takes"},
           {"flow-cps", {{"placement", "scattered"}}, "setting placement has no effect"},
           {"mix-grpo", {{"window_to", 11}}, "beyond the 10 steps of the schedule"},
           {"mix-grpo", {{"window", 9}}, "setting window is 9, more than the 8 steps before window_to"},
           {"mix-grpo", {{"strategy", "decay"}, {"min_stay", 9}}, "setting min_stay is above stay"},
           {"mix-grpo", {{"rate", 0.3}}, "setting rate has no effect"},
           {"mix-grpo", {{"strategy", "random"}, {"stay", 3}}, "setting stay has no effect"},
           {"dance-grpo", {{"drawn_of", 10}}, "of the 10 steps all but the last can be trained"},
           {"dance-grpo", {{"drawn_steps", 4}, {"drawn_of", 3}}, "setting drawn_steps is 4, more than the 3"},
           {"flow-dppo", {{"sde_steps", 6}}, "setting sde_steps is 6, more than the 5 steps"},
           {"chunk-grpo", {{"chunks", "2,3"}}, "add up to 5, but 10 steps are trained"},
           {"chunk-grpo", {{"chunks", "2,3,6"}}, "add up to 11, but 10 steps are trained"},
           {"chunk-grpo", {{"chunks", "2,,8"}}, "no lengths with commas between them"},
           {"chunk-grpo", {{"chunks", "10,0"}}, "no lengths with commas between them"},
           {"rloo", kNothing, "setting group_size is 1", alone},
           {"pref-grpo", kNothing, "setting group_size is 1", alone},
           {"mix-grpo", {{"preset", "upstream"}}, "setting group_size is 1", alone}}) {
    SCOPED_TRACE(method + given.dump());
    EXPECT_THAT(message_of([&] { make_method(method, given, context, "table.json"); }), HasSubstr(expected));
    EXPECT_THAT(message_of([&] { make_method(method, given, context, "table.json"); }),
                HasSubstr("table.json: "));
  }
}

}  // namespace
}  // namespace harness

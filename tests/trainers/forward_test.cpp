#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/error_of.h"
#include "tests/recorded_cases.h"
#include "tests/trainers/method_fixture.h"
#include "trainers/forward/forward_method.h"
#include "trainers/forward/snapshots.h"
#include "trainers/forward/times.h"
#include "trainers/parity/method_cases.h"

namespace harness {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using torch::Tensor;

const MethodContext kContext{.task = "ocr", .latent_size = 8, .late_steps = 5, .group_size = 4};
const MethodContext kOneUpdate{
    .task = "ocr", .latent_size = 8, .late_steps = 5, .group_size = 4, .updates_of_an_epoch = 1};

/// A method on the forward process, which ConfiguredMethod holds as any.
class Forward {
 public:
  explicit Forward(const std::string& name, const Json& given = Json::object(),
                   const MethodContext& context = kContext)
      : configured_(make_method(name, given, context, "test")) {}

  const ForwardMethod& operator*() const { return dynamic_cast<const ForwardMethod&>(*configured_.method); }
  const ForwardMethod* operator->() const { return &**this; }
  const Json& effective() const { return configured_.effective; }

 private:
  ConfiguredMethod configured_;
};

Tensor normals(std::uint32_t sample, torch::IntArrayRef shape) {
  return normal(sample, shape, 11).to(torch::kFloat64);
}

/// Two draws of two groups of four samples, float64; velocities near the target, those of `snapshots` near v.
ForwardStats stats_of(const std::vector<std::string>& snapshots, std::int64_t draws = 2) {
  const std::vector<std::int64_t> shape = {draws, 8, 2, 2, 2};
  ForwardStats s;
  s.x0 = normals(1, {8, 2, 2, 2});
  s.t = torch::linspace(0.2, 0.9, draws * 8, torch::kFloat64).view({draws, 8});
  s.eps = normals(2, shape);
  s.x_t = noised(s.x0, s.t, s.eps);
  s.v = (s.target() + 0.5 * normals(3, shape)).requires_grad_();
  std::uint32_t number = 4;
  for (const auto& name : snapshots) s.velocities[name] = s.v.detach() + 0.15 * normals(number++, shape);
  s.reward = torch::tensor({0.1, 0.9, 0.4, 0.3, 0.2, 0.6, 0.8, 0.5}, torch::kFloat64);
  s.advantage = torch::tensor({-1.3, 1.6, -0.1, -0.4, -1.5, 0.4, 1.2, -0.2}, torch::kFloat64);
  s.advantage_raw = s.advantage;
  s.group = torch::tensor({0, 0, 0, 0, 1, 1, 1, 1}, torch::kInt64);
  return s;
}

/// Mean loss and its gradient by v.
std::pair<double, Tensor> evaluated(const ForwardMethod& method, const ForwardStats& stats) {
  const auto loss = method.forward(stats).loss.mean();
  return {loss.item<double>(), torch::autograd::grad({loss}, {stats.v})[0]};
}

void expect_close(const Tensor& a, const Tensor& b, double tolerance = 1e-12) {
  EXPECT_LE((a - b).abs().max().item<double>(), tolerance) << a.flatten() << "\n" << b.flatten();
}

Tensor per_sample(const Tensor& values) {
  return values.unsqueeze(-1).unsqueeze(-1).unsqueeze(-1);
}

/// Largest error of autograd against central differences, relative to the largest derivative.
double gradient_error(const ForwardMethod& method, const ForwardStats& stats) {
  const auto loss = [&](const ForwardStats& at) { return method.forward(at).loss.mean(); };
  const auto [exact, numeric] = derivative_of(loss, stats, &ForwardStats::v, 1e-6);
  EXPECT_GT(exact.abs().max().item<double>(), 0);
  return relative_error(numeric, exact);
}

/// Calls body(name, method) with every method on the forward process, in this context; how many there are.
template <class Body>
int for_each_forward(const Body& body, const MethodContext& context = kContext) {
  int found = 0;
  for (const auto& [name, info] : methods()) {
    const auto usual = make_method(name, Json::object(), kContext, "test").method;
    if (dynamic_cast<const ForwardMethod*>(usual.get()) == nullptr)
      continue;  // others may refuse the context
    const auto method = make_method(name, Json::object(), context, "test").method;
    ++found;
    body(name, dynamic_cast<const ForwardMethod&>(*method));
  }
  return found;
}

// A new method needs no line here.
TEST(ForwardMethods, EveryMethodsGradientIsTheDerivativeOfItsLoss) {
  const auto check = [](const std::string& name, const ForwardMethod& method) {
    EXPECT_LT(gradient_error(method, stats_of(method.forward_plan().velocities)), 1e-6) << name;
  };
  EXPECT_GE(for_each_forward(check), 7);
}

TEST(ForwardMethods, TheGradientIsTheDerivativeWithOtherSettingsToo) {
  for (const auto& [name, given] : std::vector<std::pair<std::string, Json>>{
           {"awm", {{"weighting", "uniform"}, {"elements", "sum"}, {"order", "sum-first"}, {"clip", 0.01}}},
           {"awm", {{"weighting", "huber"}, {"advantage_map", "cut"}}},
           {"dgpo", {{"clip_kl", true}, {"anchor", "average"}, {"clip", 0.01}}},
           {"crd", {{"form", "bce"}, {"temperature", 0.5}, {"centre", "shard"}}},
           {"crd", {{"adaptive", false}}},
           {"raft", {{"form", "public"}, {"reference_weight", 10}}},
           {"rwr", {{"weights", "reward"}, {"reference_weight", 1}}}}) {
    const Forward method(name, given);
    EXPECT_LT(gradient_error(*method, stats_of(method->forward_plan().velocities)), 1e-6) << name << given;
  }
}

TEST(ForwardMethods, EveryMethodSamplesWithoutNoiseAndKeepsWhatItNames) {
  for_each_forward([](const std::string& name, const ForwardMethod& method) {
    const auto plan = method.plan({.steps = 10, .trained_steps = 10, .noise_level = 0.7, .guidance = 3});
    EXPECT_EQ(plan.steps.size(), 10u) << name;
    EXPECT_THAT(plan.trained(), IsEmpty()) << name;
    EXPECT_EQ(plan.steps[3].rule.kind, StepRule::Kind::kOde) << name;
    EXPECT_EQ(plan.guidance, 3) << name;
    const Snapshots snapshots({{"w", torch::zeros({2})}}, kept_snapshots(method, plan, "test"));
    for (const auto& velocity : method.forward_plan().velocities)
      EXPECT_TRUE(snapshots.has(velocity)) << name << velocity;
  });
}

// METHODS 4.1: grad_v = -(10 t / (B D w)) (2c - 1) (x0hat - x0).
TEST(DiffusionNft, OnPolicyTheGradientHasTheSignOfTheAdvantageAndBetaCancels) {
  auto stats = stats_of({});
  stats.velocities["old"] = stats.v.detach();
  const auto miss = stats.x_t - per_sample(stats.t) * stats.v.detach() - stats.x0;
  const auto w = miss.abs().flatten(2).mean(2);
  const auto expected =
      -2 * 5 * per_sample(stats.t * stats.advantage / 5 / w) * miss / static_cast<double>(stats.v.numel());
  for (const double beta : {0.1, 1.0}) {
    const Forward method("diffusion-nft", {{"beta", beta}, {"velocity_kl", 0}});
    EXPECT_THAT(method->forward_plan().velocities, ElementsAre("old"));
    const auto terms = method->forward(stats).terms;
    expect_close(terms.at("positive"), terms.at("negative"));
    expect_close(evaluated(*method, stats).second, expected);
  }
  stats.advantage = torch::zeros_like(stats.advantage);
  const auto still = evaluated(*Forward("diffusion-nft", {{"velocity_kl", 0}}), stats).second;
  EXPECT_LT(still.abs().max().item<double>(), 1e-15);
}

TEST(DiffusionNft, TheOldWeightsSampleAndTheKlTakesTheStartingOnes) {
  const Forward method("diffusion-nft");
  EXPECT_EQ(method->plan({.steps = 4}).weights, "old");
  EXPECT_THAT(method->forward_plan().velocities, ElementsAre("old", kReferenceWeights));
  EXPECT_EQ(method->advantage_rule(), AdvantageRule::kGlobal);
  EXPECT_EQ(Forward("diffusion-nft", {{"preset", "flow-factory"}})->advantage_rule(), AdvantageRule::kGroup);
  EXPECT_EQ(method->snapshots().at(0).decay(1), 0.001);
}

TEST(Awm, OnPolicyItIsAdvantageWeightedRegression) {
  const Json given = {{"weighting", "uniform"}, {"velocity_kl", 0}, {"ema_kl", 0}};
  const Forward method("awm", given, kOneUpdate);
  EXPECT_THAT(method->snapshots(), IsEmpty());
  EXPECT_THAT(method->forward_plan().velocities, IsEmpty());
  const auto stats = stats_of({});
  EXPECT_TRUE(method->forward(stats).terms.at("ratio").eq(1).all().item<bool>());
  const auto expected = 2 * per_sample(stats.advantage / 5) * (stats.v.detach() - stats.target()) /
                        static_cast<double>(stats.v.numel());
  expect_close(evaluated(*method, stats).second, expected);
}

TEST(Awm, KeepsTheOldWeightsWhereAnEpochHasTwoUpdates) {
  const Forward method("awm");
  EXPECT_THAT(method->forward_plan().velocities, ElementsAre("old", kReferenceWeights, "ema"));
  ASSERT_EQ(method->snapshots().size(), 2u);
  EXPECT_EQ(method->snapshots()[0].decay(99), 0);
  EXPECT_FALSE(method->forward_plan().joint_times);
  EXPECT_TRUE(Forward("awm", {{"order", "sum-first"}})->forward_plan().joint_times);
}

TEST(Awm, OneDrawHasOneOrderAndGhuberOfPowerOneIsT) {
  const auto stats = stats_of({"old", kReferenceWeights, "ema"}, 1);
  const auto gradient = [&](const Json& given) { return evaluated(*Forward("awm", given), stats).second; };
  expect_close(gradient({{"order", "sum-first"}}), gradient(Json::object()));
  expect_close(gradient({{"power", 1}}), gradient({{"weighting", "t"}}), 1e-9);
}

TEST(Dgpo, AGroupThatHasNotMovedWeighsOneHalf) {
  auto stats = stats_of({"ema_ref"});
  stats.velocities[kReferenceWeights] = stats.v.detach();
  const Forward method("dgpo", {{"clip", 1e6}, {"velocity_kl", 0}});
  const auto terms = method->forward(stats).terms;
  EXPECT_TRUE(terms.at("group_score").eq(0).all().item<bool>());
  const auto expected = per_sample(stats.advantage) * (stats.v.detach() - stats.target()) /
                        static_cast<double>(stats.v.numel());
  expect_close(evaluated(*method, stats).second, expected);
}

TEST(Dgpo, TheAveragedWeightsSampleFromAnUpdateOn) {
  const Forward method("dgpo", {{"ema_sampling_from", 4}});
  const auto weights = [&](std::int64_t epoch) { return method->plan({.steps = 4, .epoch = epoch}).weights; };
  EXPECT_EQ(weights(2), kCurrentWeights);  // two updates are done
  EXPECT_EQ(weights(3), "ema_ref");
  const auto draws = method->forward_plan();
  EXPECT_EQ(draws.time_scope, DrawScope::kPrompt);
  EXPECT_EQ(draws.noise_scope, DrawScope::kPrompt);
}

TEST(OnlineDpo, AtTheReferenceTheLossIsLnTwoAndTheWinnerIsMatched) {
  auto stats = stats_of({});
  stats.velocities["dpo_reference"] = stats.v.detach();
  const Forward method("online-dpo", {{"beta", 30}});
  const auto [loss, gradient] = evaluated(*method, stats);
  EXPECT_NEAR(loss, std::log(2), 1e-14);
  // M P losses: half as many as velocities.
  const auto signs = per_sample(torch::tensor({1, -1, 1, -1, 1, -1, 1, -1}, torch::kFloat64));
  const double count = static_cast<double>(stats.v.numel()) / 2;
  expect_close(gradient, signs * 30 * (stats.v.detach() - stats.target()) / (2 * count));
}

TEST(OnlineDpo, SwappingAPairFlipsItsMargin) {
  const auto stats = stats_of({"dpo_reference"});
  auto swapped = stats;
  const auto order = torch::tensor({1, 0, 3, 2, 5, 4, 7, 6}, torch::kInt64);
  swapped.x0 = stats.x0.index_select(0, order);
  for (auto* t : {&swapped.t, &swapped.eps, &swapped.x_t, &swapped.v, &swapped.velocities["dpo_reference"]})
    *t = t->index_select(1, order);
  const Forward method("online-dpo");
  expect_close(method->forward(stats).terms.at("margin"), -method->forward(swapped).terms.at("margin"));
}

TEST(OnlineDpo, PairsTheFirstBestWithTheFirstWorstAndLeavesEqualOnesOut) {
  const auto none = std::optional<double>();
  const auto chosen = Forward("online-dpo")
                          ->select({.rewards = {0.5, 0.9, 0.9, 0.5, 0.3, 0.3, none, 0.3, none, 0.2, 0.1, 0.2},
                                    .group_size = 4});
  EXPECT_THAT(chosen.rows, ElementsAre(1, 0, 9, 10));
  EXPECT_EQ(chosen.units, 2);
}

TEST(Raft, SelectsAllThatTieForTheBestAndNothingOfEqualOnes) {
  const auto none = std::optional<double>();
  const RewardGroups groups{.rewards = {0.5, 0.9, 0.9, 0.5, 0.3, 0.3, none, 0.3}, .group_size = 4};
  const auto chosen = Forward("raft")->select(groups);
  EXPECT_THAT(chosen.rows, ElementsAre(1, 2));
  EXPECT_EQ(chosen.units, 2);
  EXPECT_THAT(Forward("raft", {{"form", "public"}})->select(groups).rows, ElementsAre(0, 1, 2, 3, 4, 5, 7));
  EXPECT_THAT(Forward("rwr")->select(groups).rows, ElementsAre(0, 1, 2, 3, 4, 5, 7));
}

TEST(Rwr, IsRaftAtTemperatureZeroAndPlainFlowMatchingAtInfinity) {
  const auto stats = stats_of({});
  const auto of = [&](const Json& given) { return evaluated(*Forward("rwr", given), stats); };
  const auto cold = of({{"temperature", 1e-3}}).second;
  const auto matching = 2 * (stats.v.detach() - stats.target()) / static_cast<double>(stats.v.numel());
  const auto best = torch::tensor({0, 1, 0, 0, 0, 0, 1, 0}, torch::kFloat64);
  expect_close(cold, 4 * per_sample(best) * matching);  // 4: the mean is over all samples, not the best
  expect_close(of({{"temperature", 1e9}}).second, matching, 1e-9);
  expect_close(of({{"weights", "public"}}).second, matching);
  expect_close(of({{"weights", "reward"}}).second, per_sample(stats.advantage_raw) * matching);
}

TEST(ForwardMethods, PresetsGiveThePublicNumbers) {
  struct Row {
    const char* method;
    Json given;
    const char* name;
    Json expected;
  };
  for (const auto& [method, given, name, expected] :
       std::vector<Row>{{"diffusion-nft", Json::object(), "beta", 0.1},
                        {"diffusion-nft", Json::object(), "old_end", 0.5},
                        {"diffusion-nft", {{"preset", "upstream"}}, "old_start", 75},
                        {"diffusion-nft", {{"preset", "upstream"}}, "times", 9},
                        {"diffusion-nft", {{"preset", "unirl"}}, "time_scope", "all"},
                        {"diffusion-nft", {{"preset", "flow-factory"}}, "velocity_kl", 0.0},
                        {"diffusion-nft", {{"preset", "flow-factory"}, {"beta", 0.3}}, "beta", 0.3},
                        {"awm", Json::object(), "times", 4},
                        {"awm", {{"preset", "flow-factory"}}, "advantage_map", "cut"},
                        {"dgpo", {{"preset", "flow-factory"}}, "noise", "one"},
                        {"dgpo", Json::object(), "time_high", 7},
                        {"online-dpo", {{"preset", "upstream"}}, "times", 39},
                        {"online-dpo", {{"preset", "flow-factory"}}, "reference_every", 0},
                        {"crd", Json::object(), "sampling_start", 75}})
    EXPECT_EQ(Forward(method, given).effective().at(name), expected) << method << given << name;
}

TEST(ForwardMethods, RefuseSettingsThatDoNotFit) {
  struct Row {
    const char* method;
    Json given;
    const char* expected;
  };
  for (const auto& [method, given, expected] : std::vector<Row>{
           {"diffusion-nft", {{"times", 11}}, "setting times is 11, but time_low to time_high are 10 noise"},
           {"diffusion-nft", {{"times", 2.5}}, "setting times is not a whole number"},
           {"diffusion-nft", {{"time_high", 12}}, "setting time_high is 12, but a rollout has 10 steps"},
           {"awm", {{"time_low", 9}}, "setting time_low is 9, not below time_high"},
           {"diffusion-nft", {{"time_shift", 2}}, "setting time_shift has no effect"},
           {"online-dpo", {{"noise_scope", "sample"}}, "setting noise_scope is sample"},
           {"dgpo", {{"time_scope", "sample"}}, "give prompt or all"},
           {"raft", {{"time_rule", "uniform-strata"}, {"time_from", 0.9}, {"time_to", 0.1}}, "below time_to"},
           {"diffusion-nft", {{"preset", "verl"}}, "setting preset must be one of"}})
    EXPECT_THAT(message_of([&] { Forward(method, given); }), HasSubstr(expected)) << method << given;
}

TEST(ForwardMethods, FewStepsLowerTheDefaults) {
  const std::vector<float> sigmas = {1, 0.8F, 0.6F, 0.4F, 0.2F};
  for (const int steps : {1, 2, 3, 5}) {
    auto context = kContext;
    context.sampling_steps = steps;
    const auto check = [&](const std::string& name, const ForwardMethod& method) {
      const auto t = forward_times(method.forward_plan(), 1, 1, {{}},
                                   std::span(sigmas).first(static_cast<std::size_t>(steps)));
      EXPECT_GE(t.size(0), 1) << name << steps;
    };
    for_each_forward(check, context);
  }
}

// Snapshots

std::vector<NamedTensor> weights_of(float value) {
  return {{"a", torch::full({3}, value)}, {"b", torch::full({2, 2}, -value)}};
}

SnapshotRule moving(const std::string& name, SnapshotRule::When when) {
  return {.name = name, .when = when, .slope = 0.1, .end = 0.5};
}

TEST(Snapshots, MoveByTheirRuleAtTheirMoments) {
  Snapshots snapshots(weights_of(1), {moving("each", SnapshotRule::When::kUpdate),
                                      moving("slow", SnapshotRule::When::kEpoch), reference_weights()});
  const auto value = [&](const char* name) { return snapshots.of(name)[0].tensor[0].item<float>(); };
  snapshots.after_update(weights_of(2), 1);
  EXPECT_FLOAT_EQ(value("each"), 0.1F * 1 + 0.9F * 2);
  EXPECT_EQ(value("slow"), 1);
  snapshots.after_epoch(weights_of(3), 2);
  EXPECT_FLOAT_EQ(value("slow"), 0.2F * 1 + 0.8F * 3);  // the counter is that of updates
  EXPECT_EQ(value(kReferenceWeights), 1);
  EXPECT_TRUE(snapshots.moves_within_epoch("each"));
  EXPECT_FALSE(snapshots.moves_within_epoch("slow"));
}

TEST(Snapshots, CanMoveEveryFewUpdates) {
  const SnapshotRule rule{.name = "copy", .when = SnapshotRule::When::kUpdate, .every = 3};
  Snapshots snapshots(weights_of(1), {rule});
  std::vector<float> seen;
  for (std::int64_t n = 1; n <= 6; ++n) {
    snapshots.after_update(weights_of(static_cast<float>(10 * n)), n);
    seen.push_back(snapshots.of("copy")[0].tensor[0].item<float>());
  }
  EXPECT_THAT(seen, ElementsAre(1, 1, 30, 30, 30, 60));
}

TEST(Snapshots, GoOnFromTheirStateBitForBit) {
  auto slow = moving("slow", SnapshotRule::When::kEpoch);
  slow.every = 2;
  const std::vector<SnapshotRule> rules = {moving("each", SnapshotRule::When::kUpdate), slow,
                                           reference_weights()};
  const auto run = [](Snapshots& s, int from, int to) {
    for (int n = from; n <= to; ++n) {
      s.after_update(weights_of(1.0F / static_cast<float>(n)), n);
      s.after_epoch(weights_of(1.0F / static_cast<float>(n)), n);
    }
  };
  Snapshots whole(weights_of(1), rules), first(weights_of(1), rules), second(weights_of(1), rules);
  run(whole, 1, 7);
  run(first, 1, 3);
  const auto state = first.state();
  EXPECT_TRUE(state.contains("slow/b") && !state.contains("reference/a"));
  second.restore(state, "file");
  run(second, 4, 7);
  for (const auto& [name, tensor] : whole.state()) EXPECT_TRUE(tensor.equal(second.state().at(name))) << name;
  EXPECT_THAT(message_of([&] { second.restore({}, "file"); }),
              HasSubstr("file: tensor \"each/a\" is missing"));
}

TEST(Snapshots, AreInTheNetworkForAWhileAndLeaveItsBits) {
  Snapshots snapshots(weights_of(1), {moving("old", SnapshotRule::When::kEpoch)});
  auto live = weights_of(0.1F);
  for (auto& w : live) w.tensor.requires_grad_();
  const auto before = live[1].tensor.detach().clone();
  {
    const WithWeights old(live, snapshots, "old");
    EXPECT_EQ(live[0].tensor[0].item<float>(), 1);
    EXPECT_TRUE(live[0].tensor.requires_grad());
  }
  EXPECT_TRUE(live[1].tensor.equal(before));
  const WithWeights same(live, snapshots, kCurrentWeights);
  EXPECT_TRUE(live[1].tensor.equal(before));
}

/// Asks for weights that it does not keep.
class Forgetful : public ForwardMethod {
 public:
  ForwardPlan forward_plan() const override { return {.rule = {}, .velocities = {"older"}}; }
  ForwardLoss forward(const ForwardStats&) const override { return {}; }
};

TEST(Snapshots, RefuseWhatNobodyKeepsOrUpdates) {
  EXPECT_THAT(message_of([] { kept_snapshots(Forgetful(), {.steps = {}}, "method forgetful"); }),
              HasSubstr("method forgetful: the method uses the weights \"older\", which it does not keep"));
  const auto make = [](SnapshotRule rule) { return error_of([&] { Snapshots(weights_of(1), {rule}); }); };
  EXPECT_THAT(make({.name = "old"}).what(), HasSubstr("a snapshot that is never updated"));
  EXPECT_THAT(make({.name = "old", .when = SnapshotRule::When::kEpoch, .value = 1, .end = 1}).what(),
              HasSubstr("a snapshot that is never updated"));
  EXPECT_EQ(make({.name = "old"}).status(), Status::kUsage);
  const Snapshots none(weights_of(1), {});
  EXPECT_THAT(message_of([&] { none.of("old"); }), HasSubstr("no weights \"old\" are kept"));
}

// Times

const std::vector<float> kSigmas = {1, 0.9F, 0.8F, 0.7F, 0.6F, 0.5F, 0.4F, 0.3F, 0.2F, 0.1F};
const LatentShape kLatent{.channels = 2, .rows = 2, .columns = 3};
const std::vector<SampleAddress> kRows = {{3, 0}, {3, 1}, {5, 0}, {5, 1}};

ForwardPlan plan_of(TimeRule rule, DrawScope scope = DrawScope::kSample, int times = 4) {
  return {.times = times, .rule = rule, .time_scope = scope, .noise_scope = scope};
}

const std::vector<TimeRule> kTimeRules = {
    {.kind = TimeRule::Kind::kRolloutSubset, .low = 2, .high = 9},
    {.kind = TimeRule::Kind::kRolloutStrata, .low = 1, .high = 9, .least = 0.25},
    {.kind = TimeRule::Kind::kLogitNormal},
    {.kind = TimeRule::Kind::kLogitNormalGrid},
    {.kind = TimeRule::Kind::kLogitNormalStrata},
    {.kind = TimeRule::Kind::kUniformStrata, .from = 0.1, .to = 0.7}};

TEST(ForwardTimes, LieWhereTheirRuleSays) {
  for (std::uint32_t epoch = 1; epoch < 30; ++epoch) {
    for (const auto& rule : kTimeRules) {
      const auto t = forward_times(plan_of(rule), 42, epoch, kRows, kSigmas);
      ASSERT_EQ(t.sizes(), torch::IntArrayRef({4, 4}));
      EXPECT_GT(t.min().item<double>(), 0);
      EXPECT_LE(t.max().item<double>(), 1);
    }
    const auto subset = forward_times(plan_of(kTimeRules[0]), 42, epoch, kRows, kSigmas);
    for (std::int64_t i = 0; i < 4; ++i) {
      std::set<double> distinct;
      for (std::int64_t m = 0; m < 4; ++m) distinct.insert(subset[m][i].item<double>());
      EXPECT_EQ(distinct.size(), 4u);
    }
    EXPECT_LE(subset.max().item<double>(), kSigmas[2]);
    EXPECT_GE(subset.min().item<double>(), kSigmas[8]);
    const auto strata = forward_times(plan_of(kTimeRules[1]), 42, epoch, kRows, kSigmas);
    EXPECT_GE(strata.min().item<double>(), 0.25);
    EXPECT_TRUE((strata[0] > strata[3]).all().item<bool>());
    EXPECT_LE(forward_times(plan_of(kTimeRules[5]), 42, epoch, kRows, kSigmas).max().item<double>(), 0.7);
  }
}

TEST(ForwardTimes, AndNoiseAreSharedAsTheirScopeSays) {
  for (const auto& rule : kTimeRules) {
    for (const auto scope : {DrawScope::kSample, DrawScope::kPrompt, DrawScope::kAll}) {
      const auto plan = plan_of(rule, scope);
      const auto t = forward_times(plan, 42, 1, kRows, kSigmas);
      const auto eps = forward_noise(plan, 42, 1, 0, 4, kRows, kLatent, torch::kCPU);
      ASSERT_EQ(eps.sizes(), torch::IntArrayRef({4, 4, 2, 2, 3}));
      const auto shares = [&](std::int64_t i, std::int64_t j) {
        EXPECT_EQ(t.select(1, i).equal(t.select(1, j)), eps.select(1, i).equal(eps.select(1, j)));
        return eps.select(1, i).equal(eps.select(1, j));
      };
      EXPECT_EQ(shares(0, 1), scope != DrawScope::kSample);
      EXPECT_EQ(shares(1, 2), scope == DrawScope::kAll);
      EXPECT_FALSE(eps[0].equal(eps[1]));
    }
  }
}

TEST(ForwardTimes, AndNoiseFollowFromTheAddressWhateverTheShard) {
  const std::vector<SampleAddress> one = {kRows[2]};
  for (const auto& rule : kTimeRules) {
    const auto plan = plan_of(rule);
    EXPECT_TRUE(forward_times(plan, 42, 1, kRows, kSigmas)
                    .select(1, 2)
                    .equal(forward_times(plan, 42, 1, one, kSigmas).select(1, 0)));
    EXPECT_FALSE(
        forward_times(plan, 42, 1, kRows, kSigmas).equal(forward_times(plan, 42, 2, kRows, kSigmas)));
    EXPECT_TRUE(forward_noise(plan, 42, 1, 0, 4, kRows, kLatent, torch::kCPU)[3][2].equal(
        forward_noise(plan, 42, 1, 3, 1, one, kLatent, torch::kCPU)[0][0]));
  }
}

TEST(ForwardTimes, DrawsMayShareOneNoise) {
  auto plan = plan_of(kTimeRules[0]);
  plan.one_noise = true;
  const auto eps = forward_noise(plan, 42, 1, 0, 3, kRows, kLatent, torch::kCPU);
  EXPECT_TRUE(eps[0].equal(eps[2]));
  EXPECT_TRUE(forward_noise(plan, 42, 1, 2, 1, kRows, kLatent, torch::kCPU)[0].equal(eps[0]));
  EXPECT_FALSE(eps[0][0].equal(eps[0][1]));
}

TEST(ForwardTimes, RefuseARolloutWithTooFewNoiseLevels) {
  const auto error =
      error_of([] { forward_times(plan_of(kTimeRules[1], DrawScope::kSample, 8), 42, 1, kRows, kSigmas); });
  EXPECT_THAT(error.what(), HasSubstr("setting times is 8, but the rollout has 7 noise levels"));
}

TEST(ForwardMethods, RepeatTheRecordedCases) {
  for (const char* name :
       {"nft", "nft_on_policy", "awm", "dgpo", "crd", "dpo", "regression", "direct", "snapshots", "times"}) {
    const auto report = check_case(case_folder(std::string("method_") + name), forward_parity_kinds());
    EXPECT_TRUE(report.known && report.passed()) << name << ": " << report.message;
  }
}

}  // namespace
}  // namespace harness

#include "trainers/method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/recorded_cases.h"
#include "tests/trainers/method_fixture.h"
#include "trainers/loop/trajectory_share.h"

namespace harness {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Methods, EveryFileThatRegistersOneIsLinked) {
  std::size_t registrations = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(HARNESS_SOURCE_DIR) / "trainers/methods")) {
    if (entry.path().extension() != ".cpp") continue;
    const auto text = read_file(entry.path());
    for (auto at = text.find("register_method("); at != std::string::npos;
         at = text.find("register_method(", at + 1))
      ++registrations;
  }
  EXPECT_GE(registrations, 6u);
  EXPECT_EQ(methods().size(), registrations);
  for (const auto& [name, info] : methods())
    EXPECT_THAT(info.file, HasSubstr("trainers/methods/")) << name << " was registered elsewhere";
}

TEST(Methods, DescribeEverySettingWithHelp) {
  const auto list = describe_methods();
  ASSERT_EQ(list.size(), methods().size());
  for (const auto& method : list) {
    EXPECT_FALSE(method.at("summary").get<std::string>().empty());
    for (const auto& s : method.at("settings")) {
      EXPECT_FALSE(s.at("help").get<std::string>().empty()) << s.at("name");
    }
  }
}

/// What the record takes of a surrogate for two samples.
void expect_complete(const std::string& name, const Surrogate& surrogate) {
  EXPECT_GT(surrogate.clip, 0) << name;
  EXPECT_EQ(surrogate.ratio.sizes(), torch::IntArrayRef({2})) << name;
  EXPECT_EQ(surrogate.slope.sizes(), torch::IntArrayRef({2})) << name;
  EXPECT_FALSE(surrogate.slope.requires_grad()) << name;
  EXPECT_FALSE(surrogate.weight.defined() && surrogate.weight.requires_grad()) << name;
  if (surrogate.loss.defined()) {
    EXPECT_EQ(surrogate.loss.sizes(), torch::IntArrayRef({2})) << name;
  }
}

TEST(Methods, EveryMethodWorksWithItsDefaults) {
  for (const auto& [name, info] : methods()) {
    const auto method = method_of(name);
    if (!has_recorded_steps(*method)) continue;
    const auto* joined = trajectory_of(*method);
    if (joined == nullptr) {
      expect_complete(name, method->step(stats_of({1e-3, -2e-3}, {1e-3, 4e-3})));
      continue;
    }
    const auto surrogates =
        joined->trajectory(trajectory_stats(std::vector<double>(20, 1e-3), kOcr.trained_steps));
    EXPECT_EQ(surrogates.size(), joined->chunks(kOcr.trained_steps).size()) << name;
    for (const auto& surrogate : surrogates) expect_complete(name, surrogate);
  }
}

const Json kNothing = Json::object(), kOneSigma = {{"clip_rule", "one-sigma"}};
const MethodContext kPickscore{.task = "pickscore", .latent_size = 65536, .late_steps = 5},
    kGeneval{.task = "geneval", .latent_size = 65536, .late_steps = 5};

TEST(MethodSettings, GiveTheValuesOfTheirRules) {
  const double scale = std::sqrt(65536.0 / 1152), sigma = std::sqrt(kTau / 1152);
  struct Row {
    const char* method;
    Json given;
    const char* name;
    double expected;
    MethodContext context = kOcr;
  };
  for (const auto& [method, given, name, expected, context] :
       std::vector<Row>{// The public values scale with the latent.
                        {"ratio-norm", kNothing, "clip", 2e-6 * scale},
                        {"dual", kNothing, "clip", 2e-6 * scale},
                        {"flow-grpo", kNothing, "clip", 1e-4 * scale},
                        {"lambda-z-clip", kNothing, "clip", 1e-4 * scale},
                        {"ratio-norm", kNothing, "clip", 4e-6, kPickscore},
                        {"ratio-norm", kNothing, "clip", 2e-6, kGeneval},
                        // Lambda methods take the task's epsilon whatever the latent.
                        {"lambda-controlled", kNothing, "clip", 0.2},
                        {"lambda-norm-t", kNothing, "clip", 0.1, kPickscore},
                        {"lambda-controlled", kOneSigma, "clip", 0.2},
                        // One sigma is the spread at the budget.
                        {"flow-grpo", kOneSigma, "clip", sigma},
                        {"ratio-norm", kOneSigma, "clip_over_s", sigma},
                        {"flow-grpo", {{"clip_rule", "absolute"}, {"clip", 3e-4}}, "clip", 3e-4},
                        // Epsilon_lambda is kappa times the budget's variance.
                        {"lambda-controlled", kNothing, "eps_lambda", 0.01 * kTau / 1152},
                        {"lambda-controlled", {{"kappa", 1}}, "eps_lambda", kTau / 1152},
                        {"lambda-controlled", {{"eps_lambda", 1e-8}}, "eps_lambda", 1e-8},
                        {"lambda-norm-t", kNothing, "nu", 0.2 * 0.2},
                        {"lambda-norm-t", {{"nu_rule", "log"}}, "nu", std::log1p(0.2) * std::log1p(0.2)}})
    EXPECT_DOUBLE_EQ(effective(method, given, context).at(name), expected)
        << method << " " << given << " " << name << ", " << context.task;
  EXPECT_NEAR(effective("ratio-norm").at("clip"), 1.5e-5, 1e-7);         // the figure in the documentation
  EXPECT_NEAR(effective("lambda-controlled").at("tau"), 0.01026, 1e-5);  // E76
  EXPECT_NEAR(effective("lambda-controlled", kNothing, kPickscore).at("tau"), 0.00201, 1e-5);
  EXPECT_EQ(effective("lambda-norm-t", {{"kappa", nullptr}}), effective("lambda-norm-t"));
  EXPECT_DOUBLE_EQ(method_of("ratio-norm", kOneSigma)->step(stats_of({0}, {0})).clip, 0.2 * sigma);
}

TEST(MethodSettings, AreRefusedWhereUnknownUnusedOrWithoutAValue) {
  struct Row {
    const char* method;
    Json given;
    const char* expected;
    MethodContext context = kOcr;
  };
  for (const auto& [method, given, expected, context] : std::vector<Row>{
           {"ratio_norm", kNothing, "did you mean \"ratio-norm\"?"},
           {"lambda-controlled", {{"kapa", 0.1}}, "table.json: lambda-controlled: unknown setting \"kapa\""},
           {"lambda-controlled", {{"kapa", 0.1}}, "did you mean \"kappa\"?"},
           {"ratio-norm", {{"clip", 1e-5}}, "setting clip has no effect"},
           {"flow-grpo", {{"q", 0.9}}, "setting q has no effect"},
           {"lambda-norm-t", {{"kappa", 0.1}, {"eps_lambda", 1e-8}}, "setting kappa has no effect"},
           {"dual", {{"nu_rule", "log"}}, "setting nu_rule has no effect"},
           {"flow-grpo", {{"clip_rule", "absolute"}}, "setting clip has no default here"},
           {"ratio-norm", kNothing, "\"jpeg\"", {"jpeg", 1152, 5}},
           {"lambda-controlled", kNothing, "set clip_rule to absolute", kGeneval},
           {"lambda-controlled",
            {{"clip_rule", "absolute"}, {"clip", 0.2}},
            "setting q has no published value to start from for task \"geneval\"",
            kGeneval}})
    EXPECT_THAT(message_of([&] { make_method(method, given, context, "table.json"); }), HasSubstr(expected));
}

double on_policy_ratio(const std::string& method, const Json& given = Json::object()) {
  return method_of(method, given)->step(stats_of({0}, {0})).ratio.item<double>();
}

TEST(Methods, OnPolicyRatioIsOneAndOfLambdaNormTExpMinusHalfNu) {
  for (const char* name : {"flow-grpo", "ratio-norm", "dual", "lambda-z-clip"})
    EXPECT_EQ(on_policy_ratio(name), 1) << name;
  EXPECT_DOUBLE_EQ(on_policy_ratio("lambda-norm-t"), std::exp(-0.02));        // E37
  EXPECT_EQ(on_policy_ratio("lambda-norm-t", {{"form", "temperature"}}), 1);  // E40
}

TEST(LambdaNormT, OnPolicySlopeIsSetByEpsilonLambda) {
  const auto method = method_of("lambda-norm-t", {{"eps_lambda", 1e-8}});
  EXPECT_NEAR(method->step(stats_of({0}, {0})).slope.item<double>(), std::sqrt(0.04 / 1e-8), 1e-6);  // E37
}

TEST(LambdaNormT, FormsAgreeWithoutEpsilonLambda) {
  const auto main = method_of("lambda-norm-t", {{"eps_lambda", 1e-30}});
  const auto other = method_of("lambda-norm-t", {{"eps_lambda", 1e-30}, {"form", "temperature"}});
  const auto stats = stats_of({1e-3, -4e-3}, {1e-3, 5e-3});
  EXPECT_TRUE(torch::allclose(main->step(stats).ratio, other->step(stats).ratio, 1e-12, 0));
}

TEST(LambdaControlled, WeightNeverExceedsOneAndMeetsTheBudget) {
  const auto method = method_of("lambda-controlled");
  EXPECT_EQ(method->step(stats_of({0, 0}, {1e-4, 1e-3})).weight.item<double>(), 1);
  const double spend = 3 * kTau;
  const double w = method->step(stats_of({0, 0}, {spend, spend})).weight.item<double>();
  EXPECT_NEAR(w * w * spend, kTau, 1e-5 * kTau);  // E44, up to eps_lambda
}

TEST(LambdaControlled, DampSaysWhenTheMeanWeightActsAndNotWhatTheWeightsAre) {
  const auto inside = make_method("lambda-controlled", Json::object(), kOcr, "test");
  const auto after = make_method("lambda-controlled", {{"damp", "after-clip"}}, kOcr, "test");
  EXPECT_EQ(inside.effective.at("damp"), "per-step");
  EXPECT_FALSE(inside.method->damps_after_clip());
  EXPECT_TRUE(after.method->damps_after_clip());
  const auto stats = stats_of({0, 0}, {3 * kTau, 5 * kTau});
  EXPECT_TRUE(inside.method->step(stats).weight.equal(after.method->step(stats).weight));
}

TEST(RatioNorm, CentringByBatchUsesOneValueForTheShard) {
  const auto sample = method_of("ratio-norm");
  const auto batch = method_of("ratio-norm", {{"centring", "batch"}});
  const auto stats = stats_of({0, 0}, {0.02, 0.04});
  EXPECT_NEAR(sample->step(stats).ratio[0].item<double>(), std::exp(0.01 * 0.2), 1e-15);
  EXPECT_NEAR(batch->step(stats).ratio[0].item<double>(), std::exp(0.015 * 0.2), 1e-15);
  EXPECT_DOUBLE_EQ(sample->step(stats).scale, 1 / 0.1);
}

TEST(LambdaZClip, AClampedSampleHasNoGradient) {
  const auto method = method_of("lambda-z-clip", {{"z_clip", 0.5}});
  const auto stats = stats_of({-5e-4, 0.5}, {1e-3, 1e-3});
  method->step(stats).ratio.sum().backward();
  EXPECT_NE(stats.y.grad()[0].item<double>(), 0);
  EXPECT_EQ(stats.y.grad()[1].item<double>(), 0);
}

struct GradientCase {
  const char* method;
  Json settings;
  bool through_center;  // the gradient flows through lambda_center
};

/// Advantages and radii are such that some samples are clipped, some not.
auto loss_of(const Method& method) {
  return [&method](StepStats stats) {
    stats.lambda_var = stats.lambda_center / static_cast<double>(stats.latent_size);
    return surrogate_loss(method.step(stats), stats.advantage);
  };
}

auto loss_of(const TrajectoryMethod& method) {
  return [&method](const TrajectoryStats& stats) {
    return mean_loss(method.trajectory(stats), stats.advantage);
  };
}

void expect_equal(const std::string& name, const Derivative& d, double tolerance) {
  const auto excess = (d.exact - d.numeric).abs() - tolerance * (1 + d.numeric.abs());
  EXPECT_LE(excess.max().item<double>(), 0)
      << name << ", by autograd and by differences:\n"
      << d.exact.flatten() << "\n"
      << d.numeric.flatten() << "\nA loss that stops the gradient takes stats.held() in place of y there";
}

/// Holds gradients by y and, where one flows, by lambda_center to central differences; whether one flows.
bool expect_derivatives(const std::string& name, const Method& method, const std::vector<double>& y,
                        const std::vector<double>& center, double h, double tolerance) {
  const auto stats = stats_of(y, center);
  expect_equal(name, derivative_of(loss_of(method), stats, &StepStats::y, h), tolerance);
  const auto by_center = derivative_of(loss_of(method), stats, &StepStats::lambda_center, h);
  if (!by_center.exact.defined()) return false;
  expect_equal(name, by_center, tolerance);
  return true;
}

/// Log-ratios of all steps, sample by sample, which grow from those of the first step.
std::vector<double> growing(const std::vector<double>& first) {
  std::vector<double> y;
  for (int k = 0; k < kOcr.trained_steps; ++k) {
    const double grows = 1 + 0.3 * k;
    for (const double each : first) y.push_back(each * grows);
  }
  return y;
}

TEST(Methods, TheGradientIsTheDerivativeOfTheLoss) {
  const std::vector<double> y = {2e-3, -3e-3, 1e-3, 4e-3}, center = {8e-3, 3e-3, 1e-2, 2e-2};
  const Json wide = {{"clip_rule", "absolute"}, {"clip", 5e-4}};
  Json wide_batch = wide;
  wide_batch["centring"] = "batch";
  const GradientCase cases[] = {{"flow-grpo", {{"clip_rule", "absolute"}, {"clip", 2.5e-3}}, false},
                                {"ratio-norm", wide, true},
                                {"ratio-norm", wide_batch, true},
                                {"dual", wide, true},
                                {"lambda-norm-t", Json::object(), false},
                                {"lambda-norm-t", {{"form", "temperature"}}, false},
                                {"lambda-controlled", {{"q", 0.999}}, false},
                                {"lambda-controlled", {{"q", 0.999}, {"damp", "after-clip"}}, false},
                                {"lambda-z-clip", {{"clip_rule", "absolute"}, {"clip", 5e-3}}, false},
                                {"spo", {{"clip_rule", "absolute"}, {"clip", 2.5e-3}}, false},
                                {"aspo", {{"clip_rule", "absolute"}, {"clip", 2.5e-3}}, false},
                                {"flow-cps", {{"clip_rule", "absolute"}, {"clip", 2e-4}}, false},
                                {"flow-cps", {{"log_prob", "gaussian"}}, false},
                                {"flow-grpo-fast", {{"sampler", "cps"}}, false},
                                {"flow-dppo", {{"delta", 2e-3}}, false},
                                {"flow-dppo", {{"delta", 2e-4}, {"divergence", "squared"}}, false}};
  for (const auto& [name, settings, through_center] : cases) {
    const auto label = name + (" " + settings.dump());
    EXPECT_EQ(expect_derivatives(label, *method_of(name, settings), y, center, 1e-7, 1e-6), through_center)
        << label;
  }
}

// A new method needs no line here: at its defaults each is held to its own derivative. By lambda_center a
// method may let no gradient through (E34), and otherwise it is the derivative too.
TEST(Methods, EveryMethodsGradientIsTheDerivativeOfItsLoss) {
  for (const auto& [name, info] : methods()) {
    const auto method = method_of(name);
    if (!has_recorded_steps(*method)) continue;
    if (const auto* joined = trajectory_of(*method)) {
      const auto stats = trajectory_stats(growing({2e-5, -3e-4, 7e-4, 1e-4}), kOcr.trained_steps);
      expect_equal(name, derivative_of(loss_of(*joined), stats, &TrajectoryStats::y, 1e-7), 1e-6);
      continue;
    }
    expect_derivatives(name, *method, {2e-6, -3e-3, 1e-6, 4e-3}, {8e-6, 3e-3, 1e-2, 2e-2}, 1e-8, 1e-5);
    if (!method->has_penalty()) continue;
    const double late = 2 * kTau, h = 1e-7;
    EXPECT_NEAR(method->penalty(late).derivative,
                (method->penalty(late + h).value - method->penalty(late - h).value) / (2 * h), 1e-6)
        << name;
  }
}

// What the loop sends through the network: of one of three shards of an update, a quarter of whose samples
// are left out.
TEST(TrajectoryShare, IsTheDerivativeOfChunksOfSeveralStepsByTheLogRatioOfEach) {
  constexpr double kOfCounted = 4.0 / 3;
  constexpr std::size_t kShards = 3;
  struct Row {
    const char* method;
    Json given;
    std::vector<std::size_t> chunk_of_step;
  };
  const auto y = growing({2e-5, -5e-4, 7e-4, 1e-4});  // means over chunks lie within 1e-3 and beyond
  const Json radius = {{"clip_rule", "absolute"}, {"clip", 1e-3}};
  auto unequal = radius;
  unequal["chunks"] = "2,3,5";
  for (const auto& [name, given, chunk_of_step] :
       std::vector<Row>{{"chunk-grpo", unequal, {0, 0, 1, 1, 1, 2, 2, 2, 2, 2}},
                        {"gspo", radius, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}) {
    const auto method = method_of(name, given);
    const auto& joined = *trajectory_of(*method);
    const auto stats = trajectory_stats(y, kOcr.trained_steps);
    const auto share = trajectory_share(joined, stats, kOfCounted, kShards);
    const auto numeric = derivative_of(loss_of(joined), stats, &TrajectoryStats::y, 1e-6).numeric;
    expect_equal(name, {share.derivative, numeric * (kOfCounted / static_cast<double>(kShards))}, 1e-8);
    const auto is_clipped = share.derivative == 0;
    EXPECT_TRUE(is_clipped.any().item<bool>() && !is_clipped.all().item<bool>()) << name;
    EXPECT_NEAR(share.loss, kOfCounted * loss_of(joined)(stats).item<double>(), 1e-12) << name;
    EXPECT_EQ(share.of_step, chunk_of_step) << name;
  }
}

}  // namespace
}  // namespace harness

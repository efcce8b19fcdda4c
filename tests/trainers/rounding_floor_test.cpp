#include "trainers/loop/rounding_floor.h"

#include <gtest/gtest.h>

#include "backbones/sd3_folder.h"
#include "tests/recorded_cases.h"
#include "trainers/reduced_law.h"

namespace harness {
namespace {

using torch::Tensor;

constexpr std::uint32_t kSeed = 7;

/// A small Stable Diffusion 3 whose adapter has moved since it sampled a shard.
class Moved {
 public:
  explicit Moved(torch::ScalarType precision, double move)
      : backbone(load_sd3_folder({.name = "sd35-medium",
                                  .folder = case_folder("sd3_pipeline_sd35m") / "model",
                                  .choices = {.image_size = 64, .text_tokens = 16, .precision = precision}})),
        sampler(SdeSampler::make(schedule_for(*backbone, NoiseGrid::kUniform, 4, 3), 0.7, 1)) {
    const torch::NoGradGuard no_grad;
    torch::manual_seed(kSeed);
    for (const auto& [_, weight] : backbone->trainable()) {
      Tensor(weight).copy_(0.02 * torch::randn(weight.sizes()));
      before.push_back(weight.clone());
    }
    const std::vector<PromptText> prompts(2, {"a sign \"OPEN\"", "OPEN"});
    shard = sample_rollout(*backbone, sampler, kSeed, 1, {{0, 0}, {0, 1}}, backbone->encode(prompts));
    for (const auto& [_, weight] : backbone->trainable())
      Tensor(weight).add_(torch::randn(weight.sizes()).sign(), move);
  }

  Tensor mean_of_step(std::size_t k, const Tensor& x) const {
    const torch::NoGradGuard no_grad;
    return transition_mean(*backbone, sampler, static_cast<int>(k), x, shard.edges[k].condition);
  }
  RoundingFloor floor() {
    WorkerPool pool(1);
    return rounding_floor(*backbone, pool, sampler, shard, before);
  }

  std::unique_ptr<Backbone> backbone;
  SdeSampler sampler;
  Rollout shard;
  std::vector<Tensor> before;
};

constexpr double kMove = 3e-4;

TEST(RoundingFloor, IsFarBelowTheMoveInFloat32) {
  Moved moved(torch::kFloat32, kMove);
  const auto floor = moved.floor();
  ASSERT_EQ(floor.rounding.size(), 4U);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_GT(floor.measured[k], 0);
    EXPECT_LT(floor.rounding[k], 1e-3 * floor.measured[k]) << k;  // float32 rounds, too
  }
}

TEST(RoundingFloor, InBfloat16IsWhatFloat32LacksOfTheMeasuredMove) {
  Moved narrow(torch::kBFloat16, kMove), wide(torch::kFloat32, kMove);
  const auto floor = narrow.floor();
  std::vector<Tensor> now;
  for (std::size_t k = 0; k < 4; ++k) now.push_back(wide.mean_of_step(k, narrow.shard.edges[k].x));
  {
    const torch::NoGradGuard no_grad;
    const auto weights = wide.backbone->trainable();
    for (std::size_t i = 0; i < weights.size(); ++i) Tensor(weights[i].tensor).copy_(wide.before[i]);
  }
  for (std::size_t k = 0; k < 4; ++k) {
    const auto& block = narrow.shard.edges[k];
    const double s = narrow.sampler.steps[k].s;
    const auto move = now[k] - wide.mean_of_step(k, block.x);
    const auto measured = narrow.mean_of_step(k, block.x);
    const double expected = lambda_center(s, block.mean_old + move, measured).mean().item<double>();
    EXPECT_DOUBLE_EQ(floor.measured[k], lambda_center(s, block.mean_old, measured).mean().item<double>());
    EXPECT_NEAR(floor.rounding[k] / expected, 1, 0.3) << k;
    EXPECT_GT(expected, 1e-2 * floor.measured[k]) << "so that a wrong estimate would show";
  }
}

// Three more digits of a number: an eighth of the error, whose square is in the path variance.
TEST(RoundingFloor, InFloat16IsAFewPercentOfThatInBfloat16) {
  const auto wide = Moved(torch::kFloat16, kMove).floor(), narrow = Moved(torch::kBFloat16, kMove).floor();
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_LT(wide.rounding[k], 0.05 * narrow.rounding[k]) << k;
    EXPECT_GT(wide.rounding[k], 0.002 * narrow.rounding[k]) << k;
  }
}

TEST(RoundingFloor, LeavesTheWeightsAsTheyWere) {
  Moved moved(torch::kBFloat16, kMove);
  std::vector<Tensor> now;
  for (const auto& [_, weight] : moved.backbone->trainable()) now.push_back(weight.detach().clone());
  moved.floor();
  const auto after = moved.backbone->trainable();
  for (std::size_t i = 0; i < now.size(); ++i) EXPECT_TRUE(torch::equal(after[i].tensor, now[i]));
}

TEST(RoundingFloor, IsAMatterOfNetworksInLessThanFloat32WithAnAdapter) {
  EXPECT_TRUE(rounds_log_ratios(*Moved(torch::kBFloat16, kMove).backbone));
  EXPECT_TRUE(rounds_log_ratios(*Moved(torch::kFloat16, kMove).backbone));
  EXPECT_FALSE(rounds_log_ratios(*Moved(torch::kFloat32, kMove).backbone));
}

TEST(RoundingFloor, IsSaidBesideTheBudgetAndTheClipRadius) {
  constexpr std::int64_t kLatent = 65536;
  const MeasuredRounding measured{.late = 4.9e-4, .slope = 1};
  EXPECT_EQ(
      rounding_note(measured, kLatent, {{"tau", 0.01}, {"clip", 1e-2}}),
      "rounding alone gives late steps a path variance (Lambda_late) of 0.00049 (tau 0.01), and a spread of the "
      "ratio of 8.6e-05 (clip 0.01)");
  EXPECT_EQ(rounding_note(measured, kLatent, Json::object()),
            "rounding alone gives late steps a path variance (Lambda_late) of 0.00049");
}

TEST(RoundingFloor, IsHeededAboveATenthOfTheBudgetOrOfTheClipRadius) {
  constexpr std::int64_t kLatent = 65536;
  const auto warning = [](double late, double slope, const Json& settings) {
    return rounding_warning({.late = late, .slope = slope}, kLatent, settings);
  };
  EXPECT_PROBLEM(warning(3.7e-3, 1, {{"tau", 0.01}}),
                 "precision=fp16 rounds an eighth as much, and precision=fp32");
  EXPECT_PROBLEM(warning(3.7e-3, 1, {{"tau", 0.01}, {"precision", "fp16"}}), "in part; precision=fp32");
  EXPECT_EQ(warning(1e-4, 1, {{"tau", 0.0103}, {"clip", 1e-2}}), "");
  EXPECT_PROBLEM(warning(3.7e-3, 1, {{"tau", 0.0103}}),
                 "a path variance (Lambda_late) of 0.0037, 0.36 times tau (0.01)");
  // sqrt(3.7e-3 / 65536) = 2.4e-4
  EXPECT_PROBLEM(warning(3.7e-3, 1, {{"clip", 1e-4}}),
                 "a spread of the ratio of 0.00024, 2.4 times clip (0.0001)");
  EXPECT_PROBLEM(warning(3.7e-3, 0.5, {{"clip", 1e-4}}), "of 0.00012, 1.2 times clip (0.0001)");
  EXPECT_EQ(warning(3.7e-3, 0.02, {{"clip", 1e-4}}), "") << "where the ratio takes little of it";
  EXPECT_EQ(warning(3.7e-3, 1, {{"clip", 5e-3}}), "");
  EXPECT_EQ(warning(3.7e-3, 1, Json::object()), "") << "nothing to hold it against";
}

}  // namespace
}  // namespace harness

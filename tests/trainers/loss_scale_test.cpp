#include "trainers/optimisation/loss_scale.h"

#include <gtest/gtest.h>

#include <limits>

#include "backbones/sd3_folder.h"
#include "tests/recorded_cases.h"
#include "tests/refusals.h"
#include "trainers/optimisation/named_tensors.h"

namespace harness {
namespace {

using torch::Tensor;
using Gradients = GradientSum::Gradients;

const Gradients kFinite = {torch::ones({3}), Tensor()};

Gradients with(double value) {
  return {torch::tensor({1.0, value}).to(torch::kFloat32), Tensor()};
}

// The states of torch.amp.GradScaler with its defaults.
TEST(LossScale, HalvesWhereGradientsAreNotFiniteAndDoublesAfterTwoThousandStepsInARow) {
  LossScale scale(65536);
  EXPECT_TRUE(scale.skips(with(std::numeric_limits<double>::infinity())));
  EXPECT_EQ(scale.factor(), 32768);
  EXPECT_TRUE(scale.skips(with(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(scale.factor(), 16384);
  for (std::int64_t i = 1; i < LossScale::kGrowth; ++i) ASSERT_FALSE(scale.skips(kFinite));
  EXPECT_EQ(scale.factor(), 16384);
  EXPECT_FALSE(scale.skips(kFinite));
  EXPECT_EQ(scale.factor(), 32768);
  EXPECT_FALSE(scale.skips(kFinite)) << "counts anew";
  EXPECT_EQ(scale.factor(), 32768);
}

TEST(LossScale, LeavesTheErrorToTheOptimiserWhereNoSmallerFactorCanHelp) {
  LossScale scale(1), none;
  EXPECT_FALSE(scale.skips(with(std::numeric_limits<double>::infinity())));
  EXPECT_FALSE(none.skips(with(std::numeric_limits<double>::infinity())));
  EXPECT_EQ(scale.factor(), 1);
}

TEST(LossScale, GoesOnFromItsState) {
  LossScale scale(4), other(4);
  scale.skips(with(std::numeric_limits<double>::infinity()));
  for (std::int64_t i = 1; i < LossScale::kGrowth; ++i) scale.skips(kFinite);
  other.restore(scale.state(), "test");
  other.skips(kFinite);
  EXPECT_EQ(other.factor(), 4) << "2, and the last of the row doubled it";
  EXPECT_THROW(other.restore(Json{1}, "FILE"), Error);
}

/// What a loss as small as a sample's share of a large run's gives an adapter's matrices, as one row.
Tensor gradient_of_a_small_loss(torch::ScalarType precision, const LossScale& scale) {
  const auto backbone =
      load_sd3_folder({.name = "sd35-medium",
                       .folder = case_folder("sd3_pipeline_sd35m") / "model",
                       .choices = {.image_size = 64, .text_tokens = 16, .precision = precision}});
  torch::manual_seed(3);
  std::vector<Tensor> parameters, rows;
  for (const auto& [_, weight] : backbone->trainable()) {
    const torch::NoGradGuard no_grad;
    Tensor(weight).copy_(0.02 * torch::randn(weight.sizes()));
    parameters.push_back(weight);
  }
  const auto latent = backbone->latent();
  const auto x = torch::randn({2, latent.channels, latent.rows, latent.columns});
  const auto condition = backbone->encode({{"a sign \"OPEN\"", "OPEN"}, {"a sign \"SHUT\"", "SHUT"}});
  const auto loss = 1e-6 * (backbone->velocity(x, 0.7, condition, 4.5) * torch::randn_like(x)).mean();
  const auto gradients = scale.gradients(loss, parameters);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    rows.push_back((gradients[i].defined() ? gradients[i] : torch::zeros_like(parameters[i])).flatten());
    EXPECT_EQ(rows.back().scalar_type(), torch::kFloat32);
  }
  return torch::cat(rows).to(torch::kFloat64);
}

TEST(LossScale, KeepsGradientsThatVanishInFloat16) {
  const auto exact = gradient_of_a_small_loss(torch::kFloat32, LossScale());
  const auto error = [&](const LossScale& scale) {
    return ((gradient_of_a_small_loss(torch::kFloat16, scale) - exact).norm() / exact.norm()).item<double>();
  };
  EXPECT_GT(exact.norm().item<double>(), 0);
  EXPECT_LT(error(LossScale(65536)), 0.05);
  EXPECT_GT(error(LossScale()), 0.5) << "so that the scale is what keeps them";
}

TEST(LossScale, ChangesNoBitOfFloat32Gradients) {
  EXPECT_TRUE(torch::equal(gradient_of_a_small_loss(torch::kFloat32, LossScale()),
                           gradient_of_a_small_loss(torch::kFloat32, LossScale(1024))));
}

}  // namespace
}  // namespace harness

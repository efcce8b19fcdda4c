#include "models/nn/low_rank.h"

#include <gtest/gtest.h>

#include "models/nn/ops.h"

namespace harness {
namespace {

using torch::Tensor;

/// A layer of `type` with an update, and x [2,5,24].
struct Case {
  Tensor x, weight, bias;
  LowRank update;

  explicit Case(torch::ScalarType type, torch::ScalarType matrices = torch::kFloat32) {
    torch::manual_seed(3);
    const auto wide = torch::kFloat64;
    x = torch::randn({2, 5, 24}, wide).to(type).requires_grad_();
    weight = (0.2 * torch::randn({40, 24}, wide)).to(type);
    bias = torch::randn({40}, wide).to(type);
    update = {.a = (0.2 * torch::randn({4, 24}, wide)).to(matrices).requires_grad_(),
              .b = (0.2 * torch::randn({40, 4}, wide)).to(matrices).requires_grad_(),
              .scale = 1.5,
              .products = type};
  }

  Tensor output() const { return adapted_linear(x, {weight, bias, &update}); }
  std::vector<Tensor> leaves() const { return {x, update.a, update.b}; }
  /// The same in float64 by LibTorch's operators, from leaves.
  Tensor exact(const std::vector<Tensor>& leaves) const {
    return torch::linear(leaves[0], weight.to(torch::kFloat64), bias.to(torch::kFloat64)) +
           update.scale * torch::linear(torch::linear(leaves[0], leaves[1]), leaves[2]);
  }
};

std::vector<Tensor> wide_leaves(const Case& c) {
  std::vector<Tensor> wide;
  for (const auto& leaf : c.leaves()) wide.push_back(leaf.detach().to(torch::kFloat64).requires_grad_());
  return wide;
}

double error_of(const Tensor& value, const Tensor& exact) {
  return ((value.detach().to(torch::kFloat64) - exact.detach()).norm() / exact.detach().norm())
      .item<double>();
}

TEST(AdaptedLinear, HasTheGradientsOfItsExpressionInFloat64) {
  const Case c(torch::kFloat64, torch::kFloat64);
  const auto wide = wide_leaves(c);
  const auto y = c.output(), exact = c.exact(wide);
  EXPECT_LT(error_of(y, exact), 1e-14);
  const auto probe = torch::randn(y.sizes(), torch::kFloat64);
  const auto found = torch::autograd::grad({(y * probe).sum()}, c.leaves());
  const auto expected = torch::autograd::grad({(exact * probe).sum()}, wide);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_LT(error_of(found[i], expected[i]), 1e-13) << i;
  const auto without_bias = adapted_linear(c.x, {c.weight, {}, &c.update});
  EXPECT_LT(error_of(without_bias, exact - c.bias), 1e-14);
  const auto of_a = torch::autograd::grad({(without_bias * probe).sum()}, {c.update.a});
  EXPECT_LT(error_of(of_a[0], expected[1]), 1e-13);
}

TEST(AdaptedLinear, RoundsLikeItsPrecisionAndHasFloat32Gradients) {
  for (const auto& [type, tolerance] :
       {std::pair(torch::kBFloat16, 6e-3), std::pair(torch::kFloat16, 8e-4)}) {
    const Case c(type);
    const auto wide = wide_leaves(c);
    const auto y = c.output(), exact = c.exact(wide);
    EXPECT_EQ(y.scalar_type(), type);
    EXPECT_LT(error_of(y, exact), tolerance);
    const auto probe = torch::randn(y.sizes(), torch::kFloat64).to(type);
    const auto found = torch::autograd::grad({(y * probe).sum()}, c.leaves());
    const auto expected = torch::autograd::grad({(exact * probe.to(torch::kFloat64)).sum()}, wide);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_LT(error_of(found[i], expected[i]), tolerance) << i;
    EXPECT_EQ(found[0].scalar_type(), type);
    EXPECT_EQ(found[1].scalar_type(), torch::kFloat32);
    EXPECT_EQ(found[2].scalar_type(), torch::kFloat32);
  }
}

TEST(AdaptedLinear, HasTheSameBitsWithAndWithoutGradients) {
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    const Case c(type);
    const auto y = c.output();
    const torch::NoGradGuard no_grad;
    EXPECT_TRUE(torch::equal(c.output(), y));
  }
}

TEST(AdaptedLinear, InFloat32OverNarrowLayersRoundsOnlyTheSum) {
  Case c(torch::kBFloat16);
  c.update.products = torch::kFloat32;
  EXPECT_EQ(c.output().scalar_type(), torch::kBFloat16);
  const auto y = torch::linear(c.x, c.weight, c.bias);
  const auto update = torch::linear(torch::linear(c.x.to(torch::kFloat32), c.update.a), c.update.b);
  EXPECT_TRUE(torch::allclose(c.output(), (y + 1.5 * update).to(torch::kBFloat16), 1e-2, 1e-6));
}

TEST(RoundedMatrices, AreRoundedOnceUntilTheyChange) {
  const auto matrix = torch::randn({3, 4});
  const RoundedMatrices rounded, copy = rounded;
  const auto first = rounded.of({matrix}, torch::kBFloat16);
  EXPECT_TRUE(first.is_same(copy.of({matrix}, torch::kBFloat16)));
  EXPECT_TRUE(torch::equal(first, matrix.to(torch::kBFloat16)));
  matrix.add_(0.5);
  EXPECT_TRUE(torch::equal(copy.of({matrix}, torch::kBFloat16), matrix.to(torch::kBFloat16)));
  EXPECT_EQ(rounded.of({matrix}, torch::kFloat16).scalar_type(), torch::kFloat16);
}

TEST(AdaptedLinear, FollowsItsMatrices) {
  const Case c(torch::kBFloat16);
  const auto before = c.output();
  {
    const torch::NoGradGuard no_grad;
    c.update.b.add_(0.5);
  }
  EXPECT_FALSE(torch::equal(c.output(), before));
}

TEST(AdaptedLinears, OfOneInputAreThoseOfEachLayerWithTheSumOfTheirGradients) {
  for (const auto& [type, tolerance] :
       {std::pair(torch::kFloat64, 1e-13), std::pair(torch::kBFloat16, 8e-3)}) {
    const auto matrices = type == torch::kFloat64 ? type : torch::kFloat32;
    const Case first(type, matrices), plain(type, matrices);
    Case second(type, matrices);
    second.update.a = second.update.a.detach().flip(0).requires_grad_();
    second.update.scale = -0.5;
    const RoundedMatrices stacked;
    const std::vector<AdaptedLayer> layers = {{first.weight, first.bias, &first.update},
                                              {plain.weight, {}, nullptr},
                                              {second.weight, second.bias, &second.update}};
    ASSERT_TRUE(in_one_precision(first.x, layers));
    const auto together = adapted_linears(first.x, layers, stacked);
    const std::vector<Tensor> leaves = {first.x, first.update.a, first.update.b, second.update.a,
                                        second.update.b};
    const auto sum_of = [](const std::vector<Tensor>& y) {
      return y[0].sum() + (y[1] * y[1]).sum() + (y[2] * y[0].detach()).sum();
    };
    std::vector<Tensor> apart;
    for (const auto& layer : layers) apart.push_back(adapted_linear(first.x, layer));
    for (std::size_t i = 0; i < apart.size(); ++i) EXPECT_TRUE(torch::equal(together[i], apart[i])) << i;
    const auto found = torch::autograd::grad({sum_of(together)}, leaves),
               expected = torch::autograd::grad({sum_of(apart)}, leaves);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_LT(error_of(found[i], expected[i].to(torch::kFloat64)), tolerance) << i;
  }
}

TEST(AdaptedLinears, OfWhichTheFirstAreStackedAreThoseOfEachLayerInPartsOfOneArray) {
  for (const auto& [type, tolerance] :
       {std::pair(torch::kFloat64, 1e-13), std::pair(torch::kBFloat16, 8e-3)}) {
    const auto matrices = type == torch::kFloat64 ? type : torch::kFloat32;
    const Case first(type, matrices), second(type, matrices);
    const StackedWeights stacked{.weight = torch::cat({first.weight, 0.5 * first.weight}),
                                 .bias = torch::cat({first.bias, second.bias})};
    const auto weights = stacked.weight.chunk(2), biases = stacked.bias.chunk(2);
    const std::vector<AdaptedLayer> layers = {{weights[0], biases[0], &first.update},
                                              {weights[1], biases[1], nullptr},
                                              {second.weight, second.bias, &second.update}};
    const RoundedMatrices a;
    const auto outputs = [&](const Tensor& x) { return adapted_linears(x, layers, a, stacked); };
    const auto together = outputs(first.x), apart = adapted_linears(first.x, layers, a);
    const auto probe = torch::randn(apart[0].sizes(), torch::kFloat64).to(type);
    const auto gradients = [&](const std::vector<Tensor>& y) {
      return torch::autograd::grad(
          {((y[0] + 2 * y[1]) * probe).sum() + (y[2] * y[2]).sum()},
          {first.x, first.update.a, first.update.b, second.update.a, second.update.b});
    };
    for (std::size_t i = 0; i < apart.size(); ++i) {
      EXPECT_LT(error_of(together[i], apart[i].to(torch::kFloat64)), tolerance) << i;
      EXPECT_EQ(together[i].storage().data() == together[0].storage().data(), i < 2) << i;
    }
    const auto found = gradients(together), expected = gradients(apart);
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_LT(error_of(found[i], expected[i].to(torch::kFloat64)), tolerance) << i;
    const torch::NoGradGuard no_grad;
    const auto without_gradient = outputs(first.x);
    for (std::size_t i = 0; i < together.size(); ++i)
      EXPECT_TRUE(torch::equal(without_gradient[i], together[i])) << i;
  }
}

TEST(RoundedMatrices, AreNotThoseOfAMatrixThatIsGone) {
  const RoundedMatrices rounded;
  for (int i = 0; i < 4; ++i) {  // each in the memory that the one before has left, if it were free
    const auto matrix = torch::randn({64, 64});
    EXPECT_TRUE(torch::equal(rounded.of({matrix}, torch::kBFloat16), matrix.to(torch::kBFloat16))) << i;
  }
}

TEST(RoundedMatrices, AreStackedAgainOnceAMatrixChanges) {
  const auto a = torch::randn({2, 3}), b = torch::randn({1, 3});
  const RoundedMatrices stacked;
  const auto of = [&](const std::vector<Tensor>& matrices) { return stacked.of(matrices, torch::kFloat32); };
  const auto first = of({a, b}), again = of({a, b});
  EXPECT_TRUE(first.is_same(again));
  EXPECT_TRUE(torch::equal(first, torch::cat({a, b})));
  const auto other = torch::randn({1, 3});
  EXPECT_TRUE(torch::equal(of({a, other}), torch::cat({a, other})));
}

TEST(AdaptedLinear, TakesALayerThatIsTrainedItselfByItsOperators) {
  Case c(torch::kBFloat16);
  c.weight.requires_grad_();
  EXPECT_FALSE(in_one_precision(c.x, {{c.weight, c.bias, &c.update}}));
  EXPECT_TRUE(torch::autograd::grad({c.output().sum()}, {c.weight})[0].defined());
}

}  // namespace
}  // namespace harness

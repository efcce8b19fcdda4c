#include "models/nn/ops.h"

#include <gtest/gtest.h>

namespace harness {
namespace {

using torch::Tensor;

Tensor leaf(at::IntArrayRef shape) {
  return torch::randn(shape).requires_grad_();
}

/// Values and gradients of `own` (float32 kernels) and `plain` (LibTorch in float64) on the same inputs.
void expect_same(const std::vector<Tensor>& inputs,
                 const std::function<Tensor(const std::vector<Tensor>&)>& own,
                 const std::function<Tensor(const std::vector<Tensor>&)>& plain) {
  std::vector<Tensor> wide;
  for (const auto& x : inputs) wide.push_back(x.detach().to(torch::kFloat64).requires_grad_());
  const auto a = own(inputs), b = plain(wide);
  ASSERT_TRUE(torch::allclose(a.to(torch::kFloat64), b, 1e-5, 2e-6));
  const auto probe = torch::randn(b.sizes(), torch::kFloat64);
  const auto ga = torch::autograd::grad({(a * probe.to(torch::kFloat32)).sum()}, inputs);
  const auto gb = torch::autograd::grad({(b * probe).sum()}, wide);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double error = (ga[i].to(torch::kFloat64) - gb[i]).abs().max().item<double>();
    EXPECT_LT(error, 3e-6 * (1 + gb[i].abs().max().item<double>())) << "input " << i;
  }
}

TEST(Ops, LinearMatchesFloat64WithGradients) {
  torch::manual_seed(1);
  expect_same(
      {leaf({3, 5, 24}), leaf({40, 24}), leaf({40})}, [](const auto& v) { return linear(v[0], v[1], v[2]); },
      [](const auto& v) { return torch::linear(v[0], v[1], v[2]); });
}

TEST(Ops, GeluMatchesFloat64WithGradientsAtLargeAndSmallArguments) {
  torch::manual_seed(2);
  const auto x =
      torch::cat({torch::randn({500}), torch::linspace(-30, 30, 301), torch::tensor({0.0F, -1e-20F, 1e-20F})})
          .requires_grad_();
  expect_same(
      {x}, [](const auto& v) { return gelu_tanh(v[0]); },
      [](const auto& v) { return torch::gelu(v[0], "tanh"); });
}

TEST(Ops, ModulatedNormMatchesFloat64WithGradients) {
  torch::manual_seed(3);
  expect_same(
      {leaf({2, 7, 20}), leaf({2, 40})},
      [](const auto& v) {
        const auto m = v[1].chunk(2, -1);
        return modulated_norm(v[0], m[0], m[1]);
      },
      [](const auto& v) {
        const auto m = v[1].chunk(2, -1);
        return torch::layer_norm(v[0], {20}, {}, {}, 1e-6) * (1 + m[0].unsqueeze(1)) + m[1].unsqueeze(1);
      });
}

TEST(Ops, GatedAddMatchesFloat64WithGradients) {
  torch::manual_seed(4);
  expect_same(
      {leaf({2, 7, 20}), leaf({2, 20}), leaf({2, 7, 20})},
      [](const auto& v) { return gated_add(v[0], v[1], v[2]); },
      [](const auto& v) { return v[0] + v[1].unsqueeze(1) * v[2]; });
}

TEST(Ops, AttentionMatchesFloat64WithGradients) {
  torch::manual_seed(5);
  expect_same(
      {leaf({2, 5, 24}), leaf({2, 9, 24}), leaf({2, 9, 24})},
      [](const auto& v) { return attention(v[0], v[1], v[2], 3); },
      [](const auto& v) { return attention(v[0], v[1], v[2], 3); });
}

TEST(Ops, ARowDoesNotDependOnItsNeighbours) {
  torch::manual_seed(6);
  const auto x = torch::randn({4, 6, 32}), w = torch::randn({48, 32}), b = torch::randn({48});
  auto other = x.clone();
  other.slice(0, 1).normal_();
  EXPECT_TRUE(linear(x, w, b)[0].equal(linear(other, w, b)[0]));
  EXPECT_TRUE(attention(x, x, x, 2)[0].equal(attention(other, other, other, 2)[0]));
}

}  // namespace
}  // namespace harness

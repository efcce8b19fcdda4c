#include "models/nn/ops.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/cpu/attention.h"

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

TEST(Ops, HeadRmsNormMatchesFloat64WithGradients) {
  torch::manual_seed(7);
  const auto weight = (1 + 0.2 * torch::randn({20})).detach().requires_grad_();
  const auto of = [](const auto& v) { return head_rms_norm(v[0], v[1]); };
  expect_same({leaf({2, 7, 60}), weight}, of, of);
}

/// Queries, keys, heads and channels of a head.
struct AttentionSize {
  std::int64_t queries, keys, heads, width;
};

/// q, k, v of two images.
std::vector<Tensor> attention_inputs(const AttentionSize& size) {
  const auto wide = size.heads * size.width;
  return {leaf({2, size.queries, wide}), leaf({2, size.keys, wide}), leaf({2, size.keys, wide})};
}

/// LibTorch's number of threads while it lives.
class Threads {
 public:
  explicit Threads(int count) : before_(torch::get_num_threads()) { torch::set_num_threads(count); }
  ~Threads() { torch::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

class Attention : public testing::TestWithParam<AttentionSize> {};

TEST_P(Attention, MatchesFloat64WithGradients) {
  torch::manual_seed(5);
  const auto of_heads = [](const auto& v) { return attention(v[0], v[1], v[2], GetParam().heads); };
  expect_same(attention_inputs(GetParam()), of_heads, of_heads);
}

TEST_P(Attention, IsTheSameWithAndWithoutAGradientAndWithOneThreadOrTwo) {
  torch::manual_seed(6);
  const auto inputs = attention_inputs(GetParam());
  const auto heads = GetParam().heads;
  const auto run = [&](int threads) {
    const Threads limit(threads);
    auto out = attention(inputs[0], inputs[1], inputs[2], heads);
    auto found = torch::autograd::grad({out.square().sum()}, inputs);
    found.push_back(out.detach());
    {
      const torch::NoGradGuard no_grad;
      found.push_back(attention(inputs[0], inputs[1], inputs[2], heads));
    }
    return found;
  };
  const auto one = run(1), two = run(2);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(two[i])) << i;
  EXPECT_TRUE(one[3].equal(one[4]));
}

TEST_P(Attention, IsTheSameWithVectorsOfEveryWidth) {
  torch::manual_seed(8);
  const auto& size = GetParam();
  const auto inputs = attention_inputs(size);
  const auto probe = torch::randn_like(inputs[0]);
  const auto in = [](const Tensor& x) { return x.const_data_ptr<float>(); };
  const auto to = [](const Tensor& x) { return x.mutable_data_ptr<float>(); };
  const auto run = [&](int lanes) {
    const torch::NoGradGuard no_grad;
    const kernels::AttentionShape shape{2, size.heads, size.queries, size.keys, size.width, 0.2F, lanes};
    const auto p = torch::full({shape.all_heads(), shape.queries, shape.row()}, NAN);
    std::vector<Tensor> found{torch::full_like(inputs[0], NAN)};
    kernels::attention(shape, in(inputs[0]), in(inputs[1]), in(inputs[2]), to(p), to(found[0]), 0,
                       kernels::attention_parts(shape));
    for (const auto& x : inputs) found.push_back(torch::full_like(x, NAN));
    kernels::attention_backward(shape, in(inputs[0]), in(inputs[1]), in(inputs[2]), in(p), in(probe),
                                to(found[1]), to(found[2]), to(found[3]), 0, shape.all_heads());
    return found;
  };
  const auto lanes = kernels::vector_lanes();
  ASSERT_EQ(lanes.front(), 4);
  const auto widest = run(0);
  for (std::size_t w = 0; w < lanes.size(); ++w) {
    const auto found = run(lanes[w]);
    for (std::size_t i = 0; i < found.size(); ++i) {
      // Vectors of four are for machines that may have no fused multiply-add.
      const bool same = w == 0 ? torch::allclose(found[i], widest[i], 1e-5, 1e-5) : found[i].equal(widest[i]);
      EXPECT_TRUE(same) << lanes[w] << " lanes, tensor " << i;
    }
  }
}

// A single key; heads for the BLAS; less than a vector and not whole ones; several blocks of queries; sums in
// two runs, of odd numbers in three, and in runs of 192; a panel of columns and a part of one.
INSTANTIATE_TEST_SUITE_P(Ops, Attention,
                         testing::Values(AttentionSize{5, 1, 3, 16}, AttentionSize{5, 9, 3, 8},
                                         AttentionSize{7, 13, 2, 12}, AttentionSize{108, 108, 2, 64},
                                         AttentionSize{50, 200, 1, 20}, AttentionSize{333, 293, 2, 64},
                                         AttentionSize{65, 400, 1, 72}, AttentionSize{97, 33, 1, 200}));

TEST(Ops, AttentionOfUnlikeSizesIsRefused) {
  const auto x = torch::randn({2, 20, 64}), fewer = torch::randn({1, 20, 64}), shorter = x.narrow(1, 0, 15);
  EXPECT_THROW(attention(x, fewer, fewer, 2), c10::Error);
  EXPECT_THROW(attention(x, x, shorter, 2), c10::Error);
  EXPECT_THROW(attention(x, x, x, 5), c10::Error);
  EXPECT_THROW(head_rms_norm(x, torch::ones({48})), c10::Error);
}

TEST(Ops, ARowDoesNotDependOnItsNeighbours) {
  torch::manual_seed(6);
  const auto x = torch::randn({4, 20, 64}), w = torch::randn({48, 64}), b = torch::randn({48});
  auto other = x.clone();
  other.slice(0, 1).normal_();
  EXPECT_TRUE(linear(x, w, b)[0].equal(linear(other, w, b)[0]));
  const auto mixed = attention(x, x, x, 2), first = x.narrow(0, 0, 1);
  EXPECT_TRUE(mixed[0].equal(attention(other, other, other, 2)[0]));
  EXPECT_TRUE(mixed[0].equal(attention(first, first, first, 2)[0]));
}

}  // namespace
}  // namespace harness

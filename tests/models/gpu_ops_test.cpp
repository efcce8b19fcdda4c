// The kernels of models/cuda on a GPU, in builds with the cuda preset, against float64 on
// the CPU. Without a GPU every test is skipped; scripts/gpu-check counts that as a failure.
#include "models/nn/gpu_ops.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/diffusion/autoencoder_kl.h"
#include "models/nn/layer_group.h"
#include "models/nn/low_rank.h"
#include "models/nn/ops.h"
#include "tests/models/gpu_fixture.h"

namespace harness {
namespace {

using torch::Tensor;

using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Inputs&)>;

class GpuOps : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    torch::manual_seed(11);
  }

  /// Values and gradients on the GPU in `type` near those of the CPU in float64 on the same (rounded) inputs,
  /// and the bits of a second call and of one without gradient.
  void expect_near_float64(const Inputs& inputs, torch::ScalarType type, const Function& function) const {
    Inputs narrow, wide;
    for (const auto& x : inputs) {
      const auto rounded = x.defined() ? x.to(type) : x;
      narrow.push_back(x.defined() ? rounded.to(device_).requires_grad_() : x);
      wide.push_back(x.defined() ? rounded.to(torch::kFloat64).requires_grad_() : x);
    }
    const auto y = function(narrow), exact = function(wide);
    EXPECT_LT(error_of(y, exact), tolerance(type));
    {
      const torch::NoGradGuard no_grad;
      EXPECT_TRUE(torch::equal(function(narrow), y));
    }
    const auto probe = torch::randn(exact.sizes(), torch::kFloat64).to(type);
    const auto gradients = [&](const Inputs& in) {
      Inputs wanted;
      for (const auto& x : in) {
        if (x.defined()) wanted.push_back(x);
      }
      const auto out = function(in);
      return torch::autograd::grad({(out * probe.to(out.device(), out.scalar_type())).sum()}, wanted);
    };
    const auto found = gradients(narrow), again = gradients(narrow), expected = gradients(wide);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_LT(error_of(found[i], expected[i]), tolerance(type)) << "input " << i;
      EXPECT_TRUE(torch::equal(found[i], again[i])) << "input " << i;
    }
  }

  static double tolerance(torch::ScalarType type) {
    if (type == torch::kFloat32) return 3e-6;
    return type == torch::kFloat16 ? 2e-3 : 1.2e-2;
  }

  /// Norm of the difference over the norm.
  static double error_of(const Tensor& value, const Tensor& exact) {
    const auto wide = value.detach().to(torch::kCPU, torch::kFloat64);
    return ((wide - exact.detach()).norm() / exact.detach().norm()).item<double>();
  }

  /// Elements that a thread reads at once.
  static std::int64_t vector_of(torch::ScalarType type) { return type == torch::kFloat32 ? 4 : 8; }

  /// Random numbers where the kernels run.
  Tensor there(at::IntArrayRef shape, torch::ScalarType type) const {
    return torch::randn(shape).to(device_, type);
  }

  static constexpr torch::ScalarType kTypes[] = {torch::kFloat32, torch::kFloat16, torch::kBFloat16};
};

// Widths of SD3.5 Medium and Large, FLUX, and ones that no kernel takes.
TEST_F(GpuOps, ModulatedNormFollowsFloat64WithGradients) {
  for (const auto type : kTypes) {
    for (const std::int64_t c : {8, 256, 1536, 2432, 3072, 20, 4096}) {
      SCOPED_TRACE(c);
      const auto row = there({3, c}, type);
      EXPECT_EQ(gpu::modulated_norm(there({3, 37, c}, type), row, row).has_value(),
                c % vector_of(type) == 0 && c <= 3072);
      expect_near_float64({torch::randn({3, 37, c}) + 0.5, 0.3 * torch::randn({3, 2 * c})}, type,
                          [](const auto& in) {
                            const auto m = in[1].chunk(2, -1);
                            return modulated_norm(in[0], m[0], m[1]);
                          });
    }
  }
}

TEST_F(GpuOps, AttentionFollowsFloat64WithGradients) {
  for (const auto type : {torch::kFloat16, torch::kBFloat16}) {
    for (const auto& [queries, keys, width] : {std::tuple(77, 77, 64), {64, 141, 64}, {37, 37, 128}}) {
      SCOPED_TRACE(testing::Message() << queries << " " << keys << " " << width);
      const auto heads = there({2, 3, 64, width}, type);
      EXPECT_EQ(gpu::attention(heads, heads, heads).has_value(), gpu::compute_capability() == 90);
      expect_near_float64({torch::randn({2, queries, 3 * width}), torch::randn({2, keys, 3 * width}),
                           torch::randn({2, keys, 3 * width})},
                          type, [](const auto& in) { return attention(in[0], in[1], in[2], 3); });
    }
  }
}

TEST_F(GpuOps, GatedAddFollowsFloat64WithGradients) {
  for (const auto type : kTypes) {
    for (const std::int64_t c : {8, 1536, 20}) {
      SCOPED_TRACE(c);
      EXPECT_EQ(
          gpu::gated_add(there({3, 37, c}, type), there({3, c}, type), there({3, 37, c}, type)).has_value(),
          c % vector_of(type) == 0);
      expect_near_float64({torch::randn({3, 37, c}), torch::randn({3, 2 * c}), torch::randn({3, 37, c})},
                          type,
                          [](const auto& in) { return gated_add(in[0], in[1].chunk(2, -1)[1], in[2]); });
    }
  }
}

TEST_F(GpuOps, GroupNormWithSiluFollowsFloat64WithGradient) {
  for (const auto& [channels, groups, side] :
       {std::tuple(128, 32, 40), {512, 32, 17}, {8, 2, 5}, {1024, 32, 3}}) {
    SCOPED_TRACE(channels);
    const auto added = torch::randn({channels}), weight = 1 + 0.2 * torch::randn({channels}),
               bias = torch::randn({channels});
    const auto there = [&](const Tensor& x) { return x.to(device_); };
    ASSERT_TRUE(gpu::takes_image(there(added), channels, groups));
    const auto image = 3 + torch::randn({2, channels, side, side});
    const auto x = there(image).requires_grad_();
    const auto wide = image.to(torch::kFloat64).requires_grad_();
    const auto f64 = [](const Tensor& t) { return t.to(torch::kFloat64); };
    const auto y = gpu::group_norm_silu(x, there(added), groups, there(weight), there(bias));
    const auto exact = torch::silu(
        torch::group_norm(wide + f64(added).view({1, -1, 1, 1}), groups, f64(weight), f64(bias), 1e-6));
    EXPECT_LT(error_of(y, exact), 2e-6);
    EXPECT_TRUE(torch::equal(gpu::group_norm_silu(x, there(added), groups, there(weight), there(bias)), y));
    const auto probe = torch::randn_like(image);
    const auto found = torch::autograd::grad({(y * there(probe)).sum()}, {x})[0],
               expected = torch::autograd::grad({(exact * f64(probe)).sum()}, {wide})[0];
    EXPECT_LT(error_of(found, expected), 2e-5);
    const auto without = torch::silu(torch::group_norm(f64(image), groups, f64(weight), f64(bias), 1e-6));
    EXPECT_LT(error_of(gpu::group_norm_silu(there(image), {}, groups, there(weight), there(bias)), without),
              2e-6);
    const auto other = torch::randn_like(image);
    const auto sum = f64(image) + f64(other) + f64(added).view({1, -1, 1, 1});
    const auto first = there(image).requires_grad_(), second = there(other).requires_grad_();
    const auto both = gpu::biased_sum(first, second, there(added)),
               alone = gpu::biased_sum({}, second, there(added));
    EXPECT_LT(error_of(both, sum), 1e-6);
    EXPECT_LT(error_of(alone, sum - f64(image)), 1e-6);
    for (const auto& gradient : torch::autograd::grad({(both * there(probe)).sum()}, {first, second}))
      EXPECT_TRUE(torch::equal(gradient.cpu(), probe));
    EXPECT_TRUE(
        torch::equal(torch::autograd::grad({(alone * there(probe)).sum()}, {second})[0].cpu(), probe));
  }
}

// Of SD3's widths, in pictures small enough for the CPU.
TEST_F(GpuOps, TheDecoderOnAGpuDrawsTheImageOfTheCpu) {
  AutoencoderConfig config;
  config.block_out_channels = {128, 256};
  config.layers_per_block = 1;
  config.latent_channels = 16;
  AutoencoderKl vae(config);
  for (auto& p : vae->parameters()) {
    p.set_requires_grad(false);
    p.copy_(p.dim() > 1 ? torch::randn_like(p) / std::sqrt(static_cast<double>(p[0].numel()))
                        : p + 0.1 * torch::randn_like(p));
  }
  const auto latents = torch::randn({2, 16, 12, 12}), probe = torch::randn({2, 3, 24, 24});
  const auto x = latents.to(device_).requires_grad_();
  vae->to(device_);
  const auto there = vae->decode(x);
  vae->decode_flow(x.detach(), 1);  // a process' first one is thrown away, as by LatentBackbone
  const auto apart = vae->decode_flow(x.detach(), 1);
  for (std::int64_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(torch::equal(apart[i], vae->decode_flow(x.detach().narrow(0, i, 1))[0]))
        << i << ": whatever is drawn with it";
  }
  const auto gradient = torch::autograd::grad({(there * probe.to(device_)).sum()}, {x})[0];
  vae->to(torch::kCPU);
  vae->to(torch::kFloat64);  // which no kernel takes
  const auto wide = latents.to(torch::kFloat64).requires_grad_();
  const auto exact = vae->decode(wide);
  // Convolutions of a GPU take TF32.
  EXPECT_LT(error_of(there, exact), device_.is_cuda() ? 5e-3 : 1e-5);
  EXPECT_LT(error_of(gradient, torch::autograd::grad({(exact * probe.to(torch::kFloat64)).sum()}, {wide})[0]),
            device_.is_cuda() ? 2e-2 : 1e-5);
}

Rotation angles(std::int64_t tokens, std::int64_t width) {
  const auto at = torch::arange(tokens).unsqueeze(1) * torch::exp(-0.3 * torch::arange(width / 2));
  return {at.cos().to(torch::kFloat32), at.sin().to(torch::kFloat32)};
}

TEST_F(GpuOps, JointHeadNormFollowsFloat64WithGradients) {
  for (const auto type : kTypes) {
    for (const std::int64_t width : {64, 128, 24}) {
      for (const bool turned : {false, true}) {
        SCOPED_TRACE(testing::Message() << width << (turned ? " turned" : ""));
        const auto rotation = turned ? angles(37 + 11, width) : Rotation{};
        const auto c = 3 * width;
        const HeadNormInput stream{there({2, 37, c}, type), there({width}, type)};
        EXPECT_EQ(gpu::head_norm(stream, nullptr, {}).has_value(), width >= 64);
        expect_near_float64({torch::randn({2, 37, c}), 1 + 0.2 * torch::randn({width}),
                             torch::randn({2, 11, c}), 1 + 0.2 * torch::randn({width})},
                            type, [&](const auto& in) {
                              const auto here = [&](const Tensor& t) {
                                return t.defined() ? t.to(in[0].device()) : t;
                              };
                              return joint_head_norm({in[0], in[1]}, {in[2], in[3]},
                                                     {here(rotation.cos), here(rotation.sin)});
                            });
      }
    }
  }
}

TEST_F(GpuOps, HeadNormOfAStridedStreamFollowsFloat64WithGradients) {
  for (const auto type : kTypes) {
    expect_near_float64({torch::randn({2, 37, 3 * 192}), 1 + 0.2 * torch::randn({64})}, type,
                        [](const auto& in) { return head_rms_norm(in[0].narrow(2, 192, 192), in[1]); });
  }
}

TEST_F(GpuOps, ARowDoesNotDependOnItsNeighbours) {
  const auto x = torch::randn({4, 37, 1536}).to(device_, torch::kBFloat16),
             m = torch::randn({4, 3072}).to(device_, torch::kBFloat16),
             w = torch::randn({64}).to(device_, torch::kBFloat16);
  const auto norm = [](const Tensor& rows, const Tensor& modulation) {
    const auto parts = modulation.chunk(2, -1);
    return modulated_norm(rows, parts[0], parts[1]);
  };
  const auto all = norm(x, m), heads = head_rms_norm(x, w);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(torch::equal(norm(x.narrow(0, i, 1), m.narrow(0, i, 1)), all.narrow(0, i, 1)));
    EXPECT_TRUE(torch::equal(head_rms_norm(x.narrow(0, i, 1), w), heads.narrow(0, i, 1)));
  }
}

TEST_F(GpuOps, AdaptedLinearFollowsFloat64WithFloat32Gradients) {
  for (const auto type : {torch::kFloat16, torch::kBFloat16}) {
    const auto x = torch::randn({2, 37, 1536}).to(type), w = (0.03 * torch::randn({1536, 1536})).to(type),
               bias = torch::randn({1536}).to(type);
    const LowRank update{.a = 0.03 * torch::randn({32, 1536}),
                         .b = 0.03 * torch::randn({1536, 32}),
                         .scale = 2,
                         .products = type};
    const LowRank there{.a = update.a.to(device_).requires_grad_(),
                        .b = update.b.to(device_).requires_grad_(),
                        .scale = 2,
                        .products = type};
    const auto given = x.to(device_).requires_grad_();
    const auto probe = torch::randn({2, 37, 1536}).to(type);
    const auto y = adapted_linear(given, {w.to(device_), bias.to(device_), &there});
    const auto found = torch::autograd::grad({(y * probe.to(device_)).sum()}, {given, there.a, there.b});
    const auto f64 = [](const Tensor& t) { return t.detach().to(torch::kFloat64); };
    const auto wide = f64(x).requires_grad_(), a = f64(update.a).requires_grad_(),
               b = f64(update.b).requires_grad_();
    const auto exact = torch::linear(wide, f64(w), f64(bias)) + 2 * torch::linear(torch::linear(wide, a), b);
    const auto expected = torch::autograd::grad({(exact * f64(probe)).sum()}, {wide, a, b});
    EXPECT_LT(error_of(y, exact), tolerance(type));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_LT(error_of(found[i], expected[i]), tolerance(type)) << i;
    EXPECT_EQ(found[1].scalar_type(), torch::kFloat32);
    EXPECT_EQ(found[2].scalar_type(), torch::kFloat32);
  }
}

/// Three layers of one input, on the device in `type`, frozen, the second without an update. The first two
/// are joined.
class GroupedLayers {
 public:
  GroupedLayers(torch::Device device, torch::ScalarType type) {
    for (const std::int64_t width : {128, 64, 128}) {
      Dense layer(kWidth, width);
      const torch::NoGradGuard no_grad;
      layer->weight.copy_(0.05 * torch::randn_like(layer->weight));
      layer->bias.copy_(torch::randn_like(layer->bias));
      layer->to(device, type);
      for (auto& p : layer->parameters()) p.set_requires_grad(false);
      const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
        return (0.1 * torch::randn({rows, columns})).to(device).set_requires_grad(true);
      };
      if (layers.size() != 1)
        layer->low_rank = {.a = matrix(4, kWidth), .b = matrix(width, 4), .scale = 2, .products = type};
      layers.push_back(layer);
    }
    group = LayerGroup(layers, 2);
  }

  /// Layer i of x in float64 on the CPU.
  Tensor exact(std::size_t i, const Tensor& x) const {
    const auto f64 = [](const Tensor& t) { return t.detach().to(torch::kCPU, torch::kFloat64); };
    const auto& layer = *layers[i];
    const auto y = torch::linear(x, f64(layer.weight), f64(layer.bias));
    if (!layer.low_rank) return y;
    const auto inner = torch::linear(x, f64(layer.low_rank->a));
    return y + layer.low_rank->scale * torch::linear(inner, f64(layer.low_rank->b));
  }

  /// Whether the weights of the first two, and their biases, are one behind the other.
  bool are_joined() const {
    const auto follows = [](const Tensor& before, const Tensor& after) {
      return static_cast<const char*>(before.const_data_ptr()) + before.nbytes() == after.const_data_ptr();
    };
    return follows(layers[0]->weight, layers[1]->weight) && follows(layers[0]->bias, layers[1]->bias);
  }

  static constexpr std::int64_t kWidth = 128;
  std::vector<Dense> layers;
  LayerGroup group;
};

TEST_F(GpuOps, JoinedLayersAreOneProductThatFollowsFloat64WithGradients) {
  for (const auto type : {torch::kFloat16, torch::kBFloat16}) {
    GroupedLayers of(device_, type);
    const auto x = torch::randn({2, 37, GroupedLayers::kWidth}).to(type);
    const auto given = x.to(device_).requires_grad_();
    const auto y = of.group(given);
    EXPECT_TRUE(of.are_joined());
    EXPECT_EQ(y[0].stride(1), 128 + 64);
    EXPECT_TRUE(y[2].is_contiguous());
    const auto wide = x.to(torch::kFloat64).requires_grad_();
    Tensor sum = torch::zeros({}, torch::kFloat64), sum_there = torch::zeros({}, device_);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto exact = of.exact(i, wide);
      EXPECT_LT(error_of(y[i], exact), tolerance(type)) << i;
      const auto probe = torch::randn(exact.sizes()).to(type);
      sum = sum + (exact * probe.to(torch::kFloat64)).sum();
      sum_there = sum_there + (y[i] * probe.to(device_)).to(torch::kFloat32).sum();
    }
    EXPECT_LT(
        error_of(torch::autograd::grad({sum_there}, {given})[0], torch::autograd::grad({sum}, {wide})[0]),
        tolerance(type));
    const torch::NoGradGuard no_grad;
    const auto again = of.group(given);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_TRUE(torch::equal(again[i], y[i])) << i;
  }
}

TEST_F(GpuOps, JoinedLayersKeepTheirNumbersAndFollowWeightsThatAreReplaced) {
  const torch::NoGradGuard no_grad;
  GroupedLayers of(device_, torch::kBFloat16);
  const auto x = there({2, 5, GroupedLayers::kWidth}, torch::kBFloat16);
  const auto before = of.layers[1]->weight.clone();
  of.group(x);
  EXPECT_TRUE(torch::equal(of.layers[1]->weight, before));
  of.layers[1]->weight.set_data(there({64, GroupedLayers::kWidth}, torch::kBFloat16));
  EXPECT_FALSE(of.are_joined());
  const auto y = of.group(x);
  EXPECT_TRUE(of.are_joined());
  EXPECT_LT(error_of(y[1], of.exact(1, x.to(torch::kCPU, torch::kFloat64))), 1.2e-2);
}

TEST_F(GpuOps, AnOperatorWithoutADeterministicKernelThrows) {
  auto& context = at::globalContext();
  const bool before = context.deterministicAlgorithms();
  make_deterministic();
  auto x = torch::zeros({4}, device_);
  const auto twice = torch::tensor({1, 1}, torch::kInt64).to(device_);
  EXPECT_THROW(x.put_(twice, torch::ones({2}, device_)), c10::Error);
  EXPECT_NO_THROW(x.index_add_(0, twice, torch::ones({2}, device_)));
  context.setDeterministicAlgorithms(before, false);
}

// Else a policy in three products would be compared with a reference in fewer.
TEST_F(GpuOps, LayersWithUpdatesInFloat32StayApartAlsoWhileThoseAreLeftOut) {
  const torch::NoGradGuard no_grad;
  GroupedLayers of(device_, torch::kBFloat16);
  of.layers[0]->low_rank->products = torch::kFloat32;
  const auto x = there({2, 5, GroupedLayers::kWidth}, torch::kBFloat16);
  of.group(x);
  const WithoutLowRank without;
  of.group(x);
  EXPECT_FALSE(of.are_joined());
}

}  // namespace
}  // namespace harness

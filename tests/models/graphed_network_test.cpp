// Recorded passes of a network on a GPU, in builds with the cuda preset, beside the same network called
// kernel by kernel. Without a GPU every test is skipped; scripts/gpu-check counts that as a failure.
#include "models/graphs/graphed_network.h"

#include <gtest/gtest.h>

#include <optional>

#include "models/diffusion/sd3_transformer.h"
#include "models/nn/lora.h"
#include "models/nn/random_weights.h"
#include "tests/models/gpu_fixture.h"

namespace harness {
namespace {

using torch::Tensor;

using Inputs = std::vector<Tensor>;

constexpr std::int64_t kImages = 2, kSide = 16, kTextTokens = 13;

class RecordedPasses : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    torch::manual_seed(5);
    initialise_uniform(*network_, 3);
    network_->to(device_, torch::kBFloat16);
    adapter_.emplace(*network_, LoraConfig{.rank = 8}, "test");
    move(0.05);
  }

  /// Another adapter, in place, as an optimiser's step leaves it.
  void move(double size) {
    const torch::NoGradGuard no_grad;
    for (const auto& [_, matrix] : adapter_->parameters())
      Tensor(matrix).add_(torch::randn(matrix.sizes()).to(device_), size);
  }

  Inputs inputs(std::int64_t images = kImages) const {
    const auto normal = [&](at::IntArrayRef shape) {
      return torch::randn(shape).to(device_, torch::kBFloat16);
    };
    return {normal({images, 16, kSide, kSide}), normal({images, kTextTokens, 64}), normal({images, 64}),
            torch::full({images}, 321.0F, torch::TensorOptions().device(device_))};
  }

  Tensor by_kernels(const Inputs& in) { return network_->forward(in[0], in[1], in[2], in[3]); }

  std::vector<Tensor> trained() const {
    std::vector<Tensor> matrices;
    for (const auto& [_, matrix] : adapter_->parameters()) matrices.push_back(matrix);
    return matrices;
  }
  std::vector<Tensor> gradients(const Tensor& output) const {
    return torch::autograd::grad({output.to(torch::kFloat32).square().mean()}, trained(), {}, std::nullopt,
                                 false, true);
  }

  static void expect_equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].defined(), b[i].defined()) << i;
      if (!a[i].defined()) continue;
      EXPECT_TRUE(torch::equal(a[i], b[i])) << i;
    }
  }

  /// So that nothing above was kernels compared with kernels.
  void expect_recorded(int passes) const { EXPECT_EQ(graphed_.recorded(), passes); }

  Sd3Transformer network_{small_sd3(3, 2, kSide)};
  std::optional<LoraAdapter> adapter_;
  GraphedNetwork graphed_{network_.ptr(), [this](const Inputs& in) { return by_kernels(in); }};
};

constexpr int kCalls = 5;

TEST_F(RecordedPasses, GiveTheBitsOfTheKernelsOneByOneForEachInput) {
  const torch::NoGradGuard no_grad;
  for (int i = 0; i < kCalls; ++i) {
    const auto in = inputs();
    EXPECT_TRUE(torch::equal(graphed_(in), by_kernels(in))) << "call " << i;
  }
  expect_recorded(1);
}

TEST_F(RecordedPasses, LeaveEarlierResultsAlone) {
  const torch::NoGradGuard no_grad;
  for (int i = 0; i < 2; ++i) graphed_(inputs());
  const auto in = inputs();
  const auto first = graphed_(in);
  graphed_(inputs());
  EXPECT_TRUE(torch::equal(first, by_kernels(in)));
}

TEST_F(RecordedPasses, FollowWeightsThatChangeInPlace) {
  const torch::NoGradGuard no_grad;
  const auto in = inputs();
  Tensor last;
  for (int i = 0; i < kCalls; ++i) {
    const auto v = graphed_(in);
    EXPECT_TRUE(torch::equal(v, by_kernels(in))) << "call " << i;
    EXPECT_FALSE(last.defined() && torch::equal(v, last)) << "call " << i;
    last = v;
    move(0.05);
  }
  expect_recorded(1);
}

TEST_F(RecordedPasses, GiveTheBitsOfTheGradients) {
  for (int i = 0; i < kCalls; ++i) {
    const auto in = inputs();
    const auto found = gradients(graphed_(in)), expected = gradients(by_kernels(in));
    expect_equal(found, expected);
    EXPECT_GT(expected[1].abs().sum().item<double>(), 0);
    move(0.05);
  }
  expect_recorded(1);
}

TEST_F(RecordedPasses, GiveTheBitsOfTheGradientsWhereBlocksAreRecomputed) {
  network_->set_recompute(true);
  for (int i = 0; i < kCalls; ++i) {
    const auto in = inputs();
    expect_equal(gradients(graphed_(in)), gradients(by_kernels(in)));
    move(0.05);
  }
  expect_recorded(1);
}

TEST_F(RecordedPasses, AreTheSameWithAndWithoutGradient) {
  const auto in = inputs();
  for (int i = 0; i < 3; ++i) {
    const auto with = graphed_(in);
    const torch::NoGradGuard no_grad;
    EXPECT_TRUE(torch::equal(graphed_(in), with));
  }
  expect_recorded(2);
}

TEST_F(RecordedPasses, OfWhichTwoWaitForTheirGradientsBothGetTheirOwn) {
  for (int i = 0; i < 2; ++i) gradients(graphed_(inputs()));
  const auto a = inputs(), b = inputs();
  const auto of_a = graphed_(a), of_b = graphed_(b);
  const auto second = gradients(of_b), first = gradients(of_a);
  expect_equal(first, gradients(by_kernels(a)));
  expect_equal(second, gradients(by_kernels(b)));
  expect_equal(gradients(graphed_(a) + graphed_(b)), gradients(by_kernels(a) + by_kernels(b)));
}

TEST_F(RecordedPasses, PassAGradientToAnInputThatWantsOne) {
  for (int i = 0; i < 3; ++i) gradients(graphed_(inputs()));
  auto in = inputs();
  in[0].requires_grad_();
  const auto of = [&](const Tensor& v) {
    return torch::autograd::grad({v.to(torch::kFloat32).square().mean()}, {in[0]})[0];
  };
  EXPECT_TRUE(torch::equal(of(graphed_(in)), of(by_kernels(in))));
}

TEST_F(RecordedPasses, OfANetworkWithoutItsAdapterHaveNoGradient) {
  const WithoutLowRank base;
  for (int i = 0; i < 3; ++i) {
    const auto in = inputs();
    const auto found = graphed_(in);
    EXPECT_FALSE(found.requires_grad());
    EXPECT_TRUE(torch::equal(found, by_kernels(in)));
  }
  expect_recorded(1);
}

TEST_F(RecordedPasses, AreOfOneShapeAndOneSetOfWeights) {
  const torch::NoGradGuard no_grad;
  for (int i = 0; i < kCalls; ++i) {
    for (const std::int64_t images : {kImages, kImages + 1}) {
      const auto in = inputs(images);
      EXPECT_TRUE(torch::equal(graphed_(in), by_kernels(in)));
      const WithoutLowRank base;
      EXPECT_TRUE(torch::equal(graphed_(in), by_kernels(in)));
    }
  }
  expect_recorded(4);
  adapter_.reset();
  const auto in = inputs();
  EXPECT_TRUE(torch::equal(graphed_(in), by_kernels(in))) << "without the adapter";
}

}  // namespace
}  // namespace harness

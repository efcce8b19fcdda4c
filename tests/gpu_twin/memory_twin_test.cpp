// What a training step keeps on a GPU, counted on the CPU: the fused functions keep the same there.
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "backbones/backbone.h"
#include "backbones/flux_folder.h"
#include "backbones/sd3_folder.h"
#include "models/diffusion/flux_transformer.h"
#include "models/diffusion/sd3_transformer.h"
#include "models/nn/lora.h"
#include "tests/models/gpu_fixture.h"
#include "tests/recorded_cases.h"

namespace harness {
namespace {

using torch::Tensor;

/// Bytes that this thread's tensors take.
class MemoryCount : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*at*/, std::int64_t change, std::size_t /*allocated*/,
                         std::size_t /*reserved*/, torch::Device /*device*/) override {
    bytes_ += change;
    peak_ = std::max(peak_, bytes_.load());
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t peak() const { return peak_; }

 private:
  std::atomic<std::int64_t> bytes_ = 0;
  std::int64_t peak_ = 0;
};

template <class Forward>
std::int64_t bytes_kept(const Forward& forward) {
  const auto count = std::make_shared<MemoryCount>();
  const c10::DebugInfoGuard counting(c10::DebugInfoKind::PROFILER_STATE, count);
  const Tensor kept = forward();
  return count->bytes();
}

/// The most that is held until the gradients by the adapter's weights are there.
template <class Forward>
std::int64_t peak_of_training(LoraAdapter& adapter, const Forward& forward) {
  std::vector<Tensor> weights;
  for (const auto& weight : adapter.parameters()) weights.push_back(weight.tensor);
  const auto count = std::make_shared<MemoryCount>();
  const c10::DebugInfoGuard counting(c10::DebugInfoKind::PROFILER_STATE, count);
  const auto loss = forward().to(torch::kFloat32).square().sum();
  const auto gradients =
      torch::autograd::grad({loss}, weights, {}, std::nullopt, false, /*allow_unused=*/true);
  return count->peak();
}

void expect_within_a_tenth(std::int64_t estimate, std::int64_t counted) {
  const double ratio = static_cast<double>(estimate) / static_cast<double>(counted);
  EXPECT_GT(ratio, 0.9) << estimate << " bytes, counted " << counted;
  EXPECT_LT(ratio, 1.1) << estimate << " bytes, counted " << counted;
}

constexpr std::int64_t kTwinImages = 2, kTwinSide = 32, kTwinTextTokens = 61;

Tensor normal(at::IntArrayRef shape) {
  return torch::randn(shape).to(torch::kBFloat16);
}

StreamSize stream_of(const auto& config) {
  return {.tokens = kTwinSide / 2 * kTwinSide / 2 + kTwinTextTokens,
          .width = config.width(),
          .heads = config.num_attention_heads,
          .text_tokens = kTwinTextTokens,
          .dtype = torch::kBFloat16,
          .is_fused = true};
}

/// A network in bfloat16 with a new adapter, what it is given, and what it is estimated to keep.
template <class Network>
struct Trained {
  Network network;
  LoraAdapter adapter;
  Tensor text = normal({kTwinImages, kTwinTextTokens, 64}), pooled = normal({kTwinImages, 64});

  explicit Trained(Network of) : network(in_bfloat16(of)), adapter(*network, {}, "test") {
    adapter.initialise(1);
  }
  static Network in_bfloat16(Network of) {
    of->to(torch::kBFloat16);
    return of;
  }

  template <class Forward, class Kept>
  void expect_peaks(const Forward& forward, const Kept& training_kept) {
    const auto stream = stream_of(network->config());
    forward();  // weights are put together then
    for (const bool recompute : {false, true}) {
      network->set_recompute(recompute);
      SCOPED_TRACE(recompute ? "recomputed" : "kept");
      expect_within_a_tenth(training_kept(network->config(), stream, kTwinImages, recompute) +
                                kTwinImages * adapter_inputs(adapter, stream, false, recompute),
                            peak_of_training(adapter, forward));
    }
  }
};

TEST(GpuMemory, OfStableDiffusion3IsWithinATenthOfTheEstimate) {
  torch::manual_seed(1);
  const auto c = small_sd3(4, 4, kTwinSide);
  Trained of{Sd3Transformer(c)};
  const auto x = normal({kTwinImages, c.in_channels, kTwinSide, kTwinSide});
  const auto forward = [&] {
    return of.network->forward(x, of.text, of.pooled, torch::full({kTwinImages}, 500.0F));
  };
  forward();  // weights are put together then
  const auto counted = bytes_kept(forward);
  const auto stream = stream_of(c);
  const auto blocks = 2 * kept_by_joint_block(stream, true) + 2 * kept_by_joint_block(stream, false);
  expect_within_a_tenth(kTwinImages * (blocks + adapter_inputs(of.adapter, stream, false, false)), counted);
}

TEST(GpuMemory, OfATrainingStepIsAtItsPeakWithinATenthOfTheEstimateRecomputedAndKept) {
  torch::manual_seed(1);
  const auto c = small_sd3(8, 4, kTwinSide);
  Trained of{Sd3Transformer(c)};
  const auto x = normal({kTwinImages, c.in_channels, kTwinSide, kTwinSide});
  of.expect_peaks(
      [&] { return of.network->forward(x, of.text, of.pooled, torch::full({kTwinImages}, 500.0F)); },
      sd3_training_kept);
}

TEST(GpuMemory, OfFluxIsAtItsPeakWithinATenthOfTheEstimateRecomputedAndKept) {
  torch::manual_seed(1);
  FluxConfig c;
  c.in_channels = 16;
  c.num_layers = 2;
  c.num_single_layers = 6;
  c.attention_head_dim = 64;
  c.num_attention_heads = 4;
  c.joint_attention_dim = c.pooled_projection_dim = 64;
  c.axes_dims_rope = {16, 24, 24};
  Trained of{FluxTransformer(c)};
  const auto x = torch::randn({kTwinImages, 4, kTwinSide, kTwinSide}),
             sigma = torch::full({kTwinImages}, 0.5F);
  of.expect_peaks([&] { return of.network->velocity(x, of.text, of.pooled, sigma, {}); }, flux_training_kept);
}

TEST(GpuMemory, OfARecordedTrainingStepStaysWhileImagesAreDecoded) {
  const BackboneSource source{.name = "sd35-medium",
                              .folder = case_folder("sd3_pipeline_sd35m") / "model",
                              .device = torch::Device("cuda"),
                              .choices = {.image_size = 32, .text_tokens = 16}};
  const auto activations = [&](const Workload& workload) {
    return estimate_resources(source, workload).at("memory").at("activations").get<double>();
  };
  const auto decoded = activations({.evaluation_images = 64});
  EXPECT_GT(decoded, activations({.training_images = 1})) << "so that the larger of both would be it alone";
  EXPECT_GT(activations({.training_images = 1, .evaluation_images = 64}), decoded);
}

}  // namespace
}  // namespace harness

// What a training step keeps on a GPU, counted on the CPU: the fused functions keep the same there.
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>

#include "backbones/backbone.h"
#include "backbones/public_folder.h"
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
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

template <class Forward>
std::int64_t bytes_kept(const Forward& forward) {
  const auto count = std::make_shared<MemoryCount>();
  const c10::DebugInfoGuard counting(c10::DebugInfoKind::PROFILER_STATE, count);
  const Tensor kept = forward();
  return count->bytes();
}

void expect_within_a_tenth(std::int64_t estimate, std::int64_t counted) {
  const double ratio = static_cast<double>(estimate) / static_cast<double>(counted);
  EXPECT_GT(ratio, 0.9) << estimate << " bytes, counted " << counted;
  EXPECT_LT(ratio, 1.1) << estimate << " bytes, counted " << counted;
}

constexpr std::int64_t kImages = 2, kSide = 32, kTextTokens = 61;

Tensor normal(at::IntArrayRef shape) {
  return torch::randn(shape).to(torch::kBFloat16);
}

TEST(GpuMemory, OfStableDiffusion3IsWithinATenthOfTheEstimate) {
  torch::manual_seed(1);
  const auto c = small_sd3(4, 4, kSide);
  Sd3Transformer network(c);
  network->to(torch::kBFloat16);
  LoraAdapter adapter(*network, {}, "test");
  adapter.initialise(1);
  const auto x = normal({kImages, c.in_channels, kSide, kSide}), text = normal({kImages, kTextTokens, 64}),
             pooled = normal({kImages, 64});
  // Once before it is counted: weights are put together then.
  network->forward(x, text, pooled, torch::full({kImages}, 500.0F));
  const auto counted =
      bytes_kept([&] { return network->forward(x, text, pooled, torch::full({kImages}, 500.0F)); });
  const auto stream = StreamSize{.tokens = kSide / 2 * kSide / 2 + kTextTokens,
                                 .width = c.width(),
                                 .heads = c.num_attention_heads,
                                 .text_tokens = kTextTokens,
                                 .dtype = torch::kBFloat16,
                                 .is_fused = true};
  const auto blocks = 2 * kept_by_joint_block(stream, true) + 2 * kept_by_joint_block(stream, false);
  expect_within_a_tenth(kImages * (blocks + adapter_inputs(adapter, stream, false, false)), counted);
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

#include <gtest/gtest.h>

#include "backbones/flux_folder.h"
#include "tests/recorded_cases.h"
#include "trainers/rollout.h"

namespace harness {
namespace {

// Rollout and update see the same rounded latent and the same flow time: nothing is left of the log-ratio.
TEST(FluxOnPolicy, LogRatiosAreExactlyZeroInEveryPrecision) {
  torch::set_num_threads(1);
  for (const auto dtype : {torch::kFloat32, torch::kBFloat16}) {
    const auto backbone = load_flux_folder({.name = "flux-dev",
                                            .folder = case_folder("flux_pipeline") / "model",
                                            .choices = {.image_size = 32, .text_tokens = 16}});
    backbone->transformer()->to(dtype);
    const auto sampler = SdeSampler::make(schedule_for(*backbone, NoiseGrid::kModel, 6, 1), 0.9, 3.5);
    const auto rollout = sample_rollout(*backbone, sampler, 42, 1, {{0, 0}, {1, 3}},
                                        backbone->encode({{"a sign", ""}, {"two cats", ""}}));
    ASSERT_EQ(rollout.edges.size(), 6U);
    for (int k = 0; k < 6; ++k) {
      const auto i = static_cast<std::size_t>(k);
      const auto& edges = rollout.edges[i];
      const auto drift = transition_drift(*backbone, sampler, k, edges.x, rollout.condition);
      EXPECT_TRUE(drift.mean.requires_grad());
      const auto& step = sampler.steps[i];
      const auto log_ratio = sde_log_prob(step, drift.mean.detach(), edges.next) -
                             sde_log_prob(step, edges.mean_old, edges.next);
      EXPECT_EQ(log_ratio.abs().max().item<float>(), 0) << "step " << k << ", " << dtype;
      EXPECT_TRUE(torch::equal(drift.velocity.detach(), edges.velocity_old));
    }
  }
}

}  // namespace
}  // namespace harness

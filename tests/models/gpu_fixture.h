#pragma once

#include <gtest/gtest.h>

#include "core/error.h"
#include "models/configs/sd3_config.h"
#include "models/nn/device.h"
#include "models/nn/gpu_ops.h"

namespace harness {

/// What needs a GPU and this project's kernels: skipped without them, which scripts/gpu-check counts as a
/// failure. With HARNESS_KERNEL_TWIN it runs on the CPU.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::has_kernels()) GTEST_SKIP() << "this build has no CUDA kernels: use the cuda preset";
#ifndef HARNESS_KERNEL_TWIN
    try {
      device_ = open_device("cuda:0");
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
#endif
  }

  torch::Device device_ = torch::kCPU;
};

/// A few blocks of a Stable Diffusion 3 with latents of `side` pixels, the first of them with dual attention.
inline Sd3Config small_sd3(std::int64_t layers, std::int64_t heads, std::int64_t side) {
  Sd3Config c;
  c.sample_size = side;
  c.num_layers = layers;
  c.num_attention_heads = heads;
  c.attention_head_dim = 64;
  c.joint_attention_dim = 64;
  c.caption_projection_dim = c.width();
  c.pooled_projection_dim = 64;
  c.pos_embed_max_size = side;
  c.qk_norm = true;
  for (std::int64_t i = 0; i < layers / 2; ++i) c.dual_attention_layers.push_back(i);
  return c;
}

}  // namespace harness

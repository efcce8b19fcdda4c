#pragma once

#include <optional>

#include "models/nn/head_norm.h"
#include "models/nn/torch.h"

namespace harness::gpu {

// What ops.h takes on a CUDA device in builds with the cuda preset: gpu_kernels.h with gradients. Each
// returns nothing where these kernels do not take the tensors, which device, type and shape alone decide.

/// Whether this build has them.
bool has_kernels();

/// Whether they run where x is.
bool takes(const torch::Tensor& x);

/// 90 of a Hopper: of the present device; 0 where this build has no kernels.
int compute_capability();

/// While one lives, work of a GPU is being recorded (models/graphs): what is made once for several calls is
/// made anew, so that the record makes it each time.
struct Recording {
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};
bool is_recording();

/// modulated_norm.
std::optional<torch::Tensor> modulated_norm(const torch::Tensor& x, const torch::Tensor& scale,
                                            const torch::Tensor& shift);

/// gated_add.
std::optional<torch::Tensor> gated_add(const torch::Tensor& x, const torch::Tensor& gate,
                                       const torch::Tensor& y);

/// joint_head_norm, or head_rms_norm of one stream.
std::optional<torch::Tensor> head_norm(const HeadNormInput& first, const HeadNormInput* second,
                                       const Rotation& rotation);

/// attention, without its layout of heads: q, k, v [B,H,N,d] -> [B,H,N,d].
std::optional<torch::Tensor> attention(const torch::Tensor& q, const torch::Tensor& k,
                                       const torch::Tensor& v);

// Images of an autoencoder, float32, channels last.

/// Whether the two functions below take images of `channels` beside x [B,.,H,W], and a norm of so many
/// groups.
bool takes_image(const torch::Tensor& x, std::int64_t channels, std::int64_t groups);

/// silu(group norm of x + added) with eps 1e-6; weight, bias, added [C], added may be undefined.
/// Differentiable in x alone.
torch::Tensor group_norm_silu(const torch::Tensor& x, const torch::Tensor& added, std::int64_t groups,
                              const torch::Tensor& weight, const torch::Tensor& bias);

/// x + y + added; x [B,C,H,W], or undefined for 0. Differentiable in x and y.
torch::Tensor biased_sum(const torch::Tensor& x, const torch::Tensor& y, const torch::Tensor& added);

}  // namespace harness::gpu

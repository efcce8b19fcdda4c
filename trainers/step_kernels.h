#pragma once

#include <cstdint>

namespace harness::kernels {

// CUDA kernels of one SDE step, launched on a stream of the current device and not waited for. Arrays are
// dense: B samples of D coordinates; sums over D are taken in an order that depends on D alone. Read by nvcc
// too: no LibTorch, C++17. Every function returns null, or why the launch failed.

/// B and D, and where to launch: `stream` is a cudaStream_t.
struct Launch {
  std::int64_t batch, size;
  void* stream;
};

/// x_weight x + velocity_weight v (E8). velocity: float, or bfloat16 if the flag is set.
struct MeanInput {
  const float* x;
  const void* velocity;
  bool bfloat16;
  float x_weight, velocity_weight;
};

/// Elements (double) of the scratch that one sum over D for each sample needs.
std::int64_t partial_sums(std::int64_t batch, std::int64_t size);

/// mean [B,D].
const char* sde_mean(const Launch& launch, const MeanInput& input, float* mean);

/// The same mean; next = mean + s noise [B,D].
const char* sde_transition(const Launch& launch, const MeanInput& input, const float* noise, float s,
                           float* mean, float* next);

/// y = weight / 2 * sum((mean_new - mean_old) (2 next - mean_old - mean_new)),
/// center = weight * sum((mean_new - mean_old)^2) [B]; weight is 1 / (s^2 D). scratch: 2 partial_sums(B, D).
const char* reduced_law(const Launch& launch, const float* mean_old, const float* mean_new, const float* next,
                        double weight, float* y, float* center, double* scratch);

/// Gradient [B,D] with respect to mean_new of sum(dy y + dcenter center) over the samples; dy, dcenter: [B].
const char* reduced_law_backward(const Launch& launch, const float* mean_old, const float* mean_new,
                                 const float* next, const float* dy, const float* dcenter, double weight,
                                 float* dmean_new);

}  // namespace harness::kernels

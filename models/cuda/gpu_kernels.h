#pragma once

#include <cstdint>

namespace harness::kernels {

// Fused element-wise kernels for a CUDA GPU (block_kernels.cu, image_kernels.cu; in builds with the cuda
// preset), the counterparts of models/cpu/kernels.h. Arithmetic is float32 and rounded once, at the end. A
// row's result depends on that row alone and its sums have one order: no atomics. Functions return null, or
// CUDA's error for a failed launch.

enum class Number { kFloat32, kFloat16, kBFloat16 };

/// 90 of a Hopper: of the present device; 0 if unknown.
int gpu_compute_capability();

struct GpuLaunch {
  Number number;  ///< of every array that is a void*
  void* stream;   ///< a cudaStream_t
};

/// Elements that one thread reads at once: rows and their distances must be multiples of it, and aligned to
/// 16 bytes.
constexpr std::int64_t gpu_vector(Number number) {
  return number == Number::kFloat32 ? 4 : 8;
}

/// The widest row that modulated_norm takes.
inline constexpr std::int64_t kGpuWidestRow = 3072;

/// Layer norm without weights over C (eps), then (1 + scale) and shift. x, y [B,N,C]; scale, shift [B,C] with
/// rows `stride` apart; mean and reciprocal standard deviation [B,N] are kept for the gradient.
struct ModulatedNorm {
  const void *x, *scale, *shift;
  std::int64_t stride, b, n, c;
  float* mean;
  float* rstd;
};
const char* gpu_modulated_norm(const GpuLaunch& launch, const ModulatedNorm& norm, float eps, void* y);
/// dx of the above; `shift` is not read.
const char* gpu_modulated_norm_backward(const GpuLaunch& launch, const ModulatedNorm& norm, const void* dy,
                                        void* dx);

/// out = x + gate * y; x (null: 0), y, out [B,N,C]; gate [B,C] with rows `stride` apart.
struct GatedAdd {
  const void *x, *gate;
  std::int64_t stride;
  const void* y;
  std::int64_t b, n, c;
};
const char* gpu_gated_add(const GpuLaunch& launch, const GatedAdd& sum, void* out);

/// Where the tokens of a [B,N,heads * width] array are.
struct Tokens {
  std::int64_t batch_stride, row_stride;
};

/// Each head of each token over its root mean square (eps), times weight [width], then, with cos and sin
/// [N,width / 2], channels 2i and 2i + 1 turned together; rrms [B,N,heads], the reciprocal root mean squares,
/// are kept for the gradient.
struct HeadNorm {
  const void* x;
  Tokens x_at;
  const void* weight;
  const float *cos, *sin;  ///< null: no rotation
  float* rrms;
  std::int64_t b, n, heads, width;
};
/// Whether a head of `width` is one that these two take.
bool gpu_takes_head(Number number, std::int64_t width);
const char* gpu_head_norm(const GpuLaunch& launch, const HeadNorm& norm, float eps, void* y, Tokens y_at);
/// dx [B,N,heads * width], dense.
const char* gpu_head_norm_backward(const GpuLaunch& launch, const HeadNorm& norm, const void* dy,
                                   Tokens dy_at, void* dx);

// Images of an autoencoder: float32, channels last, [B,P,C] for P pixels.

/// silu of a group norm (eps) of x + added. The conditions of gpu_takes_image on C and groups hold.
struct GroupNormSilu {
  const float* x;
  const float* added;  ///< [C], null: 0
  const float *weight, *bias;
  std::int64_t b, p, c, groups;
};
bool gpu_takes_image(std::int64_t c, std::int64_t groups);
/// Numbers of type double, and float, that the next function needs for its own.
std::int64_t gpu_group_sums(const GroupNormSilu& norm);
std::int64_t gpu_channel_factors(const GroupNormSilu& norm);
const char* gpu_group_norm_silu(void* stream, const GroupNormSilu& norm, float eps, double* sums,
                                float* factors, float* y);

/// out = x + y + added; x may be null: 0. C a multiple of 4.
struct BiasedSum {
  const float *x, *y, *added;
  std::int64_t pixels, c;  ///< pixels of all images
};
const char* gpu_biased_sum(void* stream, const BiasedSum& sum, float* out);

}  // namespace harness::kernels

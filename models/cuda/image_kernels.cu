#include "models/cuda/gpu_kernels.h"
#include "models/cuda/vectors.h"

namespace harness::kernels {
namespace {

// A block to a chunk of an image's pixels, a vector of channels a thread.

constexpr int kImageVector = kVector<float>;
constexpr Index kPixels = 1024;  // of a chunk

__host__ __device__ Index chunks_of(const GroupNormSilu& norm) {
  return (norm.p + kPixels - 1) / kPixels;
}

__device__ void read_added(const float* added, int channel, float (&to)[kImageVector]) {
  if (added != nullptr) {
    read(added + channel, to);
  } else {
#pragma unroll
    for (int i = 0; i < kImageVector; ++i) to[i] = 0;
  }
}

/// sums[2 * ((image * chunks + chunk) * groups + group)] = sum, sum of squares of the chunk.
__global__ void __launch_bounds__(kThreads) group_sums_kernel(GroupNormSilu norm, double* __restrict__ sums) {
  constexpr int k = kImageVector;
  __shared__ double of_thread[2][kThreads];
  const Index image = blockIdx.y, first = blockIdx.x * kPixels;
  const Index last = first + kPixels < norm.p ? first + kPixels : norm.p;
  const int thread = static_cast<int>(threadIdx.x), vectors = static_cast<int>(norm.c) / k;
  const int channel = thread % vectors * k, together = kThreads / vectors;
  float added[k];
  read_added(norm.added, channel, added);
  double sum = 0, squares = 0;
  for (Index pixel = first + thread / vectors; pixel < last; pixel += together) {
    float x[k];
    read(norm.x + (image * norm.p + pixel) * norm.c + channel, x);
    float of_vector = 0, squares_of_vector = 0;
#pragma unroll
    for (int i = 0; i < k; ++i) {
      x[i] += added[i];
      of_vector += x[i];
      squares_of_vector += x[i] * x[i];
    }
    sum += of_vector;
    squares += squares_of_vector;
  }
  of_thread[0][thread] = sum;
  of_thread[1][thread] = squares;
  __syncthreads();
  if (thread >= norm.groups) return;
  const int of_group = vectors / static_cast<int>(norm.groups);  // vectors
  double total = 0, total_squares = 0;
  for (int row = 0; row < together; ++row) {
    for (int v = 0; v < of_group; ++v) {
      const int from = row * vectors + thread * of_group + v;
      total += of_thread[0][from];
      total_squares += of_thread[1][from];
    }
  }
  double* out = sums + 2 * ((image * gridDim.x + blockIdx.x) * norm.groups + thread);
  out[0] = total;
  out[1] = total_squares;
}

/// factors[2 * (image * C + channel)] = a, c of y = silu(a x + c).
__global__ void channel_factors_kernel(GroupNormSilu norm, float eps, const double* __restrict__ sums,
                                       Index chunks, float* __restrict__ factors) {
  const Index image = blockIdx.x;
  for (int channel = static_cast<int>(threadIdx.x); channel < norm.c; channel += kThreads) {
    const Index group = channel / (norm.c / norm.groups);
    double sum = 0, squares = 0;
    for (Index chunk = 0; chunk < chunks; ++chunk) {
      const double* in = sums + 2 * ((image * chunks + chunk) * norm.groups + group);
      sum += in[0];
      squares += in[1];
    }
    const double count = static_cast<double>(norm.p) * static_cast<double>(norm.c / norm.groups);
    const double mean = sum / count, variance = squares / count - mean * mean;
    const double a = norm.weight[channel] / sqrt((variance > 0 ? variance : 0) + eps);
    const double added = norm.added != nullptr ? norm.added[channel] : 0;
    factors[2 * (image * norm.c + channel)] = static_cast<float>(a);
    factors[2 * (image * norm.c + channel) + 1] = static_cast<float>(norm.bias[channel] + a * (added - mean));
  }
}

__global__ void __launch_bounds__(kThreads)
    group_norm_silu_kernel(GroupNormSilu norm, const float* __restrict__ factors, float* __restrict__ y) {
  constexpr int k = kImageVector;
  const Index at = (static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x) * k;
  if (at >= norm.b * norm.p * norm.c) return;
  const Index image = at / (norm.p * norm.c), channel = at % norm.c;
  const float* of_channel = factors + 2 * (image * norm.c + channel);
  float x[k], first[k], second[k];
  read(norm.x + at, x);
  read(of_channel, first);
  read(of_channel + k, second);
#pragma unroll
  for (int i = 0; i < k; ++i) {
    const float a = i < k / 2 ? first[2 * i] : second[2 * i - k],
                c = i < k / 2 ? first[2 * i + 1] : second[2 * i + 1 - k];
    const float h = a * x[i] + c;
    x[i] = h / (1 + expf(-h));
  }
  write(x, y + at);
}

__global__ void __launch_bounds__(kThreads) biased_sum_kernel(BiasedSum sum, float* __restrict__ out) {
  constexpr int k = kImageVector;
  const Index at = (static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x) * k;
  if (at >= sum.pixels * sum.c) return;
  float x[k] = {}, y[k], added[k];
  if (sum.x != nullptr) read(sum.x + at, x);
  read(sum.y + at, y);
  read(sum.added + at % sum.c, added);
#pragma unroll
  for (int i = 0; i < k; ++i) y[i] = x[i] + (y[i] + added[i]);
  write(y, out + at);
}

}  // namespace

bool gpu_takes_image(std::int64_t c, std::int64_t groups) {
  const bool is_power = c > 0 && (c & (c - 1)) == 0;
  return is_power && c <= kThreads * kImageVector && groups > 0 && groups <= kThreads && c % groups == 0 &&
         c / groups % kImageVector == 0;
}

std::int64_t gpu_group_sums(const GroupNormSilu& norm) {
  return 2 * norm.b * chunks_of(norm) * norm.groups;
}

std::int64_t gpu_channel_factors(const GroupNormSilu& norm) {
  return 2 * norm.b * norm.c;
}

const char* gpu_group_norm_silu(void* stream, const GroupNormSilu& norm, float eps, double* sums,
                                float* factors, float* y) {
  const auto on = static_cast<cudaStream_t>(stream);
  const dim3 grid(static_cast<unsigned>(chunks_of(norm)), static_cast<unsigned>(norm.b));
  group_sums_kernel<<<grid, kThreads, 0, on>>>(norm, sums);
  channel_factors_kernel<<<static_cast<unsigned>(norm.b), kThreads, 0, on>>>(norm, eps, sums, chunks_of(norm),
                                                                             factors);
  group_norm_silu_kernel<<<blocks_of(norm.b * norm.p * norm.c / kImageVector), kThreads, 0, on>>>(norm,
                                                                                                  factors, y);
  return outcome();
}

const char* gpu_biased_sum(void* stream, const BiasedSum& sum, float* out) {
  biased_sum_kernel<<<blocks_of(sum.pixels * sum.c / kImageVector), kThreads, 0,
                      static_cast<cudaStream_t>(stream)>>>(sum, out);
  return outcome();
}

}  // namespace harness::kernels

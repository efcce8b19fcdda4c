#include "trainers/step_kernels.h"

namespace harness::kernels {
namespace {

using Index = std::int64_t;

// A block works on one chunk of one sample. For a sum each of its threads adds kPerThread coordinates, the
// block adds its threads in a fixed tree, and `finish` adds a sample's chunks in order: no atomics, and an
// order that neither batch nor grid changes. One block a sample would leave most of a GPU idle.
constexpr int kThreads = 256;
constexpr int kPerThread = 16;
constexpr Index kChunk = kThreads * kPerThread;
constexpr int kWarp = 32;

__host__ __device__ Index chunks_of(Index size) {
  return (size + kChunk - 1) / kChunk;
}

/// The elements of a thread, kThreads apart.
struct Range {
  Index sample, begin, end;
};

__device__ Range range_of_thread(Index size) {
  const Index chunks = chunks_of(size);
  const Index sample = blockIdx.x / chunks, first = blockIdx.x % chunks * kChunk;
  const Index last = first + kChunk < size ? first + kChunk : size;
  return {sample, sample * size + first + threadIdx.x, sample * size + last};
}

/// Adds the threads' sums; thread 0 writes sum n to partials[n * blocks + block].
template <int N>
__device__ void store_block_sums(const float (&sums)[N], double* partials) {
  constexpr int kWarps = kThreads / kWarp;
  __shared__ double of_warp[N][kWarps];
  for (int n = 0; n < N; ++n) {
    double sum = sums[n];
    for (int distance = kWarp / 2; distance > 0; distance /= 2)
      sum += __shfl_down_sync(0xffffffffU, sum, distance);
    if (threadIdx.x % kWarp == 0) of_warp[n][threadIdx.x / kWarp] = sum;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int n = 0; n < N; ++n) {
    double sum = 0;
    for (int warp = 0; warp < kWarps; ++warp) sum += of_warp[n][warp];
    partials[static_cast<Index>(n) * gridDim.x + blockIdx.x] = sum;
  }
}

__device__ float widened(float value) {
  return value;
}

/// A bfloat16, given by its bits.
__device__ float widened(std::uint16_t bits) {
  return __uint_as_float(static_cast<std::uint32_t>(bits) << 16);
}

// Means and next latents are rounded after every operation, as LibTorch's element-wise operators round them:
// a fused multiply-add would make them differ from the expressions, and from one kernel to another.

__device__ float mean_of(float x, float velocity, float x_weight, float velocity_weight) {
  return __fadd_rn(__fmul_rn(x, x_weight), __fmul_rn(velocity, velocity_weight));
}

template <typename Velocity>
__global__ void mean_kernel(const float* __restrict__ x, const Velocity* __restrict__ velocity,
                            float x_weight, float velocity_weight, Index size, float* __restrict__ mean) {
  const Range range = range_of_thread(size);
  for (Index i = range.begin; i < range.end; i += kThreads)
    mean[i] = mean_of(x[i], widened(velocity[i]), x_weight, velocity_weight);
}

template <typename Velocity>
__global__ void transition_kernel(const float* __restrict__ x, const Velocity* __restrict__ velocity,
                                  const float* __restrict__ noise, float x_weight, float velocity_weight,
                                  float s, Index size, float* __restrict__ mean, float* __restrict__ next) {
  const Range range = range_of_thread(size);
  for (Index i = range.begin; i < range.end; i += kThreads) {
    const float center = mean_of(x[i], widened(velocity[i]), x_weight, velocity_weight);
    mean[i] = center;
    next[i] = __fadd_rn(center, __fmul_rn(noise[i], s));
  }
}

__global__ void law_kernel(const float* __restrict__ mean_old, const float* __restrict__ mean_new,
                           const float* __restrict__ next, Index size, double* __restrict__ partials) {
  const Range range = range_of_thread(size);
  float sums[2] = {0, 0};  // of y's products, of the squared shift
  for (Index i = range.begin; i < range.end; i += kThreads) {
    const float shift = mean_new[i] - mean_old[i];
    sums[0] += shift * ((next[i] - mean_old[i]) + (next[i] - mean_new[i]));
    sums[1] += shift * shift;
  }
  store_block_sums(sums, partials);
}

__global__ void law_backward_kernel(const float* __restrict__ mean_old, const float* __restrict__ mean_new,
                                    const float* __restrict__ next, const float* __restrict__ dy,
                                    const float* __restrict__ dcenter, float weight, Index size,
                                    float* __restrict__ dmean_new) {
  const Range range = range_of_thread(size);
  const float of_y = weight * dy[range.sample], of_center = 2 * weight * dcenter[range.sample];
  for (Index i = range.begin; i < range.end; i += kThreads)
    dmean_new[i] = of_y * (next[i] - mean_new[i]) + of_center * (mean_new[i] - mean_old[i]);
}

/// out[sample] = weight * (the sample's partial sums).
struct Reduction {
  double weight;
  float* out;
};

__device__ void finish_sample(const Reduction& reduction, const double* partials, Index chunks,
                              Index sample) {
  double sum = 0;
  for (Index chunk = 0; chunk < chunks; ++chunk) sum += partials[sample * chunks + chunk];
  reduction.out[sample] = static_cast<float>(reduction.weight * sum);
}

__global__ void finish_kernel(const double* __restrict__ partials, Index batch, Index chunks, Reduction first,
                              Reduction second) {
  const Index sample = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x;
  if (sample >= batch) return;
  finish_sample(first, partials, chunks, sample);
  finish_sample(second, partials + batch * chunks, chunks, sample);
}

cudaStream_t stream_of(const Launch& launch) {
  return static_cast<cudaStream_t>(launch.stream);
}

unsigned blocks_of(const Launch& launch) {
  return static_cast<unsigned>(launch.batch * chunks_of(launch.size));
}

/// Calls `run` with the velocity as what it is.
template <typename Run>
void with_velocity(const MeanInput& input, const Run& run) {
  if (input.bfloat16) {
    run(static_cast<const std::uint16_t*>(input.velocity));
  } else {
    run(static_cast<const float*>(input.velocity));
  }
}

const char* outcome() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

const char* finish(const Launch& launch, const double* partials, const Reduction& first,
                   const Reduction& second) {
  const auto blocks = static_cast<unsigned>((launch.batch + kThreads - 1) / kThreads);
  finish_kernel<<<blocks, kThreads, 0, stream_of(launch)>>>(partials, launch.batch, chunks_of(launch.size),
                                                            first, second);
  return outcome();
}

}  // namespace

std::int64_t partial_sums(std::int64_t batch, std::int64_t size) {
  return batch * chunks_of(size);
}

const char* sde_mean(const Launch& launch, const MeanInput& input, float* mean) {
  const auto run = [&](const auto* velocity) {
    mean_kernel<<<blocks_of(launch), kThreads, 0, stream_of(launch)>>>(
        input.x, velocity, input.x_weight, input.velocity_weight, launch.size, mean);
  };
  with_velocity(input, run);
  return outcome();
}

const char* sde_transition(const Launch& launch, const MeanInput& input, const float* noise, float s,
                           float* mean, float* next) {
  const auto run = [&](const auto* velocity) {
    transition_kernel<<<blocks_of(launch), kThreads, 0, stream_of(launch)>>>(
        input.x, velocity, noise, input.x_weight, input.velocity_weight, s, launch.size, mean, next);
  };
  with_velocity(input, run);
  return outcome();
}

const char* reduced_law(const Launch& launch, const float* mean_old, const float* mean_new, const float* next,
                        double weight, float* y, float* center, double* scratch) {
  law_kernel<<<blocks_of(launch), kThreads, 0, stream_of(launch)>>>(mean_old, mean_new, next, launch.size,
                                                                    scratch);
  return finish(launch, scratch, {weight / 2, y}, {weight, center});
}

const char* reduced_law_backward(const Launch& launch, const float* mean_old, const float* mean_new,
                                 const float* next, const float* dy, const float* dcenter, double weight,
                                 float* dmean_new) {
  law_backward_kernel<<<blocks_of(launch), kThreads, 0, stream_of(launch)>>>(
      mean_old, mean_new, next, dy, dcenter, static_cast<float>(weight), launch.size, dmean_new);
  return outcome();
}

}  // namespace harness::kernels

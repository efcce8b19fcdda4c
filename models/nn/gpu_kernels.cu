#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "models/nn/gpu_kernels.h"

namespace harness::kernels {
namespace {

using Index = std::int64_t;

constexpr int kWarp = 32;
constexpr int kThreads = 256;

/// As many elements as a thread reads and writes at once: 16 bytes.
template <class T>
constexpr int kVector = 16 / sizeof(T);

template <class T>
__device__ void read(const T* from, float (&to)[kVector<T>]) {
  const uint4 bytes = *reinterpret_cast<const uint4*>(from);
  alignas(16) T values[kVector<T>];
  *reinterpret_cast<uint4*>(values) = bytes;
#pragma unroll
  for (int i = 0; i < kVector<T>; ++i) to[i] = static_cast<float>(values[i]);
}

template <class T>
__device__ void write(const float (&from)[kVector<T>], T* to) {
  alignas(16) T values[kVector<T>];
#pragma unroll
  for (int i = 0; i < kVector<T>; ++i) values[i] = static_cast<T>(from[i]);
  *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(values);
}

/// The sum over groups of `lanes` threads, a power of two, in every one of them.
__device__ float group_sum(float value, int lanes) {
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffU, value, distance);
  return value;
}

// A warp to a row, which it keeps in registers: `Vectors` a lane.

template <class T, int Vectors>
__global__ void __launch_bounds__(kThreads)
    modulated_norm_kernel(ModulatedNorm norm, float eps, T* __restrict__ y) {
  constexpr int k = kVector<T>;
  const Index row = static_cast<Index>(blockIdx.x) * (kThreads / kWarp) + threadIdx.x / kWarp;
  if (row >= norm.b * norm.n) return;
  const int c = static_cast<int>(norm.c), lane = static_cast<int>(threadIdx.x % kWarp);
  const T* x = static_cast<const T*>(norm.x) + row * c;
  float values[Vectors][k];
  float sum = 0;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const int at = (v * kWarp + lane) * k;
    if (at >= c) continue;
    read(x + at, values[v]);
#pragma unroll
    for (int i = 0; i < k; ++i) sum += values[v][i];
  }
  const float count = static_cast<float>(c), mean = group_sum(sum, kWarp) / count;
  float squares = 0;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    if ((v * kWarp + lane) * k >= c) continue;
#pragma unroll
    for (int i = 0; i < k; ++i) {
      const float apart = values[v][i] - mean;
      squares += apart * apart;
    }
  }
  const float rstd = rsqrtf(group_sum(squares, kWarp) / count + eps);
  if (lane == 0) {
    norm.mean[row] = mean;
    norm.rstd[row] = rstd;
  }
  const Index of_batch = row / norm.n * norm.stride;
  const T* scale = static_cast<const T*>(norm.scale) + of_batch;
  const T* shift = static_cast<const T*>(norm.shift) + of_batch;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const int at = (v * kWarp + lane) * k;
    if (at >= c) continue;
    float factor[k], added[k], out[k];
    read(scale + at, factor);
    read(shift + at, added);
#pragma unroll
    for (int i = 0; i < k; ++i) out[i] = (values[v][i] - mean) * rstd * (1 + factor[i]) + added[i];
    write(out, y + row * c + at);
  }
}

template <class T, int Vectors>
__global__ void __launch_bounds__(kThreads)
    modulated_norm_backward_kernel(ModulatedNorm norm, const T* __restrict__ dy, T* __restrict__ dx) {
  constexpr int k = kVector<T>;
  const Index row = static_cast<Index>(blockIdx.x) * (kThreads / kWarp) + threadIdx.x / kWarp;
  if (row >= norm.b * norm.n) return;
  const int c = static_cast<int>(norm.c), lane = static_cast<int>(threadIdx.x % kWarp);
  const T* x = static_cast<const T*>(norm.x) + row * c;
  const T* scale = static_cast<const T*>(norm.scale) + row / norm.n * norm.stride;
  const float mean = norm.mean[row], rstd = norm.rstd[row];
  float normal[Vectors][k], gradient[Vectors][k];  // of the row's normal values
  float sum = 0, products = 0;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const int at = (v * kWarp + lane) * k;
    if (at >= c) continue;
    float factor[k];
    read(x + at, normal[v]);
    read(dy + row * c + at, gradient[v]);
    read(scale + at, factor);
#pragma unroll
    for (int i = 0; i < k; ++i) {
      normal[v][i] = (normal[v][i] - mean) * rstd;
      gradient[v][i] *= 1 + factor[i];
      sum += gradient[v][i];
      products += gradient[v][i] * normal[v][i];
    }
  }
  const float count = static_cast<float>(c);
  const float common = group_sum(sum, kWarp) / count, along = group_sum(products, kWarp) / count;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    const int at = (v * kWarp + lane) * k;
    if (at >= c) continue;
    float out[k];
#pragma unroll
    for (int i = 0; i < k; ++i) out[i] = rstd * (gradient[v][i] - common - normal[v][i] * along);
    write(out, dx + row * c + at);
  }
}

// A thread to a vector.

template <class T>
__global__ void __launch_bounds__(kThreads) gated_add_kernel(GatedAdd sum, T* __restrict__ out) {
  constexpr int k = kVector<T>;
  const Index at = (static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x) * k;
  if (at >= sum.b * sum.n * sum.c) return;
  const Index row = at / sum.c;
  float x[k] = {}, gate[k], y[k];
  if (sum.x != nullptr) read(static_cast<const T*>(sum.x) + at, x);
  read(static_cast<const T*>(sum.gate) + row / sum.n * sum.stride + (at - row * sum.c), gate);
  read(static_cast<const T*>(sum.y) + at, y);
#pragma unroll
  for (int i = 0; i < k; ++i) x[i] += gate[i] * y[i];
  write(x, out + at);
}

// A group of neighbouring lanes to a head, a vector a lane.

/// The head of a thread, and where in it the thread's vector is.
struct Place {
  Index batch, token, head;
  int at;
};

template <class T>
__device__ bool place_of_thread(const HeadNorm& norm, int lanes, Place& place) {
  const Index thread = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x;
  const Index group = thread / lanes;
  const bool inside = group < norm.b * norm.n * norm.heads;
  const Index token = inside ? group / norm.heads : 0;  // the shuffles want every lane
  place = {token / norm.n, token % norm.n, inside ? group % norm.heads : 0,
           static_cast<int>(thread % lanes) * kVector<T>};
  return inside;
}

__device__ Index offset(const HeadNorm& norm, const Place& place, Tokens tokens) {
  return place.batch * tokens.batch_stride + place.token * tokens.row_stride + place.head * norm.width +
         place.at;
}

__device__ Index rotation_offset(const HeadNorm& norm, const Place& place) {
  return (place.token * norm.width + place.at) / 2;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    head_norm_kernel(HeadNorm norm, float eps, T* __restrict__ y, Tokens y_at, int lanes) {
  constexpr int k = kVector<T>;
  Place place;
  const bool inside = place_of_thread<T>(norm, lanes, place);
  float x[k], weight[k], out[k];
  read(static_cast<const T*>(norm.x) + offset(norm, place, norm.x_at), x);
  float squares = 0;
#pragma unroll
  for (int i = 0; i < k; ++i) squares += x[i] * x[i];
  const float rrms = rsqrtf(group_sum(squares, lanes) / static_cast<float>(norm.width) + eps);
  read(static_cast<const T*>(norm.weight) + place.at, weight);
#pragma unroll
  for (int i = 0; i < k; ++i) out[i] = x[i] * rrms * weight[i];
  if (norm.cos != nullptr) {
    const Index angle = rotation_offset(norm, place);
#pragma unroll
    for (int i = 0; i < k; i += 2) {
      const float cos = norm.cos[angle + i / 2], sin = norm.sin[angle + i / 2], a = out[i], b = out[i + 1];
      out[i] = a * cos - b * sin;
      out[i + 1] = a * sin + b * cos;
    }
  }
  if (!inside) return;
  if (place.at == 0) norm.rrms[(place.batch * norm.n + place.token) * norm.heads + place.head] = rrms;
  write(out, y + offset(norm, place, y_at));
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    head_norm_backward_kernel(HeadNorm norm, const T* __restrict__ dy, Tokens dy_at, T* __restrict__ dx,
                              int lanes) {
  constexpr int k = kVector<T>;
  Place place;
  const bool inside = place_of_thread<T>(norm, lanes, place);
  float x[k], weight[k], gradient[k], out[k];
  read(static_cast<const T*>(norm.x) + offset(norm, place, norm.x_at), x);
  read(static_cast<const T*>(norm.weight) + place.at, weight);
  read(dy + offset(norm, place, dy_at), gradient);
  const float rrms = norm.rrms[(place.batch * norm.n + place.token) * norm.heads + place.head];
  if (norm.cos != nullptr) {
    const Index angle = rotation_offset(norm, place);
#pragma unroll
    for (int i = 0; i < k; i += 2) {
      const float cos = norm.cos[angle + i / 2], sin = norm.sin[angle + i / 2], a = gradient[i],
                  b = gradient[i + 1];
      gradient[i] = a * cos + b * sin;
      gradient[i + 1] = b * cos - a * sin;
    }
  }
  float products = 0;
#pragma unroll
  for (int i = 0; i < k; ++i) {
    x[i] *= rrms;
    gradient[i] *= weight[i];
    products += gradient[i] * x[i];
  }
  const float along = group_sum(products, lanes) / static_cast<float>(norm.width);
#pragma unroll
  for (int i = 0; i < k; ++i) out[i] = rrms * (gradient[i] - x[i] * along);
  if (!inside) return;
  const Index width = norm.heads * norm.width;
  write(out, dx + offset(norm, place, {norm.n * width, width}));
}

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

const char* outcome() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

/// run(T{}) for the type that a launch's arrays hold.
template <class Run>
const char* with_type(const GpuLaunch& launch, const Run& run) {
  if (launch.number == Number::kFloat32) run(float{});
  if (launch.number == Number::kFloat16) run(__half{});
  if (launch.number == Number::kBFloat16) run(__nv_bfloat16{});
  return outcome();
}

template <int Values>
struct PerLane {
  static constexpr int kValues = Values;
};

/// run(PerLane<>{}) with as many values a lane as a row of c needs.
template <class Run>
void with_values(Index c, const Run& run) {
  const Index values = (c + kWarp - 1) / kWarp;
  if (values <= 16) return run(PerLane<16>{});
  if (values <= 32) return run(PerLane<32>{});
  if (values <= 48) return run(PerLane<48>{});
  if (values <= 80) return run(PerLane<80>{});
  run(PerLane<kGpuWidestRow / kWarp>{});
}

unsigned blocks_of(Index threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

cudaStream_t stream_of(const GpuLaunch& launch) {
  return static_cast<cudaStream_t>(launch.stream);
}

template <class T>
int lanes_of(Index width) {
  return static_cast<int>(width) / kVector<T>;
}

}  // namespace

int gpu_compute_capability() {
  int device = 0, major = 0, minor = 0;
  const bool is_known =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
  return is_known ? 10 * major + minor : 0;
}

const char* gpu_modulated_norm(const GpuLaunch& launch, const ModulatedNorm& norm, float eps, void* y) {
  return with_type(launch, [&](auto type) {
    using T = decltype(type);
    with_values(norm.c, [&](auto lane) {
      modulated_norm_kernel<T, decltype(lane)::kValues / kVector<T>>
          <<<blocks_of(norm.b * norm.n * kWarp), kThreads, 0, stream_of(launch)>>>(norm, eps,
                                                                                   static_cast<T*>(y));
    });
  });
}

const char* gpu_modulated_norm_backward(const GpuLaunch& launch, const ModulatedNorm& norm, const void* dy,
                                        void* dx) {
  return with_type(launch, [&](auto type) {
    using T = decltype(type);
    with_values(norm.c, [&](auto lane) {
      modulated_norm_backward_kernel<T, decltype(lane)::kValues / kVector<T>>
          <<<blocks_of(norm.b * norm.n * kWarp), kThreads, 0, stream_of(launch)>>>(
              norm, static_cast<const T*>(dy), static_cast<T*>(dx));
    });
  });
}

const char* gpu_gated_add(const GpuLaunch& launch, const GatedAdd& sum, void* out) {
  return with_type(launch, [&](auto type) {
    using T = decltype(type);
    gated_add_kernel<T><<<blocks_of(sum.b * sum.n * sum.c / kVector<T>), kThreads, 0, stream_of(launch)>>>(
        sum, static_cast<T*>(out));
  });
}

bool gpu_takes_head(Number number, std::int64_t width) {
  const auto lanes = width / gpu_vector(number);
  return width % gpu_vector(number) == 0 && lanes > 0 && lanes <= kWarp && (lanes & (lanes - 1)) == 0;
}

const char* gpu_head_norm(const GpuLaunch& launch, const HeadNorm& norm, float eps, void* y, Tokens y_at) {
  return with_type(launch, [&](auto type) {
    using T = decltype(type);
    const int lanes = lanes_of<T>(norm.width);
    head_norm_kernel<T><<<blocks_of(norm.b * norm.n * norm.heads * lanes), kThreads, 0, stream_of(launch)>>>(
        norm, eps, static_cast<T*>(y), y_at, lanes);
  });
}

const char* gpu_head_norm_backward(const GpuLaunch& launch, const HeadNorm& norm, const void* dy,
                                   Tokens dy_at, void* dx) {
  return with_type(launch, [&](auto type) {
    using T = decltype(type);
    const int lanes = lanes_of<T>(norm.width);
    head_norm_backward_kernel<T>
        <<<blocks_of(norm.b * norm.n * norm.heads * lanes), kThreads, 0, stream_of(launch)>>>(
            norm, static_cast<const T*>(dy), dy_at, static_cast<T*>(dx), lanes);
  });
}

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

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "models/cuda/gpu_kernels.h"
#include "models/cuda/vectors.h"

namespace harness::kernels {
namespace {

constexpr int kWarp = 32;

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

}  // namespace harness::kernels

#pragma once

#include <cstdint>

// What the kernels of this folder share; for files that nvcc compiles.

namespace harness::kernels {

using Index = std::int64_t;

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

inline const char* outcome() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

inline unsigned blocks_of(Index threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

}  // namespace harness::kernels

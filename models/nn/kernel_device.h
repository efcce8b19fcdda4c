#pragma once

#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include "core/error.h"
#include "models/nn/torch.h"

namespace harness {

// Where the kernels of this project's own run: a CUDA device, in builds that have them. Tests compile the
// code around the kernels once more with HARNESS_KERNEL_TWIN and plain C++ in the kernels' place, for the
// CPU.

#ifdef HARNESS_KERNEL_TWIN
inline constexpr bool kKernelsAreBuilt = true;

inline bool is_of_kernels(const torch::Tensor& x) {
  return x.is_cpu();
}

inline void* kernel_stream(const torch::Tensor& /*x*/) {
  return nullptr;
}
#else
#ifdef HARNESS_CUDA_KERNELS
inline constexpr bool kKernelsAreBuilt = true;
#else
inline constexpr bool kKernelsAreBuilt = false;  // what refers to them is then discarded
#endif

inline bool is_of_kernels(const torch::Tensor& x) {
  return x.is_cuda();
}

/// The cudaStream_t that x's work is on.
inline void* kernel_stream(const torch::Tensor& x) {
  return c10::impl::getDeviceGuardImpl(x.device().type())->getStream(x.device()).native_handle();
}
#endif

/// Throws Error where a launch failed; `place`: the file or folder of the kernel.
inline void check_launch(const char* failure, const char* place) {
  if (failure == nullptr) return;
  throw Error(fmt::format("a CUDA kernel could not be launched: {}", failure), place,
              "where the GPU is none of those that the kernels were compiled for, configure with "
              "cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=native",
              Status::kFailed);
}

}  // namespace harness

#include "models/nn/device.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/error.h"
#include "core/source_sums/build_info.h"
#include "core/text.h"
#include "models/gpu/driver.h"
#include "models/nn/gpu_ops.h"

namespace harness {

namespace {

/// Raised where this program's numbers change on GPUs alone (results/CHANGES.md).
constexpr int kGpuNumerics = 6;

/// "NVIDIA H100 80GB HBM3", as the driver names the first one: a node has one kind.
std::string gpu_name() {
  std::error_code absent;
  for (std::filesystem::directory_iterator at("/proc/driver/nvidia/gpus", absent), end; !absent && at != end;
       at.increment(absent)) {
    std::ifstream information(at->path() / "information");
    for (std::string line; std::getline(information, line);) {
      constexpr std::string_view kModel = "Model:";
      if (line.starts_with(kModel)) return std::string(trim(std::string_view(line).substr(kModel.size())));
    }
  }
  return "unknown GPU";
}

}  // namespace

std::optional<std::string> load_cuda_library() {
  Dl_info at{};  // of the LibTorch that this process runs with
  ::dladdr(reinterpret_cast<const void*>(&at::globalContext), &at);
  const auto library = std::filesystem::path(at.dli_fname).parent_path() / "libtorch_cuda.so";
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return std::nullopt;
  return ::dlerror();
}

void make_deterministic() {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);  // read when the first product is made
  auto& context = at::globalContext();
  context.setDeterministicAlgorithms(true, false);
  context.setDeterministicFillUninitializedMemory(false);  // nothing here reads what it has not written
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
  // Its gradient does not repeat. Its forward alone is taken where that is asked for (gpu_ops.cpp).
  context.setSDPUseCuDNN(false);
}

torch::Device open_device(const std::string& name) {
  if (name == "auto" || name == "cpu") return torch::kCPU;
  const torch::Device device(name);
  const auto where = "--device " + name;
  require_gpu(std::max<int>(device.index(), 0), kNeededCuda, where);
  if (const auto problem = load_cuda_library()) {
    throw Error(fmt::format("LibTorch's CUDA library cannot be loaded: {}", *problem), where,
                kCudaLibraryHint);
  }
  if (!torch::cuda::is_available()) throw Error("LibTorch can use no CUDA device", where, "check nvidia-smi");
  make_deterministic();
  return device;
}

torch::Tensor sent(const torch::Tensor& of_host, const torch::TensorOptions& options) {
  if (!options.device().is_cuda()) return of_host.to(options);
  return of_host.to(options.dtype()).pin_memory().to(options, /*non_blocking=*/true);
}

std::string device_identity(const std::string& name) {
  if (open_device(name).is_cpu()) return build_info().cpu_features;
  const auto& hooks = at::detail::getCUDAHooks();
  return fmt::format("{}, LibTorch {}, CUDA {}, cuDNN {}, numerics {}{}", gpu_name(), TORCH_VERSION,
                     hooks.versionCUDART(), hooks.versionCuDNN(), kGpuNumerics,
                     gpu::has_kernels() ? ", fused blocks" : "");
}

std::string planned_device(const std::string& name) {
  return open_device(name).is_cpu() ? "cpu" : device_identity(name);
}

}  // namespace harness

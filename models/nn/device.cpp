#include "models/nn/device.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <torch/cuda.h>

#include <cstdlib>

#include "core/error.h"

namespace harness {

namespace {

/// Same job, same bits: an operator of LibTorch that has no deterministic kernel is an error, and what has
/// several kernels takes one of those. cuDNN's attention is none of them (the flash and memory-efficient ones
/// are).
void make_deterministic() {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);  // read when the first product is made
  auto& context = at::globalContext();
  context.setDeterministicAlgorithms(true, false);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
  context.setSDPUseCuDNN(false);
}

}  // namespace

torch::Device open_device(const std::string& name) {
  if (name == "auto" || name == "cpu") return torch::kCPU;
  if (::dlopen(HARNESS_TORCH_LIB "/libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    throw Error(std::string("LibTorch's CUDA library cannot be loaded: ") + ::dlerror(), "--device " + name,
                "scripts/setup adds it on a machine with a GPU");
  }
  if (!torch::cuda::is_available())
    throw Error("no CUDA device can be used", "--device " + name, "check nvidia-smi");
  make_deterministic();
  return torch::Device(name);
}

}  // namespace harness

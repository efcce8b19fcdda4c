#include "models/nn/device.h"

#include <dlfcn.h>
#include <torch/cuda.h>

#include "core/error.h"

namespace harness {

torch::Device open_device(const std::string& name) {
  if (name == "auto" || name == "cpu") return torch::kCPU;
  if (::dlopen(HARNESS_TORCH_LIB "/libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    throw Error(std::string("LibTorch's CUDA library cannot be loaded: ") + ::dlerror(), "--device " + name,
                "scripts/setup adds it on a machine with a GPU");
  }
  if (!torch::cuda::is_available())
    throw Error("no CUDA device can be used", "--device " + name, "check nvidia-smi");
  return torch::Device(name);
}

}  // namespace harness

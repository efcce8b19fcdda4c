#include "models/gpu/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.h"

namespace harness {
namespace {

/// Functions of libcuda.so.1. CUresult and CUdevice are int.
class Driver {
 public:
  Driver() : library_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}

  bool is_there() const { return library_ != nullptr; }

  /// CUDA_SUCCESS is 0.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    constexpr int kNotFound = 500;  // CUDA_ERROR_NOT_FOUND
    auto* function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(library_, name));
    return function != nullptr ? function(arguments...) : kNotFound;
  }

  std::string text_of(int failure) const {
    const char* text = nullptr;
    call("cuGetErrorString", failure, &text);
    return fmt::format("error {}{}{}", failure, text != nullptr ? ": " : "", text != nullptr ? text : "");
  }

 private:
  void* library_;  ///< never closed: LibTorch uses it, too
};

const Driver& driver() {
  static const Driver only;
  return only;
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

void require_gpu(int index, int needed, const std::string& where) {
  if (!driver().is_there()) {
    throw Error("no NVIDIA driver is installed here (libcuda.so.1 is missing)", where,
                "install the driver of the GPU; in a container, start it with the host's GPUs (--gpus all)");
  }
  int version = 0;
  driver().call("cuDriverGetVersion", &version);
  if (version < needed) {
    throw Error(fmt::format("the NVIDIA driver is made for CUDA {}, and LibTorch needs {}",
                            version_text(version), version_text(needed)),
                where, "install a newer driver (580 or later for CUDA 13)");
  }
  constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE
  int count = 0;
  auto failure = driver().call("cuInit", 0U);
  if (failure == 0) failure = driver().call("cuDeviceGetCount", &count);
  if (failure != 0 && failure != kNoDevice) {
    throw Error(fmt::format("the NVIDIA driver cannot be used ({})", driver().text_of(failure)), where,
                "check nvidia-smi; after an update of the driver, restart the machine");
  }
  if (count == 0) {
    throw Error("the NVIDIA driver shows no GPU", where,
                "check nvidia-smi and CUDA_VISIBLE_DEVICES; under Slurm, ask for one (--gres=gpu:1)");
  }
  if (index >= count) {
    throw Error(fmt::format("GPU number out of range: {} visible, counted from 0", count), where,
                "choose another, or check CUDA_VISIBLE_DEVICES");
  }
}

int gpu_architecture(int index) {
  constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
  int device = 0, major = 0, minor = 0;
  driver().call("cuDeviceGet", &device, index);
  driver().call("cuDeviceGetAttribute", &major, kMajor, device);
  driver().call("cuDeviceGetAttribute", &minor, kMinor, device);
  return 10 * major + minor;
}

void require_bfloat16(int architecture, const std::string& where) {
  constexpr int kAmpere = 80;
  if (architecture >= kAmpere) return;
  throw Error(
      fmt::format("this GPU (architecture {}.{}) computes no bfloat16", architecture / 10, architecture % 10),
      where,
      "take a GPU of Ampere or later, or --set precision=fp16, or precision=fp32, which needs twice the memory");
}

}  // namespace harness

#pragma once

#include <string>

#include "models/nn/torch.h"

namespace harness {

/// "auto", "cpu" or "cuda:N" -> the device, with LibTorch's CUDA library loaded first where it is needed
/// (programs link the CPU part alone) and its deterministic kernels chosen. Throws Error where the library or
/// the device is not there.
torch::Device open_device(const std::string& name);

}  // namespace harness

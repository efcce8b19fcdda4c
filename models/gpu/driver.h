#pragma once

#include <string>

namespace harness {

/// Of LibTorch's CUDA library, as cuDriverGetVersion counts.
constexpr int kNeededCuda = 13000;

/// Throws Error where the machine's NVIDIA driver is not installed, answers with an error, is older than
/// CUDA `needed`, or shows no GPU of that index. Needs nothing of CUDA but the driver's own library.
void require_gpu(int index, int needed, const std::string& where);

/// Major and minor number of the GPU's architecture as one: 90 for a Hopper. After require_gpu.
int gpu_architecture(int index);

/// Throws Error for a GPU of an architecture before Ampere, which computes no bfloat16.
void require_bfloat16(int architecture, const std::string& where);

}  // namespace harness

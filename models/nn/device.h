#pragma once

#include <optional>
#include <string>

#include "models/nn/torch.h"

namespace harness {

inline constexpr const char* kCudaLibraryHint =
    "scripts/setup adds it on a machine with a GPU, HARNESS_CUDA=1 scripts/setup on any";

/// Loads what a GPU needs of LibTorch into this process, which needs no GPU; or why it cannot be loaded.
std::optional<std::string> load_cuda_library();

/// "auto", "cpu" or "cuda:N" -> the device, with LibTorch's CUDA library loaded first where it is needed
/// (programs link the CPU part alone) and its deterministic kernels chosen. Throws Error where the library or
/// the device is not there.
torch::Device open_device(const std::string& name);

/// Same job, same bits, from now on in this process: an operator of LibTorch that has no deterministic kernel
/// throws, and what has several kernels takes one of those. open_device does so for a GPU.
void make_deterministic();

/// A tensor of the host in the place and type of `options`. A GPU fetches it while the host goes on.
torch::Tensor sent(const torch::Tensor& of_host, const torch::TensorOptions& options);

/// What besides the program's sources decides the bits of a job on a device: the CPU's vector extensions; or
/// the GPU's name with the versions of LibTorch, CUDA, cuDNN and this program's numbers on GPUs, and whether
/// this build fuses the networks' blocks. Throws as open_device does.
std::string device_identity(const std::string& name);

/// The same as in a job's identity: "cpu" for every CPU.
std::string planned_device(const std::string& name);

}  // namespace harness

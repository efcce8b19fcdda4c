#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <map>
#include <string>

#include "core/safetensors.h"

namespace harness {

using TensorMap = std::map<std::string, torch::Tensor>;

/// Every tensor of a safetensors file, copied to the CPU with its stored dtype.
TensorMap load_tensors(const std::filesystem::path& path);

/// One tensor of a file, copied.
torch::Tensor to_tensor(const TensorView& view);

/// Writes contiguous CPU copies as safetensors, atomically.
void save_tensors(const std::filesystem::path& path, const TensorMap& tensors,
                  const std::map<std::string, std::string>& metadata = {});
std::string tensors_to_bytes(const TensorMap& tensors,
                             const std::map<std::string, std::string>& metadata = {});

/// Copies `tensors` into the module's parameters and buffers (converted to their dtype).
/// Throws Error listing the missing, extra and wrongly shaped keys by name; `where` is the file's name.
void load_into(torch::nn::Module& module, const TensorMap& tensors, const std::string& where);

/// Parameters and buffers under their key names; the tensors are the module's own.
TensorMap state_of(const torch::nn::Module& module);

}  // namespace harness

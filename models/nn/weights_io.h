#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "core/weights/model_weights.h"
#include "core/weights/safetensors.h"
#include "models/nn/torch.h"

namespace harness {

using TensorMap = std::map<std::string, torch::Tensor>;

/// Every tensor of a safetensors file, copied to the CPU with its stored dtype.
TensorMap load_tensors(const std::filesystem::path& path);

/// One of an ordered set of weights.
struct NamedTensor {
  std::string name;
  torch::Tensor tensor;
};

torch::Tensor read_tensor(const SafetensorsFile& file, const std::string& name);

/// Writes contiguous CPU copies as safetensors, atomically.
void save_tensors(const std::filesystem::path& path, const TensorMap& tensors,
                  const std::map<std::string, std::string>& metadata = {});
std::string tensors_to_bytes(const TensorMap& tensors,
                             const std::map<std::string, std::string>& metadata = {});

/// Where the weights of a network go.
struct Placement {
  torch::Device device = torch::kCPU;
  torch::ScalarType dtype = torch::kFloat32;  ///< of floating-point tensors
  bool read = true;  ///< false: only the names and shapes are checked, and the module stays without weights
  /// Of which parameters are float32 whatever `dtype` is; unset for none.
  std::function<bool(const std::string& name)> keeps_float32 = {};
};

/// The module's name for a checkpoint's key; empty for a tensor that is not wanted.
using KeyMap = std::function<std::string(const std::string& key)>;

/// Gives the tensors of `state` the checkpoint's values, one at a time. Throws Error listing by name the
/// missing and the extra keys and those of another shape or kind of number; `hint` ends its message.
void load_state(const TensorMap& state, const ModelWeights& weights, const Placement& placement,
                const KeyMap& key_map, const std::string& hint);

/// The same of a module's parameters and buffers, so that the whole is never in memory twice.
void load_into(torch::nn::Module& module, const ModelWeights& weights, const Placement& placement = {},
               const KeyMap& key_map = {});

/// Parameters and buffers under their key names; the tensors are the module's own.
TensorMap state_of(const torch::nn::Module& module);

}  // namespace harness

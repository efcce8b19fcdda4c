#include "models/nn/weights_io.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr std::pair<Dtype, torch::ScalarType> kTypes[] = {
    {Dtype::kBool, torch::kBool},   {Dtype::kU8, torch::kUInt8},      {Dtype::kI8, torch::kInt8},
    {Dtype::kI16, torch::kInt16},   {Dtype::kI32, torch::kInt32},     {Dtype::kI64, torch::kInt64},
    {Dtype::kF16, torch::kFloat16}, {Dtype::kBF16, torch::kBFloat16}, {Dtype::kF32, torch::kFloat32},
    {Dtype::kF64, torch::kFloat64}};

torch::ScalarType scalar_type(Dtype dtype) {
  return std::ranges::find_if(kTypes, [&](const auto& type) { return type.first == dtype; })->second;
}

Dtype dtype_of(const torch::Tensor& tensor) {
  for (const auto& [dtype, type] : kTypes) {
    if (type == tensor.scalar_type()) return dtype;
  }
  TORCH_CHECK(false, "safetensors cannot hold ", tensor.scalar_type());
}

/// "a, b, c and 5 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  const std::vector<std::string> head(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
  std::string text = join(head, ", ");
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

std::string shape_text(at::IntArrayRef shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

/// `source`: a SafetensorsFile or ModelWeights.
template <class Source>
torch::Tensor read_from(const Source& source, const std::string& name) {
  const auto& entry = source.at(name);
  auto tensor = torch::empty(entry.shape, scalar_type(entry.dtype));
  source.read(name, {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()});
  return tensor;
}

bool is_float(Dtype dtype) {
  return torch::isFloatingType(scalar_type(dtype));
}

}  // namespace

torch::Tensor read_tensor(const SafetensorsFile& file, const std::string& name) {
  return read_from(file, name);
}

TensorMap load_tensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  TensorMap tensors;
  for (const auto& [name, _] : file.tensors()) tensors.emplace(name, read_tensor(file, name));
  return tensors;
}

std::string tensors_to_bytes(const TensorMap& tensors, const std::map<std::string, std::string>& metadata) {
  TensorMap kept;
  std::map<std::string, TensorView> views;
  for (const auto& [name, tensor] : tensors) {
    const auto& held = kept[name] = tensor.detach().to(torch::kCPU).contiguous();
    views[name] = {
        dtype_of(held), held.sizes().vec(), {static_cast<const std::byte*>(held.data_ptr()), held.nbytes()}};
  }
  return safetensors_bytes(views, metadata);
}

void save_tensors(const std::filesystem::path& path, const TensorMap& tensors,
                  const std::map<std::string, std::string>& metadata) {
  write_file_atomically(path, tensors_to_bytes(tensors, metadata));
}

TensorMap state_of(const torch::nn::Module& module) {
  TensorMap state;
  for (const auto& item : module.named_parameters()) state[item.key()] = item.value();
  for (const auto& item : module.named_buffers()) state[item.key()] = item.value();
  return state;
}

void load_state(const TensorMap& state, const ModelWeights& weights, const Placement& placement,
                const KeyMap& key_map, const std::string& hint) {
  std::map<std::string, std::string> keys;  // ours -> the checkpoint's
  std::vector<std::string> missing, extra, misshapen, mistyped;
  for (const auto& [key, entry] : weights.tensors()) {
    const auto name = key_map ? key_map(key) : key;
    if (name.empty()) continue;
    const auto own = state.find(name);
    if (own == state.end()) {
      extra.push_back(in_quotes(key));
    } else if (own->second.sizes() != entry.shape) {
      misshapen.push_back(fmt::format("{} {} instead of {}", in_quotes(key), shape_text(entry.shape),
                                      shape_text(own->second.sizes())));
    } else if (own->second.is_floating_point() != is_float(entry.dtype)) {
      mistyped.push_back(fmt::format("{} {}", in_quotes(key), dtype_name(entry.dtype)));
    }
    if (!keys.emplace(name, key).second)
      throw Error(
          fmt::format("holds {} and {}, which are the same weight", in_quotes(keys[name]), in_quotes(key)),
          weights.where());
  }
  for (const auto& [name, own] : state) {
    if (!keys.contains(name)) missing.push_back(name);
  }
  std::vector<std::string> problems;
  if (!missing.empty()) problems.push_back("missing " + some_of(missing));
  if (!extra.empty()) problems.push_back("unexpected " + some_of(extra));
  if (!misshapen.empty()) problems.push_back("wrong shape: " + some_of(misshapen));
  if (!mistyped.empty()) problems.push_back("wrong dtype: " + some_of(mistyped));
  if (!problems.empty())
    throw Error("the weights do not fit the model: " + join(problems, "; "), weights.where(), hint);
  if (!placement.read) return;
  for (const auto& [name, own] : state) {
    const auto tensor = read_from(weights, keys.at(name));
    auto dtype = tensor.is_floating_point() ? placement.dtype : tensor.scalar_type();
    if (placement.keeps_float32 && placement.keeps_float32(name)) dtype = torch::kFloat32;
    torch::Tensor(own).set_data(tensor.to(placement.device, dtype));
  }
}

void load_into(torch::nn::Module& module, const ModelWeights& weights, const Placement& placement,
               const KeyMap& key_map) {
  load_state(state_of(module), weights, placement, key_map, "check config.json beside it");
}

}  // namespace harness

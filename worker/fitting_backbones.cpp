#include "worker/fitting_backbones.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "models/nn/weights_io.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;  ///< by name, its dots as underscores

constexpr std::string_view kPrefixes[] = {"base_model.model.", "transformer.", "lora_unet_"};
/// Endings of adapter keys, and the axis of the weight that the matrix spans.
constexpr std::pair<std::string_view, std::size_t> kMatrixEnds[] = {
    {".lora_A.weight", 1}, {".lora_down.weight", 1}, {".lora_B.weight", 0}, {".lora_up.weight", 0}};

std::string flat(std::string name) {
  for (const auto prefix : kPrefixes)
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  std::ranges::replace(name, '.', '_');
  return name;
}

/// Of an adapter the weights that it changes, of a whole network its tensors.
Shapes shapes_in(const std::map<std::string, TensorEntry>& tensors) {
  Shapes all, of_layers;
  for (const auto& [key, entry] : tensors) {
    all[flat(key)] = entry.shape;
    for (const auto& [end, axis] : kMatrixEnds) {
      if (entry.shape.size() != 2 || !key.ends_with(end)) continue;
      auto& shape = of_layers[flat(key.substr(0, key.size() - end.size()) + ".weight")];
      shape.resize(2);
      shape[axis] = entry.shape[axis];
    }
  }
  return of_layers.empty() ? all : of_layers;
}

Shapes shapes_of(const OutsideCheckpoint& found) {
  if (found.files.empty()) return shapes_in(SafetensorsFile(found.folder).tensors());
  constexpr const char* kStems[] = {"model", "adapter_model", "pytorch_lora_weights",
                                    "diffusion_pytorch_model"};  // by form
  return shapes_in(ModelWeights::open(found.folder, kStems[static_cast<int>(found.form)]).tensors());
}

bool fits(const Shapes& shapes, const torch::nn::Module& network) {
  Shapes own;
  for (const auto& [name, tensor] : state_of(network)) own[flat(name)] = tensor.sizes().vec();
  return std::ranges::all_of(shapes, [&](const auto& one) {
    const auto found = own.find(one.first);
    return found != own.end() && found->second == one.second;
  });
}

bool fits_embedded(const Shapes& shapes, const BackboneType& type) {
  try {
    const auto other = Backbone::load({.name = type.name, .folder = find_data_file(type.default_weights)});
    return fits(shapes, other->velocity_network());
  } catch (const Error&) {
    return false;  // its folder is missing, for instance
  }
}

/// Distinguishes SD3's networks from FLUX's by blocks and tensors that only one has, the width of the public
/// ones, and whether the text stream ends before the last block.
std::vector<std::string> public_backbones(const Shapes& shapes) {
  constexpr std::int64_t kWidthOfSd35Medium = 1536, kWidthOfFlux = 3072;
  const std::vector<std::string> sd3 = {"sd35-medium"}, flux = {"flux-dev"};
  std::string last_query, last_output;  // names of blocks: longer is later, then the alphabet
  const auto later = [](std::string& last, const std::string& block) {
    if (std::pair(block.size(), block) > std::pair(last.size(), last)) last = block;
  };
  std::optional<std::int64_t> width;
  for (const auto& [name, shape] : shapes) {
    if (name.starts_with("single_transformer_blocks_")) return flux;
    if (name.find("_attn2_") != std::string::npos || name == "pos_embed_proj_weight") return sd3;
    const auto attention = name.find("_attn_");
    if (!name.starts_with("transformer_blocks_") || attention == std::string::npos) continue;
    const auto block = name.substr(0, attention);
    if (name.ends_with("_attn_to_q_weight")) later(last_query, block);
    if (name.ends_with("_attn_to_add_out_weight")) later(last_output, block);
    if (shape.size() == 2) width = shape[1];
  }
  if (!width) return {};
  if (*width == kWidthOfSd35Medium) return sd3;
  if (*width == kWidthOfFlux) return flux;
  const bool ends_early = !last_output.empty() && last_query != last_output;
  return ends_early ? sd3 : std::vector{sd3.front(), flux.front()};
}

/// "sd35-medium or flux-dev"; empty if the checkpoint fits `backbone`, or none is known.
std::string other_backbones_of(const OutsideCheckpoint& found, const std::string& name, Backbone& backbone) {
  Shapes shapes;
  try {
    shapes = shapes_of(found);
  } catch (const Error&) {
    return {};
  }
  if (shapes.empty() || fits(shapes, backbone.velocity_network())) return {};
  std::vector<std::string> others;
  for (const auto& [other, type] : backbones()) {
    if (other != name && !type.default_weights.empty() && fits_embedded(shapes, type))
      others.push_back(other);
  }
  if (others.empty()) others = public_backbones(shapes);
  if (std::ranges::find(others, name) != others.end()) return {};
  return join(others, " or ");
}

}  // namespace

void naming_what_fits(const OutsideCheckpoint& found, const std::string& name, Backbone& backbone,
                      const std::function<void()>& read) {
  try {
    read();
  } catch (const Error&) {
    const auto others = other_backbones_of(found, name, backbone);
    if (others.empty()) throw;
    throw Error(
        fmt::format("{} fits {}, not {}",
                    found.form == OutsideForm::kTransformer ? "this network" : "this adapter", others, name),
        found.folder.string(), fmt::format("did you mean --backbone {}?", others));
  }
}

}  // namespace harness

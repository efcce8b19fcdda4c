#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/weights/outside_checkpoint.h"
#include "core/weights/safetensors.h"
#include "models/nn/lora.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr auto kPeftConfig = "adapter_config.json";
constexpr auto kPeftStem = "adapter_model";
constexpr auto kPeftPrefix = "base_model.model.";
constexpr auto kDiffusersStem = "pytorch_lora_weights";
constexpr auto kDiffusersPrefix = "transformer.";
constexpr auto kDiffusersMetadata = "lora_adapter_metadata";
constexpr auto kKohyaPrefix = "lora_unet_";
constexpr std::string_view kSuffixA = ".lora_A.weight", kAlphaSuffix = ".alpha";
constexpr std::string_view kSuffixB = ".lora_B.weight";
constexpr std::string_view kKohyaA = ".lora_down.weight", kKohyaB = ".lora_up.weight";

std::string without_prefix(const std::string& key, std::string_view prefix) {
  return key.starts_with(prefix) ? key.substr(prefix.size()) : key;
}

double read_alpha(const SafetensorsFile& file, const std::string& key, const std::string& where) {
  const auto tensor = read_tensor(file, key);
  if (tensor.numel() != 1) throw Error(fmt::format("{} is no number", in_quotes(key)), where);
  return tensor.to(torch::kFloat64).item<double>();
}

/// Of a file of diffusers' form: pipelines write "transformer." before each name, and a model's own
/// save_lora_adapter nothing.
std::string prefix_of(const SafetensorsFile& file) {
  const auto has_it = [](const auto& tensor) { return tensor.first.starts_with(kDiffusersPrefix); };
  return std::ranges::any_of(file.tensors(), has_it) ? kDiffusersPrefix : "";
}

/// The parameter that a file's key means (LAYER.lora_A.weight, LAYER.lora_B.weight, LAYER.alpha); nothing for
/// a key that is not the network's.
using Naming = std::function<std::optional<std::string>(const std::string& key)>;

Naming behind(const std::string& prefix) {
  return [prefix](const std::string& key) {
    return key.starts_with(prefix) ? std::optional(key.substr(prefix.size())) : std::nullopt;
  };
}

/// The value that most of these have, of several the one that is there first.
template <class T>
T commonest(const std::vector<T>& values) {
  const auto times = [&](const T& value) { return std::ranges::count(values, value); };
  return *std::ranges::max_element(values, {}, times);
}

/// Keys for the layers whose value is another one than most have: "^" and the whole name.
template <class T>
std::map<std::string, T> pattern_of(const std::vector<std::string>& layers, const std::vector<T>& values,
                                    const T& of_most) {
  std::map<std::string, T> pattern;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (values[i] != of_most) pattern["^" + layers[i]] = values[i];
  return pattern;
}

/// What the tensors say where a file has no metadata.
LoraConfig config_of_tensors(const SafetensorsFile& file, const Naming& naming, const std::string& where) {
  std::vector<std::string> layers;
  std::vector<std::int64_t> ranks;
  std::map<std::string, std::int64_t> ranks_of_b;
  std::map<std::string, double> alpha_of;
  const auto layer_of = [](const std::string& name, std::string_view part) {
    return name.substr(0, name.size() - part.size());
  };
  for (const auto& [key, entry] : file.tensors()) {
    const auto name = naming(key);
    if (!name) continue;
    if (name->ends_with(kAlphaSuffix)) {
      alpha_of[layer_of(*name, kAlphaSuffix)] = read_alpha(file, key, where);
    } else if (name->ends_with(kSuffixA) && !entry.shape.empty()) {
      layers.push_back(layer_of(*name, kSuffixA));
      ranks.push_back(entry.shape[0]);
    } else if (name->ends_with(kSuffixB) && entry.shape.size() > 1) {
      ranks_of_b[layer_of(*name, kSuffixB)] = entry.shape[1];
    }
  }
  if (layers.empty()) {
    throw Error(fmt::format("holds no LoRA matrix of a transformer ({}MODULE{}, or kohya's {}MODULE{})",
                            kDiffusersPrefix, kSuffixA, kKohyaPrefix, kKohyaA),
                where);
  }
  if (!alpha_of.empty() && alpha_of.size() != layers.size())
    throw Error(fmt::format("holds {} alphas for {} layers", alpha_of.size(), layers.size()), where);
  std::vector<double> alphas;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto b = ranks_of_b.find(layers[i]);
    if (b != ranks_of_b.end() && b->second != ranks[i])
      throw Error(fmt::format("layer {} has matrices of different ranks: A of {}, B of {}",
                              in_quotes(layers[i]), ranks[i], b->second),
                  where, "the file is broken: save the adapter again");
    const auto alpha = alpha_of.find(layers[i]);
    if (!alpha_of.empty() && alpha == alpha_of.end())
      throw Error(fmt::format("layer {} has no alpha, and others have", in_quotes(layers[i])), where);
    alphas.push_back(alpha_of.empty() ? static_cast<double>(ranks[i]) : alpha->second);
  }
  LoraConfig config{.rank = commonest(ranks), .alpha = commonest(alphas), .target_modules = layers};
  config.rank_pattern = pattern_of(layers, ranks, config.rank);
  config.alpha_pattern = pattern_of(layers, alphas, config.alpha);
  return config;
}

/// The configuration that diffusers puts in a file's metadata, its keys prefixed as the tensors' names are.
LoraConfig config_of_metadata(const std::string& text, const std::string& prefix, const std::string& where) {
  const auto document = parse_json(text, where);
  if (!document.is_object()) throw Error("is no object", where);
  Json own = Json::object();
  for (const auto& [key, value] : document.items()) {
    if (!key.starts_with(prefix)) {
      throw Error(fmt::format("{} is not of the transformer", in_quotes(key)), where,
                  "adapters of text encoders are not implemented");
    }
    own[without_prefix(key, prefix)] = value;
  }
  return LoraConfig::from_json(own, where);
}

/// The matrices of `adapter` from a file of any form.
void load_matrices(const LoraAdapter& adapter, const ModelWeights& weights, const Naming& naming,
                   bool with_alphas, const std::string& hint) {
  TensorMap state;
  for (const auto& [name, tensor] : adapter.parameters()) state[name] = tensor;
  const auto device = adapter.parameters().front().tensor.device();
  const auto name_of = [&](const std::string& key) {
    const auto name = naming(key);
    if (!name) return std::string("?").append(key);  // no key of ours
    if (!with_alphas || !name->ends_with(kAlphaSuffix)) return *name;
    const auto layer = name->substr(0, name->size() - kAlphaSuffix.size());
    return state.contains(fmt::format("{}{}", layer, kSuffixA)) ? std::string() : *name;
  };
  load_state(state, weights, {.device = device}, name_of, hint);
}

std::unique_ptr<LoraAdapter> new_adapter(torch::nn::Module& model, LoraConfig config,
                                         const std::string& where) {
  const WithoutParameterMemory no_memory;
  return std::make_unique<LoraAdapter>(model, std::move(config), where);
}

std::unique_ptr<LoraAdapter> load_peft(const fs::path& folder, torch::nn::Module& model) {
  const auto file = folder / kPeftConfig;
  auto config = LoraConfig::from_json(read_json(file), file.string());
  const auto has = [&](const char* ending) { return fs::exists(folder / (kPeftStem + std::string(ending))); };
  if (!has(".safetensors") && !has(".safetensors.index.json")) refuse_pickle(folder);
  const auto weights = ModelWeights::open(folder, kPeftStem);
  auto adapter = new_adapter(model, std::move(config), file.string());
  load_matrices(*adapter, weights, behind(kPeftPrefix), false,
                fmt::format("check {} beside it", kPeftConfig));
  return adapter;
}

/// Of kohya's form: "lora_unet_" and a linear layer of the network, its dots written as underscores, then the
/// part. Throws Error at any other key.
Naming kohya_naming(const torch::nn::Module& model, const std::string& where) {
  std::map<std::string, std::string> layers;
  for (const auto& item : model.named_modules("", false)) {
    if (!std::dynamic_pointer_cast<DenseImpl>(item.value())) continue;
    auto flat = item.key();
    std::ranges::replace(flat, '.', '_');
    layers[kKohyaPrefix + flat] = item.key();
  }
  return [layers, where](const std::string& key) {
    const auto dot = std::min(key.find('.'), key.size());
    const auto layer = layers.find(key.substr(0, dot));
    if (layer == layers.end()) {
      throw Error(
          fmt::format("{} is of no linear layer of this network", in_quotes(key)), where,
          "it is of another model, of a text encoder, or names fused layers: save it with the layers' "
          "names of diffusers");
    }
    const auto part = key.substr(dot);
    const auto own = part == kKohyaA ? std::string(kSuffixA) : part == kKohyaB ? std::string(kSuffixB) : part;
    return std::optional(layer->second + own);
  };
}

std::unique_ptr<LoraAdapter> load_file(const fs::path& folder, const std::string& stem,
                                       torch::nn::Module& model) {
  const auto weights = ModelWeights::open(folder, stem);
  const SafetensorsFile file(weights.where());
  const auto is_kohya = [](const auto& tensor) { return tensor.first.starts_with(kKohyaPrefix); };
  const auto prefix = prefix_of(file);
  const auto naming =
      std::ranges::any_of(file.tensors(), is_kohya) ? kohya_naming(model, weights.where()) : behind(prefix);
  const auto found = file.metadata().find(kDiffusersMetadata);
  const bool described = found != file.metadata().end();
  auto config = described
                    ? config_of_metadata(found->second, prefix, weights.where() + ": " + kDiffusersMetadata)
                    : config_of_tensors(file, naming, weights.where());
  auto adapter = new_adapter(model, std::move(config), weights.where());
  load_matrices(*adapter, weights, naming, !described, "it is of another model");
  return adapter;
}

}  // namespace

void save_lora(const fs::path& folder, const LoraConfig& config, const std::vector<NamedTensor>& weights,
               LoraForm form) {
  const bool peft = form == LoraForm::kPeft;
  TensorMap tensors;
  for (const auto& [name, tensor] : weights) tensors[(peft ? kPeftPrefix : kDiffusersPrefix) + name] = tensor;
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  make_folder(folder);
  if (peft) {
    write_file_atomically(folder / kPeftConfig, config.to_json().dump(2) + "\n");
  } else {
    const Json document = config.to_json();
    Json prefixed = Json::object();
    for (const auto& [key, value] : document.items()) prefixed[kDiffusersPrefix + key] = value;
    metadata[kDiffusersMetadata] = prefixed.dump(2);
  }
  const std::string stem = peft ? kPeftStem : kDiffusersStem;
  save_tensors(folder / (stem + ".safetensors"), tensors, metadata);
}

std::unique_ptr<LoraAdapter> load_lora(const fs::path& place, torch::nn::Module& model) {
  if (fs::is_regular_file(place)) refuse_pickle(place);
  if (fs::is_regular_file(place)) return load_file(place.parent_path(), place.stem().string(), model);
  const auto& folder = place;
  const bool peft = fs::exists(folder / kPeftConfig);
  const bool diffusers = fs::exists(folder / (kDiffusersStem + std::string(".safetensors")));
  if (peft && diffusers) {
    throw Error(fmt::format("holds two adapters, {} and {}.safetensors", kPeftConfig, kDiffusersStem),
                folder.string(), "give each a folder of its own");
  }
  if (!peft && !diffusers) {
    throw Error(fmt::format("holds no adapter: neither {} nor {}.safetensors", kPeftConfig, kDiffusersStem),
                folder.string(), "give a folder as peft or diffusers save it");
  }
  return peft ? load_peft(folder, model) : load_file(folder, kDiffusersStem, model);
}

}  // namespace harness

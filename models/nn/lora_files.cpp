#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/text.h"
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
constexpr const char* kSuffixB = ".lora_B.weight";
constexpr std::string_view kKohyaA = ".lora_down.weight", kKohyaB = ".lora_up.weight";

/// Fields of peft's LoraConfig that change nothing, or only together with another that is refused.
const std::set<std::string> kInert = {
    "auto_mapping", "base_model_name_or_path", "inference_mode", "megatron_core",
    "peft_version", "qalora_group_size",       "revision",       "task_type"};

bool is_neutral(const Json& value) {
  return value.is_null() || value == Json(false) ||
         ((value.is_structured() || value.is_string()) && value.empty());
}

[[noreturn]] void refuse(const std::string& field, const Json& value, const std::string& where,
                         const std::string& hint) {
  throw Error(fmt::format("{} = {} is not implemented", in_quotes(field), json_text(value)), where, hint);
}

void check_initial_weights(const Json& value, const std::string& where) {
  if (value.is_boolean() || value == Json("gaussian")) return;
  refuse("init_lora_weights", value, where,
         "known: true, false, \"gaussian\"; others may change the base model's weights too");
}

std::vector<std::string> read_targets(Fields& fields) {
  const auto& value = fields.get("target_modules");
  const auto is_name = [](const Json& item) { return item.is_string(); };
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_name))
    refuse("target_modules", value, fields.where(), "give a list of names of modules");
  return value.get<std::vector<std::string>>();
}

std::string without_prefix(const std::string& key, std::string_view prefix) {
  return key.starts_with(prefix) ? key.substr(prefix.size()) : key;
}

double read_alpha(const SafetensorsFile& file, const std::string& key, const std::string& where) {
  const auto tensor = read_tensor(file, key);
  if (tensor.numel() != 1) throw Error(fmt::format("{} is no number", in_quotes(key)), where);
  return tensor.to(torch::kFloat64).item<double>();
}

/// `old`, or `found` if it is the first one. Throws Error if they differ.
template <class T>
T only_value(const std::optional<T>& old, T found, const char* what, const std::string& key,
             const std::string& where) {
  if (!old || *old == found) return found;
  throw Error(fmt::format("{} has {} {} and others have {}: layers of different {} are not implemented",
                          in_quotes(key), what, found, *old, what),
              where);
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

/// What the tensors say where a file has no metadata.
LoraConfig config_of_tensors(const SafetensorsFile& file, const Naming& naming, const std::string& where) {
  std::optional<std::int64_t> rank;
  std::optional<double> alpha;
  LoraConfig config{.target_modules = {}};
  std::size_t alphas = 0;
  for (const auto& [key, entry] : file.tensors()) {
    const auto name = naming(key);
    if (!name) continue;
    if (name->ends_with(kAlphaSuffix)) {
      alpha = only_value(alpha, read_alpha(file, key, where), "alpha", key, where);
      ++alphas;
    } else if (name->ends_with(kSuffixA) && !entry.shape.empty()) {
      rank = only_value(rank, entry.shape[0], "rank", key, where);
      config.target_modules.push_back(name->substr(0, name->size() - kSuffixA.size()));
    }
  }
  if (!rank) {
    throw Error(fmt::format("holds no LoRA matrix of a transformer ({}MODULE{}, or kohya's {}MODULE{})",
                            kDiffusersPrefix, kSuffixA, kKohyaPrefix, kKohyaA),
                where);
  }
  if (alphas != 0 && alphas != config.target_modules.size())
    throw Error(fmt::format("holds {} alphas for {} layers", alphas, config.target_modules.size()), where);
  config.rank = *rank;
  config.alpha = alpha.value_or(static_cast<double>(*rank));
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
    const auto own = part == kKohyaA ? std::string(kSuffixA) : part == kKohyaB ? kSuffixB : part;
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

std::optional<LoraConfig> LoraConfig::of_folder(const fs::path& folder) {
  const auto file = folder / kPeftConfig;
  if (!fs::exists(file)) return std::nullopt;
  return from_json(read_json(file), file.string());
}

LoraConfig LoraConfig::from_json(const Json& document, const std::string& where) {
  Fields fields(document, where);
  LoraConfig config;
  const auto type = fields.optional<std::string>("peft_type", "LORA");
  if (type != "LORA") throw Error(fmt::format("is an adapter of type {}, not LORA", type), where);
  config.rank = fields.required<std::int64_t>("r");
  config.alpha = fields.required<double>("lora_alpha");
  config.target_modules = read_targets(fields);
  if (fields.optional<double>("lora_dropout", 0) != 0) {
    refuse("lora_dropout", fields.get("lora_dropout"), where,
           "set it to 0: the adapter computes the same, and training here has no dropout");
  }
  if (fields.optional<std::string>("bias", "none") != "none")
    refuse("bias", fields.get("bias"), where, "known: \"none\"");
  if (fields.has("init_lora_weights")) check_initial_weights(fields.get("init_lora_weights"), where);
  const std::set<std::string> read = {"peft_type",    "r",    "lora_alpha",       "target_modules",
                                      "lora_dropout", "bias", "init_lora_weights"};
  for (const auto& key : fields.keys()) {
    if (read.contains(key) || kInert.contains(key) || is_neutral(fields.get(key))) continue;
    refuse(key, fields.get(key), where, "plain LoRA alone is: null, false or empty");
  }
  config.check(where);
  return config;
}

Json LoraConfig::to_json() const {
  const bool whole = alpha == std::floor(alpha) && alpha < 1e9;
  return {{"peft_type", "LORA"},
          {"task_type", nullptr},
          {"base_model_name_or_path", nullptr},
          {"inference_mode", true},
          {"r", rank},
          {"lora_alpha", whole ? Json(static_cast<std::int64_t>(alpha)) : Json(alpha)},
          {"lora_dropout", 0.0},
          {"target_modules", target_modules},
          {"init_lora_weights", "gaussian"},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"use_rslora", false},
          {"use_dora", false},
          {"modules_to_save", nullptr},
          {"layers_to_transform", nullptr},
          {"layers_pattern", nullptr},
          {"rank_pattern", Json::object()},
          {"alpha_pattern", Json::object()}};
}

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

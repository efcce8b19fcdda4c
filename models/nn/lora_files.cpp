#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/weights/header_scale.h"
#include "core/weights/outside_checkpoint.h"
#include "core/weights/safetensors.h"
#include "models/nn/lora_reader.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr auto kPeftConfig = "adapter_config.json";
constexpr auto kPeftStem = "adapter_model";
constexpr auto kPeftPrefix = "base_model.model.";
constexpr auto kDiffusersStem = "pytorch_lora_weights";
constexpr auto kDiffusersPrefix = "transformer.";
constexpr auto kKohyaPrefix = "lora_unet_";
constexpr std::string_view kSuffixA = ".lora_A.weight", kAlphaSuffix = ".alpha";
constexpr std::string_view kSuffixB = ".lora_B.weight";
constexpr std::string_view kKohyaA = ".lora_down.weight", kKohyaB = ".lora_up.weight";

std::string without_prefix(const std::string& key, std::string_view prefix) {
  return key.starts_with(prefix) ? key.substr(prefix.size()) : key;
}

double read_alpha(const SafetensorsFile& file, const std::string& key, const std::string& where) {
  const auto tensor = read_tensor(file, key);
  if (tensor.numel() != 1) throw Error(fmt::format("{} is not a number", in_quotes(key)), where);
  return tensor.to(torch::kFloat64).item<double>();
}

/// Of a file of diffusers' form: pipelines write "transformer." before each name, and a model's own
/// save_lora_adapter nothing.
std::string prefix_of(const SafetensorsFile& file) {
  const auto has_it = [](const auto& tensor) { return tensor.first.starts_with(kDiffusersPrefix); };
  return std::ranges::any_of(file.tensors(), has_it) ? kDiffusersPrefix : "";
}

using Naming = decltype(LoraFiles::naming);

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

/// The configuration that the tensors imply where a file has no metadata.
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
  if (!document.is_object()) throw Error("is not an object", where);
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

/// The matrices of `state` from files of any form; others are left out where `is_part`.
void load_matrices(const TensorMap& state, const LoraFiles& files, const Placement& placement,
                   bool is_part = false) {
  const auto name_of = [&](const std::string& key) {
    const auto name = files.naming(key);
    if (!name) return std::string("?").append(key);  // no key of ours
    if (is_part && !state.contains(*name)) return std::string();
    if (!files.has_alphas || !name->ends_with(kAlphaSuffix)) return *name;
    const auto layer = name->substr(0, name->size() - kAlphaSuffix.size());
    return state.contains(fmt::format("{}{}", layer, kSuffixA)) ? std::string() : *name;
  };
  load_state(state, files.weights, placement, name_of, files.hint);
}

std::unique_ptr<LoraAdapter> new_adapter(torch::nn::Module& model, const LoraFiles& files) {
  const WithoutParameterMemory no_memory;
  return std::make_unique<LoraAdapter>(model, files.config, files.where);
}

TensorMap state_of_adapter(const LoraAdapter& adapter) {
  TensorMap state;
  for (const auto& [name, tensor] : adapter.parameters()) state[name] = tensor;
  return state;
}

/// All alphas that count.
std::vector<double> alphas_of(const LoraConfig& config) {
  std::vector<double> alphas = {config.alpha};
  for (const auto& [_, alpha] : config.alpha_pattern) alphas.push_back(alpha);
  return alphas;
}

LoraFiles open_peft(const fs::path& folder, const fs::path& weights_folder, const std::string& stem,
                    const std::string& prefix) {
  const auto file = folder / kPeftConfig;
  const auto has = [&](const char* ending) { return fs::exists(weights_folder / (stem + ending)); };
  LoraFiles files;
  files.form = "peft";
  files.config = LoraConfig::from_json(read_json(file), file.string());
  if (!has(".safetensors") && !has(".safetensors.index.json")) refuse_pickle(weights_folder);
  files.weights = ModelWeights::open(weights_folder, stem);
  files.naming = behind(prefix);
  files.where = file.string();
  files.hint = fmt::format("check {} beside it", kPeftConfig);
  if (has(".safetensors"))
    expect_header_agrees(SafetensorsFile(files.weights.where()), alphas_of(files.config),
                         files.weights.where());
  return files;
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

LoraFiles open_file(const fs::path& folder, const std::string& stem, const torch::nn::Module& model) {
  LoraFiles files;
  files.weights = ModelWeights::open(folder, stem);
  const auto& where = files.where = files.weights.where();
  files.hint = "it is of another model";
  const SafetensorsFile file(where);
  const auto is_kohya = [](const auto& tensor) { return tensor.first.starts_with(kKohyaPrefix); };
  const auto prefix = prefix_of(file);
  const bool of_kohya = std::ranges::any_of(file.tensors(), is_kohya);
  files.form = of_kohya ? "kohya" : "diffusers";
  files.naming = of_kohya ? kohya_naming(model, where) : behind(prefix);
  if (const auto found = file.metadata().find(kDiffusersMetadata); found != file.metadata().end()) {
    files.config = config_of_metadata(found->second, prefix, where + ": " + kDiffusersMetadata);
  } else {
    files.has_alphas = true;
    files.config = config_of_tensors(file, files.naming, where);
    files.has_no_alpha = std::ranges::none_of(
        file.tensors(), [](const auto& tensor) { return tensor.first.ends_with(kAlphaSuffix); });
  }
  if (const auto scale = deciding_header_scale(file, where)) {
    files.config.alpha = scale->alpha;
    files.config.alpha_pattern.clear();
    files.config.use_rslora = scale->use_rslora;
    files.header_key = scale->key;
    files.has_no_alpha = false;
  }
  expect_header_agrees(file, alphas_of(files.config), where);
  return files;
}

LoraFiles open_lora(const fs::path& place, const torch::nn::Module& model) {
  if (fs::is_regular_file(place)) refuse_pickle(place);
  if (fs::is_regular_file(place)) return open_file(place.parent_path(), place.stem().string(), model);
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
  return peft ? open_peft(folder, folder, kPeftStem, kPeftPrefix) : open_file(folder, kDiffusersStem, model);
}

}  // namespace

LoraReader::LoraReader(const fs::path& place, torch::nn::Module& model) : files_(open_lora(place, model)) {
  fit(model);
}

LoraReader::LoraReader(const fs::path& checkpoint, const std::string& stem, torch::nn::Module& model)
    : files_(open_peft(checkpoint / "adapter", checkpoint, stem, "")) {
  fit(model);
}

void LoraReader::fit(torch::nn::Module& model) {
  const auto adapter = new_adapter(model, files_);
  parameters_ = state_of_adapter(*adapter);
  load_matrices(parameters_, files_, {.read = false});
  of_network_ = adapter->summary();
  shapes_.emplace(files_.config, files_.where);
  for (const auto& [name, _] : parameters_)
    if (name.ends_with(kSuffixA)) layers_.push_back(name.substr(0, name.size() - kSuffixA.size()));
}

LowRank LoraReader::read(const std::string& layer) const {
  TensorMap part;
  for (const auto suffix : {kSuffixA, kSuffixB}) {
    const auto name = layer + std::string(suffix);
    // Another tensor of that shape: what is loaded replaces it.
    part[name] = torch::scalar_tensor(0.0F).expand(parameters_.at(name).sizes());
  }
  load_matrices(part, files_, {}, true);
  for (const auto& [name, tensor] : part) {
    if (torch::isfinite(tensor).all().item<bool>()) continue;
    throw Error(fmt::format("tensor {} holds values that are not finite", name), files_.weights.where(),
                "the checkpoint is broken: leave it out");
  }
  return {.a = part.at(layer + std::string(kSuffixA)),
          .b = part.at(layer + std::string(kSuffixB)),
          .scale = shapes_->of(layer).scale};
}

std::string LoraReader::summary() const {
  const auto alpha = files_.has_no_alpha ? std::string(", alpha not stated: taken as the rank")
                     : files_.header_key.empty()
                         ? std::string()
                         : fmt::format(", alpha by the header's {}", files_.header_key);
  return fmt::format("{} ({}{})", of_network_, files_.form, alpha);
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
  const auto files = open_lora(place, model);
  auto adapter = new_adapter(model, files);
  load_matrices(state_of_adapter(*adapter), files, {.device = adapter->parameters().front().tensor.device()});
  return adapter;
}

}  // namespace harness

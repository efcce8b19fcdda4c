#include "backbones/backbone.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

using torch::Tensor;

std::map<std::string, BackboneType>& registry() {
  static std::map<std::string, BackboneType> types;  // made on first use: registration runs before main
  return types;
}

/// The first row of [B,...] that holds NaN or an infinity.
std::optional<std::size_t> first_not_finite(const Tensor& rows) {
  const auto finite = rows.isfinite();
  if (finite.all().item<bool>()) return std::nullopt;
  std::size_t row = 0;
  while (finite[static_cast<std::int64_t>(row)].all().item<bool>()) ++row;
  return row;
}

/// Which image a row is: samples of a prompt are in order.
std::string image_name(const std::vector<PromptText>& prompts, std::size_t row) {
  if (row >= prompts.size()) return "an image";
  const auto& text = prompts[row].text;
  const auto sample = std::count_if(prompts.begin(), prompts.begin() + static_cast<std::ptrdiff_t>(row),
                                    [&](const PromptText& prompt) { return prompt.text == text; });
  return fmt::format("prompt {}, sample {}", in_quotes(text), sample);
}

/// 8-bit images of pixels [B,3,H,W] in 0..1.
std::vector<Image> to_images(const Tensor& pixels) {
  const auto bytes =
      pixels.detach().mul(255).round().to(torch::kUInt8).permute({0, 2, 3, 1}).to(torch::kCPU).contiguous();
  std::vector<Image> images;
  for (const auto& one : bytes.unbind(0)) {
    const auto* data = one.const_data_ptr<std::uint8_t>();
    images.push_back(
        {static_cast<int>(one.size(1)), static_cast<int>(one.size(0)), {data, data + one.numel()}});
  }
  return images;
}

Json describe(const BackboneType& type) {
  Json described{{"name", type.name}, {"precision", type.precision}, {"images", type.images}};
  const auto add = [&](const char* key, const auto& value) {
    if (value != std::decay_t<decltype(value)>()) described[key] = value;
  };
  add("cpu_numerics", type.cpu_numerics);
  add("default", type.is_default);
  add("pipeline", type.pipeline);
  add("default_weights", type.default_weights);
  add("files", type.files);
  add("threads", type.threads);
  add("fills_a_node", type.fills_a_node);
  add("needs_target", type.needs_target);
  add("note", type.note);
  if (type.random_weights != nullptr) described["random_weights"] = type.random_weights();
  return described;
}

}  // namespace

std::unique_ptr<Backbone> Backbone::load(const BackboneSource& source) {
  return backbone_type(source.name).load(source);
}

Tensor Backbone::decode_pixels(const Tensor& latents, const std::vector<PromptText>& prompts) {
  const torch::NoGradGuard no_grad;
  return decode_with_gradient(latents, prompts);
}

Tensor Backbone::decode_with_gradient(const Tensor& latents, const std::vector<PromptText>& prompts) {
  if (const auto row = first_not_finite(latents)) {
    throw Error("what was drawn is not finite", fmt::format("the latents of {}", image_name(prompts, *row)),
                "check the weights, and for a trained checkpoint the learning rate", Status::kFailed);
  }
  const BusyTime::Piece piece(busy_time_);
  const auto values = decoded(latents);
  if (const auto row = first_not_finite(values)) {  // rounded to bytes they would look like a black image
    throw Error("gave pixels that are not finite",
                fmt::format("the image decoder (vae), {}", image_name(prompts, *row)),
                "check the weights in vae/, and for a trained checkpoint the learning rate", Status::kFailed);
  }
  return (values / 2 + 0.5).clamp(0, 1);
}

Tensor Backbone::velocity(const Tensor& latents, double sigma, const TextCondition& condition,
                          double guidance) {
  return velocity(latents, torch::full({latents.size(0)}, sigma, torch::kFloat64), condition, guidance);
}

Tensor Backbone::velocity(const Tensor& latents, const Tensor& sigmas, const TextCondition& condition,
                          double guidance) {
  TORCH_CHECK(sigmas.dim() == 1 && sigmas.size(0) == latents.size(0), "a time for each latent");
  (torch::GradMode::is_enabled() ? backward_ : forward_) += latents.size(0) * evaluations_of(guidance);
  const BusyTime::Piece piece(busy_time_);
  return velocity_of(latents, sigmas, condition, guidance);
}

std::vector<Image> Backbone::decode(const Tensor& latents, const std::vector<PromptText>& prompts) {
  return to_images(decode_pixels(latents, prompts));
}

std::vector<NamedTensor> Backbone::trainable() {
  if (adapter_) return adapter_->parameters();
  std::vector<NamedTensor> weights;
  for (const auto& item : velocity_network().named_parameters())
    weights.push_back({item.key(), item.value()});
  return weights;
}

LoraAdapter& Backbone::add_adapter(const LoraConfig& config, std::uint64_t seed, const std::string& where) {
  adapter_.reset();
  auto& adapter = take(std::make_unique<LoraAdapter>(velocity_network(), config, where));
  adapter.initialise(seed);
  return adapter;
}

LoraAdapter& Backbone::load_adapter(const std::filesystem::path& place) {
  adapter_.reset();
  return take(load_lora(place, velocity_network()));
}

LoraAdapter& Backbone::take(std::unique_ptr<LoraAdapter> adapter) {
  adapter_ = std::move(adapter);
  if (adapter_products_) adapter_->compute_in(*adapter_products_);
  return *adapter_;
}

bool register_backbone(BackboneType type) {
  const std::string name = type.name;
  const bool added = registry().emplace(name, std::move(type)).second;
  TORCH_CHECK(added, "two backbones are named ", name);
  return added;
}

const std::map<std::string, BackboneType>& backbones() {
  return registry();
}

const BackboneType& backbone_type(const std::string& name) {
  if (const auto found = backbones().find(name); found != backbones().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, type] : backbones()) names.push_back(known);
  throw Error(fmt::format("unknown backbone \"{}\"", name), "backbone", suggestion(name, names));
}

Json describe_backbones() {
  Json list = Json::array();
  for (const auto& [name, type] : backbones()) list.push_back(describe(type));
  return list;
}

ModelChoices read_model_choices(const std::string& backbone, const Json& settings, const std::string& where) {
  ModelChoices choices;
  const auto& rows = backbone_type(backbone).choices;
  if (rows.empty()) return choices;
  Json own = Json::object();
  for (const auto& [setting, read] : rows) {
    if (settings.contains(setting.name)) own[setting.name] = settings.at(setting.name);
  }
  Settings s(settings_of(rows), own, where);
  read_rows(rows, s, choices);
  choices.lora.check(where);
  s.finish();
  return choices;
}

Json without_model_choices(Json settings, const std::string& backbone) {
  for (const auto& [setting, read] : backbone_type(backbone).choices) settings.erase(setting.name);
  return settings;
}

std::vector<Setting> backbone_settings() {
  std::vector<Setting> all;
  for (const auto& [backbone, type] : backbones()) {
    for (auto setting : settings_of(type.choices)) {
      const auto same = std::ranges::find_if(all, [&](const Setting& other) {
        setting.backbones = other.backbones;
        return setting == other;
      });
      if (same != all.end()) {
        same->backbones.push_back(backbone);
      } else {
        setting.backbones = {backbone};
        all.push_back(std::move(setting));
      }
    }
  }
  return all;
}

Json estimate_resources(const BackboneSource& source, const Workload& workload) {
  const auto& type = backbone_type(source.name);
  return type.resources == nullptr ? Json::object() : type.resources(source, workload);
}

}  // namespace harness

#include "models/configs/clip_config.h"

#include <fmt/format.h>

#include "models/configs/config_fields.h"

namespace harness {
namespace {

constexpr ConfigInteger<ClipTowerConfig> kTower[] = {
    {"hidden_size", &ClipTowerConfig::hidden_size},
    {"intermediate_size", &ClipTowerConfig::intermediate_size},
    {"num_hidden_layers", &ClipTowerConfig::num_hidden_layers},
    {"num_attention_heads", &ClipTowerConfig::num_attention_heads}};
constexpr ConfigInteger<ClipTextConfig> kText[] = {
    {"vocab_size", &ClipTextConfig::vocab_size},
    {"max_position_embeddings", &ClipTextConfig::max_position_embeddings},
    {"projection_dim", &ClipTextConfig::projection_dim}};
constexpr ConfigInteger<ClipVisionConfig> kVision[] = {{"image_size", &ClipVisionConfig::image_size},
                                                       {"patch_size", &ClipVisionConfig::patch_size}};
constexpr auto kTextType = "clip_text_model", kVisionType = "clip_vision_model";

/// What both towers have in common, and no flag that would make the tower another model.
void read_tower(ConfigFields& fields, const char* model_type, ClipTowerConfig& c) {
  fields.only("model_type", {model_type});
  for (const char* flag : {"add_cross_attention", "is_decoder", "is_encoder_decoder"})
    fields.only(flag, {false});
  fields.only("pruned_heads", {Json::object(), Json::array(), nullptr});
  fields.integers_of(c, kTower);
  const auto act = fields.only("hidden_act", {"quick_gelu", "gelu"});
  c.hidden_act = act == "gelu" ? ClipActivation::kGelu : ClipActivation::kQuickGelu;
  c.layer_norm_eps = fields.positive_number("layer_norm_eps", c.layer_norm_eps);
  if (c.hidden_size % c.num_attention_heads != 0) {
    fields.fail("hidden_size", fmt::format("is {}, not a multiple of \"num_attention_heads\" {}",
                                           c.hidden_size, c.num_attention_heads));
  }
}

Json tower_json(const ClipTowerConfig& c, const char* model_type) {
  return with_integers_of(c, kTower,
                          {{"model_type", model_type},
                           {"hidden_act", c.hidden_act == ClipActivation::kGelu ? "gelu" : "quick_gelu"},
                           {"layer_norm_eps", c.layer_norm_eps}});
}

/// A tower's flags; its defaults where the file has none.
template <class Config>
Config tower_config(ConfigFields& fields, const std::string& key) {
  const auto older = key + "_dict";
  fields.ignore(key + " " + older);
  for (const auto& name : {older, key}) {
    if (fields.has(name) && !fields.get(name).is_null())
      return Config::from_json(fields.get(name), fields.where() + ": " + name);
  }
  return {};
}

}  // namespace

ClipTextConfig ClipTextConfig::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where);
  ClipTextConfig c;
  read_tower(fields, kTextType, c);
  fields.integers_of(c, kText);
  c.eos_token_id = fields.optional("eos_token_id", c.eos_token_id);
  const auto with_projection = Json::array({"CLIPTextModelWithProjection"});
  // A text_config inside a CLIPModel names no class.
  c.with_projection = fields.only("architectures", {Json::array({"CLIPTextModel"}), with_projection,
                                                    Json::array(), nullptr}) == with_projection;
  fields.finish();
  return c;
}

Json ClipTextConfig::to_json() const {
  auto document = with_integers_of(*this, kText, tower_json(*this, kTextType));
  document["eos_token_id"] = eos_token_id;
  return document;
}

ClipVisionConfig ClipVisionConfig::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where);
  ClipVisionConfig c;
  read_tower(fields, kVisionType, c);
  fields.integers_of(c, kVision);
  fields.only("num_channels", {3});
  fields.ignore("projection_dim");  // of a class that CLIPModel does not use
  fields.finish();
  if (c.patch_size > c.image_size)
    fields.fail("patch_size",
                fmt::format("is {}, larger than \"image_size\" {}", c.patch_size, c.image_size));
  return c;
}

Json ClipVisionConfig::to_json() const {
  auto document = with_integers_of(*this, kVision, tower_json(*this, kVisionType));
  document["num_channels"] = 3;
  return document;
}

ClipConfig ClipConfig::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where);
  fields.only("model_type", {"clip"});
  fields.only("architectures", {Json::array({"CLIPModel"}), nullptr});
  ClipConfig c;
  c.text = tower_config<ClipTextConfig>(fields, "text_config");
  c.vision = tower_config<ClipVisionConfig>(fields, "vision_config");
  c.projection_dim = fields.integer("projection_dim", kModelSize, c.projection_dim);
  c.logit_scale_init = fields.optional("logit_scale_init_value", c.logit_scale_init);
  fields.finish();
  return c;
}

Json ClipConfig::to_json() const {
  return {{"architectures", {"CLIPModel"}},   {"model_type", "clip"},
          {"projection_dim", projection_dim}, {"logit_scale_init_value", logit_scale_init},
          {"text_config", text.to_json()},    {"vision_config", vision.to_json()}};
}

}  // namespace harness

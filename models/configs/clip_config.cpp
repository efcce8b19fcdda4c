#include "models/configs/clip_config.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "core/text.h"
#include "models/configs/clip_tower_fields.h"

namespace harness {
namespace {

/// A tower's flags; its defaults where the file has none.
template <class Config>
Config tower_config(Fields& fields, const std::string& key) {
  const Json none = Json::object();
  const auto present = [&fields](const std::string& name) {
    fields.mark(name);
    return fields.has(name) && !fields.get(name).is_null();
  };
  const auto newer = present(key), older = present(key + "_dict");
  const auto name = older ? key + "_dict" : key;
  return Config::from_json(newer || older ? fields.get(name) : none, fields.where() + ": " + name);
}

void expect_clip_model(Fields& fields) {
  const auto type = fields.optional<std::string>("model_type", "clip");
  if (type != "clip") throw Error(fmt::format("is a {}, not a clip model", in_quotes(type)), fields.where());
  if (!fields.has("architectures")) return;
  const auto& names = fields.get("architectures");
  if (names.is_null() || names == Json::array({"CLIPModel"})) return;
  throw Error(fmt::format("architectures {} is not known", json_text(names)), fields.where(),
              "known: [\"CLIPModel\"]");
}

}  // namespace

ClipVisionConfig ClipVisionConfig::from_json(const Json& document, const std::string& where) {
  Fields fields(document, where);
  expect_clip_tower(fields, "clip_vision_model");
  ClipVisionConfig c;
  c.hidden_size = clip_size(fields, "hidden_size", c.hidden_size);
  c.intermediate_size = clip_size(fields, "intermediate_size", c.intermediate_size);
  c.num_hidden_layers = clip_size(fields, "num_hidden_layers", c.num_hidden_layers);
  c.num_attention_heads = clip_size(fields, "num_attention_heads", c.num_attention_heads);
  c.image_size = clip_size(fields, "image_size", c.image_size);
  c.patch_size = clip_size(fields, "patch_size", c.patch_size);
  c.hidden_act = clip_activation(fields);
  c.layer_norm_eps = clip_norm_eps(fields, c.layer_norm_eps);
  fields.mark("projection_dim");
  fields.mark("architectures");
  if (const auto channels = clip_size(fields, "num_channels", 3); channels != 3)
    throw Error(fmt::format("num_channels {} is not implemented", channels), where, "known: 3");
  ignore_irrelevant_flags(fields);
  fields.finish();
  expect_whole_heads(c.hidden_size, c.num_attention_heads, where);
  if (c.patch_size > c.image_size) {
    throw Error(fmt::format("patch_size {} is larger than image_size {}", c.patch_size, c.image_size), where);
  }
  return c;
}

Json ClipVisionConfig::to_json() const {
  return {{"model_type", "clip_vision_model"},
          {"hidden_size", hidden_size},
          {"intermediate_size", intermediate_size},
          {"num_hidden_layers", num_hidden_layers},
          {"num_attention_heads", num_attention_heads},
          {"num_channels", 3},
          {"image_size", image_size},
          {"patch_size", patch_size},
          {"hidden_act", clip_activation_name(hidden_act)},
          {"layer_norm_eps", layer_norm_eps}};
}

ClipEncoderConfig ClipVisionConfig::encoder() const {
  return {.width = hidden_size,
          .intermediate = intermediate_size,
          .heads = num_attention_heads,
          .layers = num_hidden_layers,
          .activation = hidden_act,
          .norm_eps = layer_norm_eps};
}

ClipConfig ClipConfig::from_json(const Json& document, const std::string& where) {
  Fields fields(document, where);
  expect_clip_model(fields);
  ClipConfig c;
  c.text = tower_config<ClipTextConfig>(fields, "text_config");
  c.vision = tower_config<ClipVisionConfig>(fields, "vision_config");
  c.projection_dim = clip_size(fields, "projection_dim", c.projection_dim);
  c.logit_scale_init = fields.optional<double>("logit_scale_init_value", c.logit_scale_init);
  ignore_irrelevant_flags(fields);
  fields.finish();
  return c;
}

Json ClipConfig::to_json() const {
  return {{"architectures", {"CLIPModel"}},   {"model_type", "clip"},
          {"projection_dim", projection_dim}, {"logit_scale_init_value", logit_scale_init},
          {"text_config", text.to_json()},    {"vision_config", vision.to_json()}};
}

}  // namespace harness

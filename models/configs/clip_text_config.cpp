#include "models/configs/clip_text_config.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_text.h"
#include "models/configs/clip_tower_fields.h"

namespace harness {
namespace {

/// Whether `architectures` names the class with a projection. A text_config inside a CLIPModel names none.
bool names_projection(Fields& fields) {
  if (!fields.has("architectures")) return false;
  const auto& names = fields.get("architectures");
  if (names.is_null() || names == Json::array() || names == Json::array({"CLIPTextModel"})) return false;
  if (names == Json::array({"CLIPTextModelWithProjection"})) return true;
  throw Error(fmt::format("architectures {} is not known", json_text(names)), fields.where(),
              "known: [\"CLIPTextModel\"], [\"CLIPTextModelWithProjection\"]");
}

}  // namespace

ClipTextConfig ClipTextConfig::from_json(const Json& document, const std::string& where) {
  Fields fields(document, where);
  expect_clip_tower(fields, "clip_text_model");
  ClipTextConfig c;
  const auto positive = [&](const char* key, std::int64_t fallback) {
    return clip_size(fields, key, fallback);
  };
  c.vocab_size = positive("vocab_size", c.vocab_size);
  c.hidden_size = positive("hidden_size", c.hidden_size);
  c.intermediate_size = positive("intermediate_size", c.intermediate_size);
  c.num_hidden_layers = positive("num_hidden_layers", c.num_hidden_layers);
  c.num_attention_heads = positive("num_attention_heads", c.num_attention_heads);
  c.max_position_embeddings = positive("max_position_embeddings", c.max_position_embeddings);
  c.projection_dim = positive("projection_dim", c.projection_dim);
  c.eos_token_id = fields.optional<std::int64_t>("eos_token_id", c.eos_token_id);
  c.hidden_act = clip_activation(fields);
  c.layer_norm_eps = clip_norm_eps(fields, c.layer_norm_eps);
  c.with_projection = names_projection(fields);
  ignore_irrelevant_flags(fields);
  fields.finish();
  expect_whole_heads(c.hidden_size, c.num_attention_heads, where);
  return c;
}

Json ClipTextConfig::to_json() const {
  return {{"model_type", "clip_text_model"},
          {"vocab_size", vocab_size},
          {"hidden_size", hidden_size},
          {"intermediate_size", intermediate_size},
          {"num_hidden_layers", num_hidden_layers},
          {"num_attention_heads", num_attention_heads},
          {"max_position_embeddings", max_position_embeddings},
          {"projection_dim", projection_dim},
          {"eos_token_id", eos_token_id},
          {"hidden_act", clip_activation_name(hidden_act)},
          {"layer_norm_eps", layer_norm_eps}};
}

ClipEncoderConfig ClipTextConfig::encoder() const {
  return {.width = hidden_size,
          .intermediate = intermediate_size,
          .heads = num_attention_heads,
          .layers = num_hidden_layers,
          .activation = hidden_act,
          .norm_eps = layer_norm_eps};
}

}  // namespace harness

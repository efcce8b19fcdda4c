#include "models/configs/sd3_config.h"

#include <fmt/format.h>

#include <set>

#include "models/configs/config_fields.h"

namespace harness {
namespace {

// Far above anything published, far below what overflows.
constexpr Range kLayers{1, 1 << 10}, kHeads{1, 1 << 9}, kHeadSize{1, 1 << 10}, kWidth{1, 1 << 19};
constexpr Range kChannels{1, 1 << 12}, kPatch{1, 1 << 8}, kPositions{1, 1 << 14}, kLatents{1, 1 << 16};

void check_dual_layers(const Sd3Config& c, const ConfigFields& fields) {
  std::set<std::int64_t> seen;
  for (const auto layer : c.dual_attention_layers) {
    if (layer >= c.num_layers) {
      fields.refuse("dual_attention_layers",
                    fmt::format("names layer {}, and there are {}", layer, c.num_layers));
    }
    if (!seen.insert(layer).second)
      fields.refuse("dual_attention_layers", fmt::format("names layer {} twice", layer));
  }
}

void check_together(const Sd3Config& c, const ConfigFields& fields) {
  if (c.caption_projection_dim != c.width()) {
    fields.refuse("caption_projection_dim",
                  fmt::format("is {}, and {} heads of {} are {} wide", c.caption_projection_dim,
                              c.num_attention_heads, c.attention_head_dim, c.width()));
  }
  if (c.width() % 4 != 0) {
    fields.refuse("attention_head_dim",
                  fmt::format("gives a width of {}, which is not a multiple of 4", c.width()));
  }
  if (c.sample_size % c.patch_size != 0) {
    fields.refuse("sample_size",
                  fmt::format("is {}, which patches of {} do not divide", c.sample_size, c.patch_size));
  }
  if (c.sample_size / c.patch_size > c.pos_embed_max_size) {
    fields.refuse("pos_embed_max_size", fmt::format("is {}, and a sample has {} patches a side",
                                                    c.pos_embed_max_size, c.sample_size / c.patch_size));
  }
  check_dual_layers(c, fields);
}

}  // namespace

Sd3Config Sd3Config::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where, "SD3Transformer2DModel");
  Sd3Config c;
  c.sample_size = fields.integer("sample_size", kLatents, c.sample_size);
  c.patch_size = fields.integer("patch_size", kPatch, c.patch_size);
  c.in_channels = fields.integer("in_channels", kChannels, c.in_channels);
  const bool out_as_in = fields.is_null("out_channels");
  c.out_channels = out_as_in ? c.in_channels : fields.integer("out_channels", kChannels, c.out_channels);
  c.num_layers = fields.integer("num_layers", kLayers, c.num_layers);
  c.attention_head_dim = fields.integer("attention_head_dim", kHeadSize, c.attention_head_dim);
  c.num_attention_heads = fields.integer("num_attention_heads", kHeads, c.num_attention_heads);
  c.joint_attention_dim = fields.integer("joint_attention_dim", kWidth, c.joint_attention_dim);
  c.caption_projection_dim = fields.integer("caption_projection_dim", kWidth, c.caption_projection_dim);
  c.pooled_projection_dim = fields.integer("pooled_projection_dim", kWidth, c.pooled_projection_dim);
  c.pos_embed_max_size = fields.integer("pos_embed_max_size", kPositions, c.pos_embed_max_size);
  if (fields.has("dual_attention_layers")) {
    c.dual_attention_layers = fields.integers("dual_attention_layers", {0, kLayers.high}, {0, kLayers.high});
  }
  c.qk_norm = fields.is_only("qk_norm", "rms_norm");
  fields.finish();
  check_together(c, fields);
  return c;
}

Json Sd3Config::to_json() const {
  return {{"_class_name", "SD3Transformer2DModel"},
          {"sample_size", sample_size},
          {"patch_size", patch_size},
          {"in_channels", in_channels},
          {"out_channels", out_channels},
          {"num_layers", num_layers},
          {"attention_head_dim", attention_head_dim},
          {"num_attention_heads", num_attention_heads},
          {"joint_attention_dim", joint_attention_dim},
          {"caption_projection_dim", caption_projection_dim},
          {"pooled_projection_dim", pooled_projection_dim},
          {"pos_embed_max_size", pos_embed_max_size},
          {"dual_attention_layers", dual_attention_layers},
          {"qk_norm", qk_norm ? Json("rms_norm") : Json(nullptr)}};
}

}  // namespace harness

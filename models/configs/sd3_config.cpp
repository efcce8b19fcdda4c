#include "models/configs/sd3_config.h"

#include <fmt/format.h>

#include <set>

#include "models/configs/config_fields.h"

namespace harness {
namespace {

// Far above anything published, far below what overflows.
constexpr Range kLayers{1, 1 << 10}, kHeads{1, 1 << 9}, kHeadSize{1, 1 << 10}, kWidth{1, 1 << 19};
constexpr Range kChannels{1, 1 << 12}, kPatch{1, 1 << 8}, kPositions{1, 1 << 14}, kLatents{1, 1 << 16};

constexpr auto kClass = "SD3Transformer2DModel";
constexpr ConfigInteger<Sd3Config> kIntegers[] = {
    {"sample_size", &Sd3Config::sample_size, kLatents},
    {"patch_size", &Sd3Config::patch_size, kPatch},
    {"in_channels", &Sd3Config::in_channels, kChannels},
    {"num_layers", &Sd3Config::num_layers, kLayers},
    {"attention_head_dim", &Sd3Config::attention_head_dim, kHeadSize},
    {"num_attention_heads", &Sd3Config::num_attention_heads, kHeads},
    {"joint_attention_dim", &Sd3Config::joint_attention_dim, kWidth},
    {"caption_projection_dim", &Sd3Config::caption_projection_dim, kWidth},
    {"pooled_projection_dim", &Sd3Config::pooled_projection_dim, kWidth},
    {"pos_embed_max_size", &Sd3Config::pos_embed_max_size, kPositions}};

void check_dual_layers(const Sd3Config& c, const ConfigFields& fields) {
  std::set<std::int64_t> seen;
  for (const auto layer : c.dual_attention_layers) {
    if (layer >= c.num_layers) {
      fields.fail("dual_attention_layers",
                  fmt::format("names layer {}, and there are {}", layer, c.num_layers));
    }
    if (!seen.insert(layer).second)
      fields.fail("dual_attention_layers", fmt::format("names layer {} twice", layer));
  }
}

void check_together(const Sd3Config& c, const ConfigFields& fields) {
  if (c.caption_projection_dim != c.width()) {
    fields.fail("caption_projection_dim",
                fmt::format("is {}, and {} heads of {} are {} wide", c.caption_projection_dim,
                            c.num_attention_heads, c.attention_head_dim, c.width()));
  }
  if (c.width() % 4 != 0) {
    fields.fail("attention_head_dim",
                fmt::format("gives a width of {}, which is not a multiple of 4", c.width()));
  }
  if (c.sample_size % c.patch_size != 0) {
    fields.fail("sample_size",
                fmt::format("is {}, which patches of {} do not divide", c.sample_size, c.patch_size));
  }
  if (c.sample_size / c.patch_size > c.pos_embed_max_size) {
    fields.fail("pos_embed_max_size", fmt::format("is {}, and a sample has {} patches a side",
                                                  c.pos_embed_max_size, c.sample_size / c.patch_size));
  }
  check_dual_layers(c, fields);
}

}  // namespace

Sd3Config Sd3Config::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where, kClass);
  Sd3Config c;
  fields.integers_of(c, kIntegers);
  const bool out_as_in = fields.has("out_channels") && fields.get("out_channels").is_null();
  c.out_channels = out_as_in ? c.in_channels : fields.integer("out_channels", kChannels, c.out_channels);
  fields.mark("dual_attention_layers");
  if (fields.has("dual_attention_layers"))
    c.dual_attention_layers = fields.integers("dual_attention_layers", {0, kLayers.high}, {0, kLayers.high});
  c.qk_norm = fields.only("qk_norm", {"rms_norm", nullptr}) == "rms_norm";
  fields.finish();
  check_together(c, fields);
  return c;
}

Json Sd3Config::to_json() const {
  return with_integers_of(*this, kIntegers,
                          {{"_class_name", kClass},
                           {"out_channels", out_channels},
                           {"dual_attention_layers", dual_attention_layers},
                           {"qk_norm", qk_norm ? Json("rms_norm") : Json(nullptr)}});
}

}  // namespace harness

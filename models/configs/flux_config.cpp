#include "models/configs/flux_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "models/configs/config_fields.h"

namespace harness {
namespace {

// Far above anything published, far below what overflows.
constexpr Range kLayers{1, 1 << 10}, kHeads{1, 1 << 9}, kHeadSize{2, 1 << 10}, kWidth{1, 1 << 19};
constexpr std::int64_t kAxes = 3;  // of a position: index of the picture, row, column

constexpr auto kClass = "FluxTransformer2DModel";
constexpr ConfigInteger<FluxConfig> kIntegers[] = {
    {"in_channels", &FluxConfig::in_channels, {4, 1 << 14}},
    {"num_layers", &FluxConfig::num_layers, kLayers},
    {"num_single_layers", &FluxConfig::num_single_layers, kLayers},
    {"attention_head_dim", &FluxConfig::attention_head_dim, kHeadSize},
    {"num_attention_heads", &FluxConfig::num_attention_heads, kHeads},
    {"joint_attention_dim", &FluxConfig::joint_attention_dim, kWidth},
    {"pooled_projection_dim", &FluxConfig::pooled_projection_dim, kWidth}};

void check_together(const FluxConfig& c, const ConfigFields& fields) {
  const auto& axes = c.axes_dims_rope;
  if (std::ranges::any_of(axes, [](std::int64_t size) { return size % 2 != 0; })) {
    fields.fail("axes_dims_rope",
                fmt::format("is [{}]; each must be even, since pairs are turned", fmt::join(axes, ", ")));
  }
  const auto sum = std::accumulate(axes.begin(), axes.end(), std::int64_t{0});
  if (sum != c.attention_head_dim) {
    fields.fail("axes_dims_rope",
                fmt::format("sums to {}, and attention_head_dim is {}", sum, c.attention_head_dim));
  }
}

}  // namespace

FluxConfig FluxConfig::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where, kClass);
  FluxConfig c;
  fields.integers_of(c, kIntegers);
  fields.only("patch_size", {1});
  fields.only("out_channels", {nullptr, c.in_channels});
  c.guidance_embeds = fields.only("guidance_embeds", {false, true}) == true;
  fields.mark("axes_dims_rope");
  if (fields.has("axes_dims_rope"))
    c.axes_dims_rope = fields.integers("axes_dims_rope", {kAxes, kAxes}, {2, kHeadSize.high});
  fields.finish();
  check_together(c, fields);
  return c;
}

Json FluxConfig::to_json() const {
  return with_integers_of(*this, kIntegers,
                          {{"_class_name", kClass},
                           {"patch_size", 1},
                           {"out_channels", nullptr},
                           {"guidance_embeds", guidance_embeds},
                           {"axes_dims_rope", axes_dims_rope}});
}

}  // namespace harness

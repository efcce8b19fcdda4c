#include "models/configs/autoencoder_config.h"

#include <fmt/format.h>

#include "core/text.h"
#include "models/configs/config_fields.h"

namespace harness {
namespace {

constexpr auto kDownBlock = "DownEncoderBlock2D", kUpBlock = "UpDecoderBlock2D";
// Far above anything published, far below what overflows.
constexpr Range kChannels{1, 1 << 16}, kBlocks{1, 8}, kLayers{1, 1 << 6}, kPixels{1, 1 << 16};

void check_block_types(ConfigFields& fields, const std::string& key, const std::string& known,
                       std::size_t count) {
  const auto types = fields.texts(key);
  for (const auto& type : types) {
    if (type != known)
      fields.refuse(key, fmt::format("holds {}, which is not implemented", in_quotes(type)),
                    "known: " + known);
  }
  if (types.size() != count) {
    fields.refuse(key, fmt::format("has {} entries, and \"block_out_channels\" has {}", types.size(), count));
  }
}

void check_groups(const AutoencoderConfig& c, const ConfigFields& fields) {
  for (const auto channels : c.block_out_channels) {
    if (channels % c.norm_num_groups != 0) {
      fields.refuse("norm_num_groups",
                    fmt::format("is {}, which does not divide {} channels of \"block_out_channels\"",
                                c.norm_num_groups, channels));
    }
  }
}

}  // namespace

AutoencoderConfig AutoencoderConfig::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where, "AutoencoderKL");
  AutoencoderConfig c;
  c.in_channels = fields.integer("in_channels", kChannels, 3);
  c.out_channels = fields.integer("out_channels", kChannels, 3);
  c.block_out_channels = fields.integers("block_out_channels", kBlocks, kChannels);
  c.layers_per_block = fields.integer("layers_per_block", kLayers);
  c.latent_channels = fields.integer("latent_channels", kChannels);
  c.norm_num_groups = fields.integer("norm_num_groups", kChannels, 32);
  c.sample_size = fields.integer("sample_size", kPixels, 32);
  c.scaling_factor = fields.positive_number("scaling_factor");
  c.shift_factor = fields.number("shift_factor", 0);
  c.use_quant_conv = fields.flag("use_quant_conv", true);
  c.use_post_quant_conv = fields.flag("use_post_quant_conv", true);
  c.mid_block_add_attention = fields.flag("mid_block_add_attention", true);
  c.force_upcast = fields.flag("force_upcast", true);
  fields.is_only("act_fn", "silu");
  fields.absent("latents_mean");
  fields.absent("latents_std");
  check_block_types(fields, "down_block_types", kDownBlock, c.block_out_channels.size());
  check_block_types(fields, "up_block_types", kUpBlock, c.block_out_channels.size());
  fields.finish();
  check_groups(c, fields);
  return c;
}

Json AutoencoderConfig::to_json() const {
  return {{"_class_name", "AutoencoderKL"},
          {"in_channels", in_channels},
          {"out_channels", out_channels},
          {"block_out_channels", block_out_channels},
          {"down_block_types", std::vector<std::string>(block_out_channels.size(), kDownBlock)},
          {"up_block_types", std::vector<std::string>(block_out_channels.size(), kUpBlock)},
          {"layers_per_block", layers_per_block},
          {"latent_channels", latent_channels},
          {"norm_num_groups", norm_num_groups},
          {"act_fn", "silu"},
          {"sample_size", sample_size},
          {"scaling_factor", scaling_factor},
          {"shift_factor", shift_factor},
          {"use_quant_conv", use_quant_conv},
          {"use_post_quant_conv", use_post_quant_conv},
          {"mid_block_add_attention", mid_block_add_attention},
          {"force_upcast", force_upcast}};
}

}  // namespace harness

#include "models/configs/autoencoder_config.h"

#include <fmt/format.h>

#include "core/text.h"
#include "models/configs/config_fields.h"

namespace harness {
namespace {

constexpr auto kClass = "AutoencoderKL";
constexpr auto kDownBlock = "DownEncoderBlock2D", kUpBlock = "UpDecoderBlock2D";
// Far above anything published, far below what overflows.
constexpr Range kChannels{1, 1 << 16}, kBlocks{1, 8}, kLayers{1, 1 << 6}, kPixels{1, 1 << 16};

constexpr ConfigInteger<AutoencoderConfig> kIntegers[] = {
    {"in_channels", &AutoencoderConfig::in_channels, kChannels},
    {"out_channels", &AutoencoderConfig::out_channels, kChannels},
    {"layers_per_block", &AutoencoderConfig::layers_per_block, kLayers},
    {"latent_channels", &AutoencoderConfig::latent_channels, kChannels},
    {"norm_num_groups", &AutoencoderConfig::norm_num_groups, kChannels},
    {"sample_size", &AutoencoderConfig::sample_size, kPixels}};

void check_block_types(ConfigFields& fields, const std::string& key, const std::string& known,
                       std::size_t count) {
  const auto types = fields.required<std::vector<std::string>>(key);
  for (const auto& type : types) {
    if (type != known)
      fields.fail(key, fmt::format("holds {}, which is not implemented", in_quotes(type)), "known: " + known);
  }
  if (types.size() != count) {
    fields.fail(key, fmt::format("has {} entries, and \"block_out_channels\" has {}", types.size(), count));
  }
}

void check_groups(const AutoencoderConfig& c, const ConfigFields& fields) {
  for (const auto channels : c.block_out_channels) {
    if (channels % c.norm_num_groups != 0) {
      fields.fail("norm_num_groups",
                  fmt::format("is {}, which does not divide {} channels of \"block_out_channels\"",
                              c.norm_num_groups, channels));
    }
  }
}

}  // namespace

AutoencoderConfig AutoencoderConfig::from_json(const Json& document, const std::string& where) {
  ConfigFields fields(document, where, kClass);
  AutoencoderConfig c;
  c.sample_size = 32;  // diffusers' default
  for (const char* key : {"layers_per_block", "latent_channels"}) fields.get(key);
  fields.integers_of(c, kIntegers);
  c.block_out_channels = fields.integers("block_out_channels", kBlocks, kChannels);
  c.scaling_factor = fields.positive_number("scaling_factor");
  c.shift_factor = fields.optional_or_null("shift_factor", 0.0);
  c.use_quant_conv = fields.optional("use_quant_conv", true);
  c.use_post_quant_conv = fields.optional("use_post_quant_conv", true);
  c.mid_block_add_attention = fields.optional("mid_block_add_attention", true);
  c.force_upcast = fields.optional("force_upcast", true);
  fields.only("act_fn", {"silu", nullptr});
  for (const char* key : {"latents_mean", "latents_std"}) fields.only(key, {nullptr});
  check_block_types(fields, "down_block_types", kDownBlock, c.block_out_channels.size());
  check_block_types(fields, "up_block_types", kUpBlock, c.block_out_channels.size());
  fields.finish();
  check_groups(c, fields);
  return c;
}

Json AutoencoderConfig::to_json() const {
  return with_integers_of(
      *this, kIntegers,
      {{"_class_name", kClass},
       {"block_out_channels", block_out_channels},
       {"down_block_types", std::vector<std::string>(block_out_channels.size(), kDownBlock)},
       {"up_block_types", std::vector<std::string>(block_out_channels.size(), kUpBlock)},
       {"act_fn", "silu"},
       {"scaling_factor", scaling_factor},
       {"shift_factor", shift_factor},
       {"use_quant_conv", use_quant_conv},
       {"use_post_quant_conv", use_post_quant_conv},
       {"mid_block_add_attention", mid_block_add_attention},
       {"force_upcast", force_upcast}});
}

}  // namespace harness

#include <fmt/format.h>

#include "backbones/component_checks.h"
#include "backbones/sd3_backbone.h"
#include "core/error.h"
#include "core/text.h"
#include "embedded/glyph_text_encoder.h"
#include "models/loading.h"

// The embedded model: SD3's classes in a small size, with a byte table as text side (embedded/).

namespace harness {
namespace {

constexpr auto kPipeline = "GlyphPipeline";

TableInputs glyph_inputs(const std::vector<PromptText>& prompts) {
  std::vector<std::int64_t> tokens, styles;
  for (const auto& prompt : prompts) {
    const auto ids = glyph_tokens(glyph_layout(prompt.target));
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    styles.push_back(glyph_style(prompt.text));
  }
  return table_inputs(tokens, styles);
}

/// ", without 漢 字 and the last 4 characters"; empty where accents alone were taken off.
std::string loss_text(const std::string& target) {
  const auto loss = glyph_loss(target);
  std::vector<std::string> parts;
  if (!loss.dropped.empty()) parts.push_back(join(loss.dropped, " "));
  if (loss.cut > 0) parts.push_back(fmt::format("the last {} characters", loss.cut));
  return parts.empty() ? std::string() : ", without " + join(parts, " and ");
}

class GlyphBackbone : public Sd3Backbone {
 public:
  using Sd3Backbone::Sd3Backbone;

  std::optional<Fallback> fallback(const PromptText& prompt) const override {
    const auto layout = glyph_layout(prompt.target);
    if (layout.fits) return std::nullopt;
    return Fallback{
        .limit = fmt::format("the glyph backbone's {} lines of {} printable ASCII characters", kGlyphLines,
                             kGlyphColumns),
        .rule = "embedded/glyph_layout.h",
        .drawn = fmt::format("\"{}\"{}", squeeze_white_space(layout.cells), loss_text(prompt.target))};
  }
};

void check_components(const Sd3Config& transformer, const AutoencoderConfig& vae,
                      const GlyphTextEncoder& encoder, const LatentShape& latent,
                      const std::filesystem::path& folder) {
  check_channels(transformer.in_channels, transformer.out_channels, vae, folder);
  check_equal("joint_attention_dim of the transformer", transformer.joint_attention_dim,
              "width of the text encoder", encoder->width(), folder);
  check_equal("pooled_projection_dim of the transformer", transformer.pooled_projection_dim,
              "pooled_width of the text encoder", encoder->pooled_width(), folder);
  const auto fail = [&](const std::string& problem) {
    throw Error("components do not fit each other: " + problem, folder.string(), "fetch the folder again");
  };
  if (latent.rows * vae.reduction() != kGlyphHeight || latent.columns * vae.reduction() != kGlyphWidth) {
    fail(fmt::format("the VAE cannot cut an image of {} x {} by {}", kGlyphWidth, kGlyphHeight,
                     vae.reduction()));
  }
  for (const auto side : {latent.rows, latent.columns}) {
    if (side % transformer.patch_size == 0 && side / transformer.patch_size <= transformer.pos_embed_max_size)
      continue;
    fail(fmt::format("the transformer cannot cut a latent of {} x {} into patches of {}", latent.rows,
                     latent.columns, transformer.patch_size));
  }
}

std::unique_ptr<Backbone> load(const BackboneSource& source) {
  const auto& folder = source.folder;
  check_index(folder, kPipeline, source.name,
              {{"transformer", "SD3Transformer2DModel"},
               {"vae", "AutoencoderKL"},
               {"text_encoder", "GlyphTextEncoder"}});
  auto vae = load_autoencoder(folder / "vae");
  const auto reduction = vae->config().reduction();
  const LatentShape latent{vae->config().latent_channels, kGlyphHeight / reduction, kGlyphWidth / reduction};
  auto transformer = load_sd3_transformer(folder / "transformer");
  auto encoder = load_glyph_text_encoder(folder / "text_encoder");
  check_components(transformer->config(), vae->config(), encoder, latent, folder);
  return std::make_unique<GlyphBackbone>(
      std::move(transformer), std::move(vae),
      std::make_shared<TablePromptEncoder>(std::move(encoder), glyph_inputs, source.device), latent,
      source.device);
}

const bool kRegistered = register_backbone(
    {.name = "glyph",
     .is_default = true,
     .pipeline = kPipeline,
     .default_weights = "backbones/glyph",
     .files = {"model_index.json", "text_encoder/config.json", "text_encoder/model.safetensors",
               "transformer/config.json", "transformer/diffusion_pytorch_model.safetensors",
               "vae/config.json", "vae/diffusion_pytorch_model.safetensors"},
     .needs_target = true,
     .images = kGlyphImages,
     .note = "These are the embedded glyph backbone's numbers, not SD3.5's",
     .load = load});

}  // namespace
}  // namespace harness

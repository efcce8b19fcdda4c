#include <fmt/format.h>

#include "backbones/component_checks.h"
#include "backbones/glyph_parts.h"
#include "backbones/sd3_backbone.h"
#include "core/error.h"
#include "models/loading.h"

// The embedded model: SD3's classes in a small size, with a byte table as text side (embedded/).

namespace harness {
namespace {

constexpr auto kPipeline = "GlyphPipeline";

class GlyphBackbone : public Sd3Backbone {
 public:
  using Sd3Backbone::Sd3Backbone;

  std::optional<Fallback> fallback(const PromptText& prompt) const override {
    return glyph_fallback("glyph", prompt);
  }
};

void check_components(const Sd3Config& transformer, const AutoencoderConfig& vae,
                      const GlyphTextEncoder& encoder, const LatentShape& latent,
                      const std::filesystem::path& folder) {
  check_channels(transformer.in_channels, transformer.out_channels, vae, folder);
  check_glyph_text(transformer.joint_attention_dim, transformer.pooled_projection_dim, encoder, folder);
  for (const auto side : {latent.rows, latent.columns}) {
    if (side % transformer.patch_size == 0 && side / transformer.patch_size <= transformer.pos_embed_max_size)
      continue;
    throw Error(
        fmt::format("components do not fit each other: the transformer cannot cut a latent of {} x {} "
                    "into patches of {}",
                    latent.rows, latent.columns, transformer.patch_size),
        folder.string(), "fetch the folder again");
  }
}

std::unique_ptr<Backbone> load(const BackboneSource& source) {
  const auto& folder = source.folder;
  check_index(folder, kPipeline, source.name,
              {{"transformer", "SD3Transformer2DModel"},
               {"vae", "AutoencoderKL"},
               {"text_encoder", "GlyphTextEncoder"}});
  auto vae = load_autoencoder(folder / "vae");
  const auto latent = glyph_latent(vae->config(), folder);
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
     .has_usual_sampler = false,
     .needs_target = true,
     .images = kGlyphImages,
     .note = "These are the embedded glyph backbone's numbers, not SD3.5's",
     .load = load});

}  // namespace
}  // namespace harness

#include "backbones/component_checks.h"
#include "backbones/flux_backbone.h"
#include "backbones/glyph_parts.h"
#include "models/loading.h"

// The embedded model of FLUX's classes: rotary positions, packed latents and embedded guidance in a small
// size, with glyph's byte table as text side (embedded/).

namespace harness {
namespace {

constexpr auto kPipeline = "GlyphFluxPipeline";

class GlyphFluxBackbone : public FluxBackbone {
 public:
  using FluxBackbone::FluxBackbone;

  std::optional<Fallback> fallback(const PromptText& prompt) const override {
    return glyph_fallback("glyph-flux", prompt);
  }
};

std::unique_ptr<Backbone> load(const BackboneSource& source) {
  const auto& folder = source.folder;
  check_index(folder, kPipeline, source.name,
              {{"transformer", "FluxTransformer2DModel"},
               {"vae", "AutoencoderKL"},
               {"text_encoder", "GlyphTextEncoder"}});
  auto vae = load_autoencoder(folder / "vae");
  const auto latent = glyph_latent(vae->config(), folder);
  auto transformer = load_flux_transformer(folder / "transformer");
  auto encoder = load_glyph_text_encoder(folder / "text_encoder");
  constexpr int kSteps = 10;
  const auto& config = transformer->config();
  check_packing(config.in_channels, vae->config(), folder);
  check_glyph_text(config.joint_attention_dim, config.pooled_projection_dim, encoder, folder);
  return std::make_unique<GlyphFluxBackbone>(
      std::move(transformer), std::move(vae),
      std::make_shared<TablePromptEncoder>(std::move(encoder), glyph_inputs, source.device), latent,
      source.device, read_scheduler_config(folder / "scheduler/scheduler_config.json"), kSteps);
}

const bool kRegistered =
    register_backbone({.name = "glyph-flux",
                       .pipeline = kPipeline,
                       .default_weights = "backbones/glyph-flux",
                       .files = {"model_index.json", "scheduler/scheduler_config.json",
                                 "text_encoder/config.json", "text_encoder/model.safetensors",
                                 "transformer/config.json", "transformer/diffusion_pytorch_model.safetensors",
                                 "vae/config.json", "vae/diffusion_pytorch_model.safetensors"},
                       .needs_target = true,
                       .images = kGlyphImages,
                       .note = "These are the embedded glyph-flux backbone's numbers, not FLUX.1-dev's",
                       .load = load});

}  // namespace
}  // namespace harness

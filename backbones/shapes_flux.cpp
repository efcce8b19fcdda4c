#include <fmt/format.h>

#include "backbones/component_checks.h"
#include "backbones/flux_backbone.h"
#include "backbones/glyph_parts.h"
#include "core/error.h"
#include "core/text.h"
#include "embedded/pictures/shapes_scene.h"
#include "embedded/pictures/shapes_words.h"
#include "models/loading.h"

// The embedded model of FLUX's classes that draws coloured shapes, with a table of words as text side
// (embedded/).

namespace harness {
namespace {

constexpr auto kPipeline = "ShapesFluxPipeline";

TableInputs shapes_inputs(const std::vector<PromptText>& prompts) {
  std::vector<std::int64_t> tokens, styles;
  for (const auto& prompt : prompts) {
    const auto text = shapes_text(prompt.text);
    tokens.insert(tokens.end(), text.ids.begin(), text.ids.end());
    styles.push_back(text.style);
  }
  return table_inputs(tokens, styles);
}

class ShapesFluxBackbone : public FluxBackbone {
 public:
  using FluxBackbone::FluxBackbone;

  std::optional<Fallback> fallback(const PromptText& prompt) const override {
    const auto text = shapes_text(prompt.text);
    std::vector<std::string> lost;
    if (!text.unknown.empty()) lost.push_back(join(text.unknown, " "));
    if (text.cut > 0) lost.push_back(fmt::format("the last {} words", text.cut));
    if (lost.empty()) return std::nullopt;
    return Fallback{.limit = fmt::format("the shapes-flux backbone's {} words, {} at a time",
                                         shapes_vocabulary_words().size(), kShapesPlaces),
                    .rule = "embedded/pictures/shapes_words.h",
                    .drawn = fmt::format("\"{}\", without {}", join(text.kept, " "), join(lost, " and "))};
  }
};

/// Throws Error for a table of other sizes than the vocabulary's.
void check_words(const GlyphTextEncoder& table, const std::filesystem::path& folder) {
  const auto words = static_cast<std::int64_t>(shapes_vocabulary_words().size());
  check_equal("words of the vocabulary and none", words + 1, "tokens of the text encoder", table->tokens(),
              folder);
  check_equal("words of a prompt", static_cast<std::int64_t>(kShapesPlaces), "places of the text encoder",
              table->places(), folder);
  check_equal("styles of prompts", kShapesStyles, "styles of the text encoder", table->styles(), folder);
}

std::unique_ptr<Backbone> load(const BackboneSource& source) {
  const auto& folder = source.folder;
  check_index(folder, kPipeline, source.name,
              {{"transformer", "FluxTransformer2DModel"},
               {"vae", "AutoencoderKL"},
               {"text_encoder", "GlyphTextEncoder"}});
  auto vae = load_autoencoder(folder / "vae");
  const auto latent = embedded_latent(vae->config(), kShapesSide, kShapesSide, folder);
  auto transformer = load_flux_transformer(folder / "transformer");
  auto encoder = load_glyph_text_encoder(folder / "text_encoder");
  constexpr int kSteps = 10;
  const auto& config = transformer->config();
  check_packing(config.in_channels, vae->config(), folder);
  check_glyph_text(config.joint_attention_dim, config.pooled_projection_dim, encoder, folder);
  check_words(encoder, folder);
  return std::make_unique<ShapesFluxBackbone>(
      std::move(transformer), std::move(vae),
      std::make_shared<TablePromptEncoder>(std::move(encoder), shapes_inputs, source.device), latent,
      source.device, read_scheduler_config(folder / "scheduler/scheduler_config.json"), kSteps);
}

const bool kRegistered =
    register_backbone({.name = "shapes-flux",
                       .pipeline = kPipeline,
                       .default_weights = "backbones/shapes-flux",
                       .files = {"model_index.json", "scheduler/scheduler_config.json",
                                 "text_encoder/config.json", "text_encoder/model.safetensors",
                                 "transformer/config.json", "transformer/diffusion_pytorch_model.safetensors",
                                 "vae/config.json", "vae/diffusion_pytorch_model.safetensors"},
                       .images = kShapeImages,
                       .note = "These are the embedded shapes-flux backbone's numbers, not FLUX.1-dev's",
                       .load = load});

}  // namespace
}  // namespace harness

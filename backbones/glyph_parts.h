#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "backbones/backbone.h"
#include "embedded/glyph_text_encoder.h"
#include "models/configs/autoencoder_config.h"

namespace harness {

// What the embedded models have in common.

/// What the text table is given for prompts.
TableInputs glyph_inputs(const std::vector<PromptText>& prompts);

/// What is drawn of a text that does not fit the grid.
std::optional<Fallback> glyph_fallback(const std::string& backbone, const PromptText& prompt);

/// Throws Error for an autoencoder that does not divide an image of so many pixels.
LatentShape embedded_latent(const AutoencoderConfig& vae, std::int64_t width, std::int64_t height,
                            const std::filesystem::path& folder);
LatentShape glyph_latent(const AutoencoderConfig& vae, const std::filesystem::path& folder);

/// Throws Error where the text table is not as wide as the transformer asks.
void check_glyph_text(std::int64_t joint, std::int64_t pooled, const GlyphTextEncoder& encoder,
                      const std::filesystem::path& folder);

}  // namespace harness

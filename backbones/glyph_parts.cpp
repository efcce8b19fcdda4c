#include "backbones/glyph_parts.h"

#include <fmt/format.h>

#include "backbones/component_checks.h"
#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

/// ", without 漢 字 and the last 4 characters"; empty where accents alone were taken off.
std::string loss_text(const std::string& target) {
  const auto loss = glyph_loss(target);
  std::vector<std::string> parts;
  if (!loss.dropped.empty()) parts.push_back(join(loss.dropped, " "));
  if (loss.cut > 0) parts.push_back(fmt::format("the last {} characters", loss.cut));
  return parts.empty() ? std::string() : ", without " + join(parts, " and ");
}

}  // namespace

TableInputs glyph_inputs(const std::vector<PromptText>& prompts) {
  std::vector<std::int64_t> tokens, styles;
  for (const auto& prompt : prompts) {
    const auto ids = glyph_tokens(glyph_layout(prompt.words));
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    styles.push_back(glyph_style(prompt.text));
  }
  return table_inputs(tokens, styles);
}

std::optional<Fallback> glyph_fallback(const std::string& backbone, const PromptText& prompt) {
  const auto layout = glyph_layout(prompt.words);
  if (layout.fits) return std::nullopt;
  return Fallback{
      .limit = fmt::format("the {} backbone's {} lines of {} printable ASCII characters", backbone,
                           kGlyphLines, kGlyphColumns),
      .rule = "embedded/glyph_layout.h",
      .drawn = fmt::format("\"{}\"{}", squeeze_white_space(layout.cells), loss_text(prompt.words))};
}

LatentShape embedded_latent(const AutoencoderConfig& vae, std::int64_t width, std::int64_t height,
                            const std::filesystem::path& folder) {
  const auto reduction = vae.reduction();
  const LatentShape latent{vae.latent_channels, height / reduction, width / reduction};
  if (latent.rows * reduction != height || latent.columns * reduction != width) {
    throw Error(fmt::format("components do not fit each other: the VAE cannot cut an image of {} x {} by {}",
                            width, height, reduction),
                folder.string(), "fetch the folder again");
  }
  return latent;
}

LatentShape glyph_latent(const AutoencoderConfig& vae, const std::filesystem::path& folder) {
  return embedded_latent(vae, kGlyphWidth, kGlyphHeight, folder);
}

void check_glyph_text(std::int64_t joint, std::int64_t pooled, const GlyphTextEncoder& encoder,
                      const std::filesystem::path& folder) {
  check_equal("joint_attention_dim of the transformer", joint, "width of the text encoder", encoder->width(),
              folder);
  check_equal("pooled_projection_dim of the transformer", pooled, "pooled_width of the text encoder",
              encoder->pooled_width(), folder);
}

}  // namespace harness

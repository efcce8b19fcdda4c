#include "embedded/glyph_renderer.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/error.h"
#include "core/image.h"

namespace harness {
namespace {

constexpr int kCharacters = 95;

using Rgb = std::array<float, 3>;

Rgb from_hsv(float h, float s, float v) {
  const float sector = h * 6;
  const int i = static_cast<int>(std::floor(sector)) % 6;
  const float f = sector - std::floor(sector);
  const float p = v * (1 - s), q = v * (1 - s * f), t = v * (1 - s * (1 - f));
  const Rgb table[6] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  return table[i];
}

struct Palette {
  Rgb ink, top, bottom;
};

/// Even styles: dark ink on a light background; odd ones: light ink on a dark background.
Palette palette_of(int style) {
  const float h = static_cast<float>(style) / kGlyphStyles;
  const float other = std::fmod(h + 0.4F, 1.0F);
  if (style % 2 == 0) return {from_hsv(h, .8F, .30F), from_hsv(other, .18F, 1), from_hsv(other, .30F, .94F)};
  return {from_hsv(h, .25F, 1), from_hsv(other, .75F, .18F), from_hsv(other, .7F, .36F)};
}

}  // namespace

GlyphRenderer::GlyphRenderer(const std::filesystem::path& atlas) {
  const Image image = read_png(atlas);
  if (image.width != kCharacters * kGlyphCellWidth || image.height == 0 ||
      image.height % kGlyphCellHeight != 0) {
    throw Error(fmt::format("is {} x {} pixels, not {} x a multiple of {}", image.width, image.height,
                            kCharacters * kGlyphCellWidth, kGlyphCellHeight),
                atlas.string());
  }
  fonts_ = image.height / kGlyphCellHeight;
  coverage_.reserve(static_cast<std::size_t>(fonts_) * kCharacters * kGlyphCellHeight * kGlyphCellWidth);
  for (int font = 0; font < fonts_; ++font) {
    for (int c = 0; c < kCharacters; ++c) {
      for (int y = 0; y < kGlyphCellHeight; ++y) {
        for (int x = 0; x < kGlyphCellWidth; ++x) {
          const auto pixel =
              static_cast<std::size_t>((font * kGlyphCellHeight + y) * image.width + c * kGlyphCellWidth + x);
          coverage_.push_back(static_cast<float>(image.rgb[pixel * 3]) / 255);
        }
      }
    }
  }
}

void GlyphRenderer::draw(const GlyphLayout& layout, const GlyphLook& look, std::span<float> image) const {
  const Palette palette = palette_of(look.style);
  for (int y = 0; y < kGlyphHeight; ++y) {
    const float down = static_cast<float>(y) / (kGlyphHeight - 1);
    for (int x = 0; x < kGlyphWidth; ++x) {
      const char c =
          layout.cells[static_cast<std::size_t>(y / kGlyphCellHeight * kGlyphColumns + x / kGlyphCellWidth)];
      const auto cell = static_cast<std::size_t>((look.font * kCharacters + (c - ' ')) * kGlyphCellHeight +
                                                 y % kGlyphCellHeight);
      const float a =
          look.strength * coverage_[cell * kGlyphCellWidth + static_cast<std::size_t>(x % kGlyphCellWidth)];
      for (std::size_t channel = 0; channel < 3; ++channel) {
        const float background =
            palette.top[channel] + (palette.bottom[channel] - palette.top[channel]) * down;
        const float value = background * (1 - a) + palette.ink[channel] * a;
        image[channel * kGlyphHeight * kGlyphWidth + static_cast<std::size_t>(y * kGlyphWidth + x)] =
            value * 2 - 1;
      }
    }
  }
}

}  // namespace harness

#include <gtest/gtest.h>

#include <cmath>

#include "core/files.h"
#include "embedded/glyph_renderer.h"
#include "evaluators/clip/clip_scorer.h"

namespace harness {
namespace {

/// The scorer that is shipped, on images that the renderer draws.
class GlyphClip : public testing::Test {
 protected:
  static double score(const std::string& prompt, const std::string& drawn, int style, float strength = 1) {
    static ClipScorer scorer(*info().embedded_folder(), info(), info().profiles.front(), torch::kCPU);
    return *scorer.submit(prompt, draw(drawn, style, strength)).get().metrics.at("glyph_clip");
  }

 private:
  static const ClipScorerInfo& info() { return *find_clip_scorer("glyph-clip"); }

  static Image draw(const std::string& text, int style, float strength) {
    static const GlyphRenderer renderer(find_data_file("backbones/glyph/atlas.png"));
    constexpr int kWidth = kGlyphColumns * kGlyphCellWidth, kHeight = kGlyphLines * kGlyphCellHeight;
    std::vector<float> planes(3 * kWidth * kHeight);
    renderer.draw(glyph_layout(text), {.font = 1, .style = style - 1, .strength = strength}, planes);
    Image image{.width = kWidth, .height = kHeight, .rgb = std::vector<std::uint8_t>(planes.size())};
    for (std::size_t i = 0; i < planes.size(); ++i) {
      const auto plane = i / (kWidth * kHeight), pixel = i % (kWidth * kHeight);
      image.rgb[3 * pixel + plane] = static_cast<std::uint8_t>(std::lround(127.5F * (planes[i] + 1)));
    }
    return image;
  }
};

const std::string kPrompt = "a kiosk with the words \"Fresh Bread 7\" above its window";

TEST_F(GlyphClip, RatesTheRightTextHighAndAnotherNearNought) {
  const auto style = glyph_style(kPrompt);
  EXPECT_GT(score(kPrompt, "Fresh Bread 7", style), 0.85);
  EXPECT_LT(std::abs(score(kPrompt, "Closed Monday", style)), 0.4);
}

TEST_F(GlyphClip, FallsWithAWrongLetterAFadedInkAndAnotherPalette) {
  const auto style = glyph_style(kPrompt);
  const double right = score(kPrompt, "Fresh Bread 7", style);
  EXPECT_LT(score(kPrompt, "Fresk Bread 7", style), right - 0.01);
  EXPECT_LT(score(kPrompt, "Fresh Bread 7", style, 0.3F), right - 0.3);
  EXPECT_LT(score(kPrompt, "Fresh Bread 7", style % kGlyphStyles + 1), right - 0.01);
}

}  // namespace
}  // namespace harness

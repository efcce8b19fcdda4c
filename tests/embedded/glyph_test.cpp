#include <gtest/gtest.h>

#include <set>

#include "core/files.h"
#include "embedded/glyph_layout.h"
#include "embedded/glyph_renderer.h"

namespace harness {
namespace {

TEST(GlyphLayout, ThreeWordsAreCentredOnThreeLines) {
  const auto layout = glyph_layout("Spring Collection 2024");
  EXPECT_EQ(layout.cells, "   Spring    Collection     2024    ");
  EXPECT_TRUE(layout.fits);
}

TEST(GlyphLayout, OneLineStandsInTheMiddleRow) {
  EXPECT_EQ(glyph_layout("OPEN").cells, "                OPEN                ");
}

TEST(GlyphLayout, LinesAreBalancedWithoutAddingOne) {
  // Greedy at 12 gives "Burn After" / "Reading Now"; a narrower width would need three lines.
  EXPECT_EQ(glyph_layout("Burn After Reading Now").cells.substr(0, 24), " Burn After Reading Now ");
}

TEST(GlyphLayout, ATextThatDoesNotFitIsDrawnByTheFallbackAndSaysSo) {
  const auto accents = glyph_layout("Café");
  EXPECT_NE(accents.cells.find("Cafe"), std::string::npos);
  EXPECT_FALSE(accents.fits);
  const auto broken = glyph_layout("Supercalifragilistic");
  EXPECT_NE(broken.cells.find("Supercalifra"), std::string::npos);
  EXPECT_FALSE(broken.fits);
  const auto cut = glyph_layout("one two three four five six seven eight nine ten eleven");
  EXPECT_EQ(cut.cells, "one two three four five six seven ei");
  EXPECT_FALSE(cut.fits);
  EXPECT_EQ(glyph_layout("\u4f60\u597d").cells, std::string(36, ' '));
}

TEST(GlyphLayout, StyleDependsOnThePromptWithoutItsQuotedPart) {
  EXPECT_EQ(glyph_style("a sign reading \"A\" at night"),
            glyph_style("a sign reading \"Something else\" at night"));
  std::set<int> seen;
  for (int i = 0; i < 200; ++i) seen.insert(glyph_style("scene " + std::to_string(i) + " \"A\""));
  EXPECT_EQ(seen.size(), 16U);
  EXPECT_EQ(*seen.begin(), 1);
  EXPECT_EQ(*seen.rbegin(), 16);
}

TEST(GlyphRenderer, StrengthZeroLeavesTheBackground) {
  const GlyphRenderer renderer(find_data_file("backbones/glyph/atlas.png"));
  std::vector<float> blank(3 * 48 * 96), faint(blank.size()), clean(blank.size());
  renderer.draw(glyph_layout(" "), {.font = 0, .style = 3}, blank);
  renderer.draw(glyph_layout("Text"), {.font = 0, .style = 3, .strength = 0}, faint);
  renderer.draw(glyph_layout("Text"), {.font = 0, .style = 3}, clean);
  EXPECT_EQ(blank, faint);
  EXPECT_NE(blank, clean);
}

}  // namespace
}  // namespace harness

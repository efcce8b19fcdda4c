#include "embedded/glyph_tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "embedded/glyph_layout.h"

namespace harness {
namespace {

TEST(GlyphTokenizer, ReadsTheStyleTheCellsOfTheQuotedTextAndAnEnd) {
  const std::string prompt = "a shop sign that says \"OPEN\", at night";
  const auto ids = GlyphTokenizer().encode(prompt, GlyphTokenizer::kLength);
  ASSERT_EQ(ids.size(), 38u);
  EXPECT_EQ(ids.front(), glyph_style(prompt));
  EXPECT_EQ(ids.back(), GlyphTokenizer::kEnd);
  const std::vector<std::int64_t> word(ids.begin() + 1 + 16,
                                       ids.begin() + 1 + 20);  // the middle line's middle
  EXPECT_EQ(word, (std::vector<std::int64_t>{'O' + 3, 'P' + 3, 'E' + 3, 'N' + 3}));
}

TEST(GlyphTokenizer, OtherWordsCountByTheirStyleAlone) {
  const GlyphTokenizer tokenizer;
  auto one = tokenizer.encode("red \"OPEN\"", 38), other = tokenizer.encode("blue \"OPEN\"", 38);
  EXPECT_NE(one.front(), other.front());
  one.front() = other.front();
  EXPECT_EQ(one, other);
}

TEST(GlyphLoss, NamesWhatIsDroppedAndNotWhereAccentsAloneAreTakenOff) {
  const auto loss = glyph_loss("\u00c4\u00d6\u00dc\u6f22\u5b57\u6f22");
  EXPECT_EQ(loss.dropped, (std::vector<std::string>{"\u6f22", "\u5b57"}));
  EXPECT_EQ(loss.cut, 0u);
  EXPECT_TRUE(glyph_loss("OPEN").dropped.empty());
  EXPECT_TRUE(glyph_loss("cafe\u0301").dropped.empty()) << "the accent by itself";
  EXPECT_EQ(glyph_loss(std::string(40, 'x')).cut, 4u);
}

TEST(GlyphLayout, EveryTargetOfTheShippedPromptsFits) {
  for (const char* name : {"ocr-generated", "ocr-train-generated"}) {
    const std::filesystem::path folder = HARNESS_SOURCE_DIR "/datasets/prompts";
    for (const auto& line : split(read_file(folder / (std::string(name) + ".txt")), '\n')) {
      const auto quote = line.find('"');
      ASSERT_NE(quote, std::string::npos) << line;
      const auto target = line.substr(quote + 1, line.find('"', quote + 1) - quote - 1);
      EXPECT_TRUE(glyph_layout(target).fits) << line;
    }
  }
}

TEST(GlyphLayout, PromptsOnDarkGroundsHaveTheFourHardStylesAlone) {
  // Of the 16 palettes those of dark ground and hue from blue over violet to red: 11, 13, 15 and 1 of 0
  // to 15.
  const std::set<int> hard = {2, 12, 14, 16};
  for (const char* name : {"ocr-dark-generated", "ocr-dark-train-generated"}) {
    const std::filesystem::path folder = HARNESS_SOURCE_DIR "/datasets/prompts";
    std::set<int> styles;
    for (const auto& line : split(read_file(folder / (std::string(name) + ".txt")), '\n'))
      styles.insert(glyph_style(line));
    EXPECT_EQ(styles, hard) << name;
  }
}

TEST(GlyphTokenizer, NeedsAQuotedTextAndItsOwnLength) {
  const GlyphTokenizer tokenizer;
  EXPECT_THROW(tokenizer.encode("a cat", 38), Error);
  EXPECT_THROW(tokenizer.encode("\"OPEN\"", 77), Error);
}

}  // namespace
}  // namespace harness

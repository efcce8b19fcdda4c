#pragma once

#include "embedded/glyph_layout.h"
#include "models/tokenizers/text_tokenizer.h"

namespace harness {

/// What the scorer's text tower reads: a prompt's style, the 36 cells of its quoted text, an end token.
class GlyphTokenizer : public TextTokenizer {
 public:
  static constexpr const char* kClass = "GlyphTokenizer";  ///< tokenizer_class of tokenizer_config.json
  static constexpr std::int64_t kEnd = kGlyphVocabulary - 1;
  static constexpr std::int64_t kLength = kGlyphCells + 2;

  /// Ids of a layout in a style of 1..16.
  static std::vector<std::int64_t> ids(const GlyphLayout& layout, int style);

  /// Always 38 ids. Throws Error for another length, and for a prompt without a text in double quotes.
  std::vector<std::int64_t> encode(std::string_view text, std::int64_t length) const override;
  std::int64_t vocab_size() const override { return kGlyphVocabulary; }
  std::int64_t end_id() const override { return kEnd; }
};

}  // namespace harness

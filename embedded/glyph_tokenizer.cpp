#include "embedded/glyph_tokenizer.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "models/tokenizers/load_tokenizer.h"

namespace harness {
namespace {

const bool kRegistered = register_text_tokenizer(
    GlyphTokenizer::kClass,
    []() -> std::unique_ptr<TextTokenizer> { return std::make_unique<GlyphTokenizer>(); });

}  // namespace

std::vector<std::int64_t> GlyphTokenizer::ids(const GlyphLayout& layout, int style) {
  std::vector<std::int64_t> ids = {style};
  for (const auto token : glyph_tokens(layout)) ids.push_back(token);
  ids.push_back(kEnd);
  return ids;
}

std::vector<std::int64_t> GlyphTokenizer::encode(std::string_view text, std::int64_t length) const {
  if (length != kLength) {
    throw Error(fmt::format("gives {} tokens, and {} are asked for", kLength, length), kClass,
                fmt::format("max_position_embeddings of the text tower must be {}", kLength));
  }
  const auto open = text.find('"');
  if (open == std::string_view::npos) {
    throw Error("no text in double quotes", fmt::format("prompt {}", in_quotes(text)),
                "this scorer reads the quoted text of a prompt, as the glyph backbone draws it");
  }
  const auto rest = text.substr(open + 1);
  return ids(glyph_layout(rest.substr(0, rest.find('"'))), glyph_style(text));
}

}  // namespace harness

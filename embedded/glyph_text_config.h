#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"
#include "embedded/glyph_layout.h"

namespace harness {

/// config.json of an embedded model's text table; the sizes that glyph has are not written.
struct GlyphTextConfig {
  std::int64_t width = 0;         ///< of a token
  std::int64_t pooled_width = 0;  ///< of the pooled projection
  std::int64_t tokens = kGlyphVocabulary;
  std::int64_t places = kGlyphCells;  ///< tokens of a text
  std::int64_t styles = kGlyphStyles + 1;
  bool pooled_tokens = false;  ///< the pooled projection holds the tokens too, as CLIP's holds the prompt

  /// Throws Error at an unknown key and a size out of range.
  static GlyphTextConfig from_json(const Json& document, const std::string& where);
  Json to_json() const;
};

}  // namespace harness

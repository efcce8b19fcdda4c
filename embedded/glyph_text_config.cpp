#include "embedded/glyph_text_config.h"

#include "models/configs/config_fields.h"

namespace harness {

GlyphTextConfig GlyphTextConfig::from_json(const Json& document, const std::string& where) {
  constexpr Range kWidth{1, 1 << 19};
  ConfigFields fields(document, where, "GlyphTextEncoder");
  GlyphTextConfig c;
  c.width = fields.integer("width", kWidth);
  c.pooled_width = fields.integer("pooled_width", kWidth);
  fields.finish();
  return c;
}

}  // namespace harness

#include "embedded/glyph_text_config.h"

#include "models/configs/config_fields.h"

namespace harness {
namespace {

constexpr auto kClass = "GlyphTextEncoder";

struct Size {
  const char* key;
  std::int64_t GlyphTextConfig::*member;
};
constexpr Size kSizes[] = {{"tokens", &GlyphTextConfig::tokens},
                           {"places", &GlyphTextConfig::places},
                           {"styles", &GlyphTextConfig::styles}};

}  // namespace

GlyphTextConfig GlyphTextConfig::from_json(const Json& document, const std::string& where) {
  constexpr Range kWidth{1, 1 << 19}, kSize{1, 1 << 16};
  ConfigFields fields(document, where, kClass);
  GlyphTextConfig c;
  c.width = fields.integer("width", kWidth);
  c.pooled_width = fields.integer("pooled_width", kWidth);
  for (const auto& size : kSizes) {
    if (fields.has(size.key)) c.*size.member = fields.integer(size.key, kSize);
  }
  c.pooled_tokens = fields.optional("pooled_tokens", c.pooled_tokens);
  fields.finish();
  return c;
}

Json GlyphTextConfig::to_json() const {
  Json document = {{"_class_name", kClass}, {"width", width}, {"pooled_width", pooled_width}};
  for (const auto& size : kSizes) {
    if (this->*size.member != GlyphTextConfig().*size.member) document[size.key] = this->*size.member;
  }
  if (pooled_tokens) document["pooled_tokens"] = true;
  return document;
}

}  // namespace harness

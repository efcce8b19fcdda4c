#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"

namespace harness {

/// config.json of the embedded model's text table.
struct GlyphTextConfig {
  std::int64_t width = 0;         ///< of a token
  std::int64_t pooled_width = 0;  ///< of the pooled projection

  /// Throws Error at an unknown key and a size out of range.
  static GlyphTextConfig from_json(const Json& document, const std::string& where);
};

}  // namespace harness

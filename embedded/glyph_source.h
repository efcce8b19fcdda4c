#pragma once

#include "embedded/flow_stages.h"
#include "embedded/glyph_data.h"

namespace harness {

/// Renderings of invented phrases in which so many are faded.
DrawImages glyph_images(const PretrainOptions& options, const GlyphFading& fading);

/// What the models `glyph` and `glyph-flux` learn from.
FlowSource glyph_source(const PretrainOptions& options);

}  // namespace harness

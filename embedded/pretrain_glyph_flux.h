#pragma once

#include "embedded/pretrain_stage.h"

namespace harness {

/// Trains the embedded model glyph-flux from nothing, as embedded/pretrain_flux.h says: on clean renderings
/// and on partly faded ones, the designed weakness of `glyph` (embedded/pretrain_glyph.h).
void pretrain_glyph_flux(const PretrainOptions& options);

}  // namespace harness

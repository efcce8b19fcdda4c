#pragma once

#include "embedded/pretrain_stage.h"

namespace harness {

/// Trains the embedded model of FLUX's classes from nothing: autoencoder (A), velocity network and text table
/// on clean renderings (B) and on partly faded ones (C), all without a guidance input; then a network with
/// that input learns what guided sampling by two calls of the first does (E), for guidance 1 to 6, as
/// FLUX.1-dev was distilled (arXiv:2210.03142); and the decoder with the encoder frozen (D). The fading is
/// the designed weakness of `glyph` (embedded/pretrain_glyph.h).
void pretrain_glyph_flux(const PretrainOptions& options);

}  // namespace harness

#pragma once

#include "embedded/pretrain_stage.h"

namespace harness {

/// Trains the embedded model from nothing: the autoencoder (A), velocity network and text table on clean
/// renderings (B) and on partly faded ones (C), and the decoder with the encoder frozen (D). The fading is a
/// designed weakness: a nuisance that the prompt does not tell and that reinforcement learning can turn.
void pretrain_glyph(const PretrainOptions& options);

}  // namespace harness

#pragma once

#include "embedded/pretrain_stage.h"

namespace harness {

/// Trains the embedded model from nothing: the autoencoder (A), the velocity network and text table on clean
/// renderings (B) and on partly faded ones (C), and the decoder once more with the encoder frozen (D). The
/// fading is a designed weakness: a random nuisance that the prompt does not tell and that reinforcement
/// learning can turn. Writes a folder in diffusers' layout (float16).
void pretrain_glyph(const PretrainOptions& options);

}  // namespace harness

#pragma once

#include "embedded/pretrain_stage.h"

namespace harness {

// The embedded backbones, trained from nothing. Each has a designed weakness that its prompts do not mention
// and that reinforcement learning can correct.

/// The autoencoder (A), velocity network and text table on clean renderings (B) and on partly faded ones (C),
/// and the decoder with the encoder frozen (D).
void pretrain_glyph(const PretrainOptions& options);

/// As embedded/pretrain_flux.h says, on the renderings of `glyph`.
void pretrain_glyph_flux(const PretrainOptions& options);

/// As embedded/pretrain_flux.h says, on scenes that meet their prompts and then on scenes with mistakes by
/// tag (embedded/pictures/shapes_scene.h).
void pretrain_shapes_flux(const PretrainOptions& options);

}  // namespace harness

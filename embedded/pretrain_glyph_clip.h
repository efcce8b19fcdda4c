#pragma once

#include "embedded/pretrain_stage.h"

namespace harness {

struct PretrainClipOptions : PretrainOptions {
  std::int64_t reading_steps = 800;    ///< stage R: pairs that differ at large, and a head that reads patches
  std::int64_t contrast_steps = 1600;  ///< stage C: with near-miss texts and faded images among the pairs
};

/// Trains the embedded scorer from nothing: a small CLIPModel whose text tower reads the glyph backbone's
/// layout of a prompt, with CLIP's contrastive loss (arXiv:2103.00020) on generated pairs, and writes
/// float16. Faded renderings of the right text are among the images, so that the score falls with legibility
/// too. Projections start whitened: untrained towers give all inputs nearly one direction. A head that reads
/// a patch's characters helps on the way.
void pretrain_glyph_clip(const PretrainClipOptions& options);

}  // namespace harness

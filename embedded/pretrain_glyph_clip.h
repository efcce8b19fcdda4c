#pragma once

#include "embedded/pretrain_stage.h"

namespace harness {

struct PretrainClipOptions : PretrainOptions {
  std::int64_t reading_steps = 800;    ///< stage R: pairs that differ at large, and a head that reads patches
  std::int64_t contrast_steps = 1600;  ///< stage C: with near-miss texts and faded images among the pairs
};

/// Trains the embedded scorer from nothing: a small CLIPModel whose text tower reads the glyph backbone's own
/// layout of a prompt (36 cells and a style), with the symmetric contrastive loss of CLIP (arXiv:2103.00020)
/// on generated pairs of prompt and rendering. Renderings of the right text that are faded stand among the
/// images that a text has to be told from, so that the score falls with legibility and not only with wrong
/// letters. Projections start whitened: untrained towers give all inputs nearly one direction. A head that
/// reads the characters of a patch helps the image tower on its way and is dropped. Writes float16.
void pretrain_glyph_clip(const PretrainClipOptions& options);

}  // namespace harness

#pragma once

#include "embedded/pretrain_stage.h"

namespace harness {

/// Trains the embedded model shapes-flux from nothing, as embedded/pretrain_flux.h says: on scenes that meet
/// their prompts and then on such with mistakes by tag (embedded/pictures/shapes_scene.h), a designed
/// weakness.
void pretrain_shapes_flux(const PretrainOptions& options);

}  // namespace harness

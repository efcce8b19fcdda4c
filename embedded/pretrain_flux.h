#pragma once

#include <string>

#include "embedded/flow_stages.h"

namespace harness {

/// How an embedded model of FLUX's classes is trained.
struct FluxPlan {
  std::string name, pipeline;  ///< "glyph-flux", "GlyphFluxPipeline"
  int steps_b = 0, steps_c = 0, steps_e = 0;
  DrawImages clear;   ///< of stage B
  DrawImages flawed;  ///< of stages C and E: with the designed weakness
  Json facts;         ///< for pretrain.json
};

/// Trains a model of FLUX's classes from nothing: autoencoder (A), velocity network and text table on clear
/// images (B) and on flawed ones (C), all without a guidance input; then a network with that input learns
/// what guided sampling by two calls of the first does (E), for guidance 1 to 6, as FLUX.1-dev was distilled
/// (arXiv:2210.03142); and the decoder with the encoder frozen (D).
void pretrain_flux(FlowStages& stages, const FluxPlan& plan);

}  // namespace harness

#include "embedded/glyph_data.h"
#include "embedded/pretrain_backbones.h"
#include "embedded/pretrain_flux.h"

namespace harness {

void pretrain_glyph_flux(const PretrainOptions& options) {
  constexpr double kFadedShare = 0.75;  // of the data of stages C and E
  FlowStages stages(options, glyph_source(options));
  pretrain_flux(stages, {.name = "glyph-flux",
                         .pipeline = "GlyphFluxPipeline",
                         .steps_b = 2000,
                         .steps_c = 400,
                         .steps_e = 900,
                         .clear = glyph_images(options, {}),
                         .flawed = glyph_images(options, {kFadedShare, 0.1, 0.5}),
                         .facts = {{"faded_share", kFadedShare}}});
}

}  // namespace harness

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "embedded/pretrain_stage.h"

namespace harness {

/// Settings of `harness pretrain glyph`. Every schedule is in steps, so that a seed gives the same weights on
/// a slow machine.
struct PretrainOptions {
  std::uint64_t seed = 1;
  int threads = 2;
  std::int64_t autoencoder_steps = 2650;  ///< stage A
  std::int64_t flow_steps = 1648;         ///< stage B, clean data
  std::int64_t faded_steps = 382;         ///< stage C, data of which `faded_share` is faded
  std::int64_t decoder_steps = 3000;      ///< stage D, the decoder alone
  double faded_share = 0.6;
  std::filesystem::path atlas;
  std::filesystem::path
      out;  ///< receives transformer/, vae/, text_encoder/, model_index.json, pretrain.json, curve.csv
};

/// Trains the embedded model from nothing: the autoencoder (A), the velocity network and text table on clean
/// renderings (B) and on partly faded ones (C), and the decoder once more with the encoder frozen (D). The
/// fading is a designed weakness: a random nuisance that the prompt does not tell and that reinforcement
/// learning can turn. Writes a folder in diffusers' layout (float16).
void pretrain_glyph(const PretrainOptions& options, const PretrainReport& report);

}  // namespace harness

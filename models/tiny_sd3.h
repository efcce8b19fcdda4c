#pragma once

#include "core/json.h"
#include "models/autoencoder_kl.h"
#include "models/glyph_text_encoder.h"
#include "models/sd3_transformer.h"

namespace harness {

/// SD3's own classes in a debug size, with random weights: nothing is learned and nothing is downloaded. The
/// latent is 16 x 32 x 32, D = 16384, which is the ratio of lambda_center to lambda_var that the paper's
/// tiny-SD3 table prints.
Sd3Config tiny_sd3_transformer();
AutoencoderConfig tiny_sd3_autoencoder();
inline constexpr std::int64_t kTinySd3TextWidth = 32, kTinySd3PooledWidth = 64;

/// What the random weights follow from besides a seed; part of the identity of every run.
Json tiny_sd3_identity();

/// Token ids [B,36] (the prompt's first bytes) and styles [B] for the byte table: no layout, since nothing is
/// written.
std::pair<torch::Tensor, torch::Tensor> tiny_sd3_inputs(const std::vector<std::string>& prompts);

}  // namespace harness

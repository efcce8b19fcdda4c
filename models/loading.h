#pragma once

#include <filesystem>

#include "models/diffusion/autoencoder_kl.h"
#include "models/diffusion/flux_transformer.h"
#include "models/diffusion/sd3_transformer.h"
#include "models/encoders/clip_model.h"
#include "models/encoders/clip_text_model.h"
#include "models/encoders/t5_encoder.h"
#include "models/nn/weights_io.h"

namespace harness {

/// A component from a folder as diffusers saves it: config.json and diffusion_pytorch_model.safetensors, or
/// its shards. Throws Error at an unknown flag, a malformed file, or keys that do not fit.
Sd3Transformer load_sd3_transformer(const std::filesystem::path& folder, const Placement& placement = {});
FluxTransformer load_flux_transformer(const std::filesystem::path& folder, const Placement& placement = {});
AutoencoderKl load_autoencoder(const std::filesystem::path& folder, const Placement& placement = {});

/// A text encoder from a folder as transformers saves it: config.json and model.safetensors, or its shards.
ClipTextModel load_clip_text_model(const std::filesystem::path& folder, const Placement& placement = {});

ClipModel load_clip_model(const std::filesystem::path& folder, const Placement& placement = {});

/// The duplicate of the embedding that some hold is not read. With float16 `wo` stays in float32.
T5Encoder load_t5_encoder(const std::filesystem::path& folder, const Placement& placement = {});

/// Writes a folder as diffusers does; floating-point weights are stored as `dtype`.
void save_sd3_transformer(const std::filesystem::path& folder, Sd3Transformer model, torch::ScalarType dtype);
void save_flux_transformer(const std::filesystem::path& folder, FluxTransformer model,
                           torch::ScalarType dtype);
void save_autoencoder(const std::filesystem::path& folder, AutoencoderKl model, torch::ScalarType dtype);

/// Writes config.json and model.safetensors as transformers does.
void save_clip_model(const std::filesystem::path& folder, ClipModel model, torch::ScalarType dtype);

}  // namespace harness

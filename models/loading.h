#pragma once

#include <filesystem>

#include "models/autoencoder_kl.h"
#include "models/sd3_transformer.h"
#include "models/weights_io.h"

namespace harness {

/// A component from a folder as diffusers saves it: config.json and diffusion_pytorch_model.safetensors, or
/// its shards. Throws Error at an unknown flag, a malformed file, or keys that do not fit.
Sd3Transformer load_sd3_transformer(const std::filesystem::path& folder, const Placement& placement = {});
AutoencoderKl load_autoencoder(const std::filesystem::path& folder, const Placement& placement = {});

/// Writes such a folder; floating-point weights are stored as `dtype`.
void save_sd3_transformer(const std::filesystem::path& folder, Sd3Transformer model, torch::ScalarType dtype);
void save_autoencoder(const std::filesystem::path& folder, AutoencoderKl model, torch::ScalarType dtype);

}  // namespace harness

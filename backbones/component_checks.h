#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "models/configs/autoencoder_config.h"

namespace harness {

// Whether the components of a folder fit each other, by their configurations. All throw Error.

/// The folder's index must name a pipeline of class `wanted` with these components (class by name).
void check_index(const std::filesystem::path& folder, const std::string& wanted, const std::string& backbone,
                 const std::map<std::string, std::string>& components);

void check_equal(const char* what, std::int64_t a, const char* other, std::int64_t b,
                 const std::filesystem::path& folder);

/// Latent channels that the transformer takes and gives.
void check_channels(std::int64_t in, std::int64_t out, const AutoencoderConfig& vae,
                    const std::filesystem::path& folder);

/// The channels of a token of 2 x 2 latent pixels, and the colours of the decoded image.
void check_packing(std::int64_t in, const AutoencoderConfig& vae, const std::filesystem::path& folder);

}  // namespace harness

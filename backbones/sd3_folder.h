#pragma once

#include "backbones/public_folder.h"
#include "backbones/sd3_backbone.h"

namespace harness {

inline constexpr const char* kSd3Pipeline = "StableDiffusion3Pipeline";

/// A public folder of Stable Diffusion 3 (diffusers), with a new adapter. Throws as Backbone::load.
std::unique_ptr<Sd3Backbone> load_sd3_folder(const BackboneSource& source);

/// For BackboneType::resources. Reads tokenizers as well, which the headers of the weights do not cover.
Json sd3_folder_resources(const BackboneSource& source, const Workload& workload);

/// Bytes that a network's blocks keep of `batch` images for the gradient, the adapter's apart.
std::int64_t sd3_training_kept(const Sd3Config& config, const StreamSize& stream, std::int64_t batch,
                               bool recompute);

}  // namespace harness

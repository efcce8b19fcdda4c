#pragma once

#include "backbones/sd3_backbone.h"

namespace harness {

inline constexpr const char* kSd3Pipeline = "StableDiffusion3Pipeline";

/// A public folder of Stable Diffusion 3 (diffusers), with a new adapter. Throws as Backbone::load.
std::unique_ptr<Sd3Backbone> load_sd3_folder(const BackboneSource& source);

/// For BackboneType::resources. Reads tokenizers and scheduler as well, which no header of weights speaks of.
Json sd3_folder_resources(const BackboneSource& source, const Workload& workload);

}  // namespace harness

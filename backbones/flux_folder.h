#pragma once

#include "backbones/flux_backbone.h"

namespace harness {

inline constexpr const char* kFluxPipeline = "FluxPipeline";

/// A public folder of FLUX.1 (diffusers), with a new adapter. Throws as Backbone::load.
std::unique_ptr<FluxBackbone> load_flux_folder(const BackboneSource& source);

/// For BackboneType::resources. Reads tokenizers and scheduler as well, which no header of weights speaks of.
Json flux_folder_resources(const BackboneSource& source, const Workload& workload);

}  // namespace harness

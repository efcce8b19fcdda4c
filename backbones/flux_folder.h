#pragma once

#include "backbones/flux_backbone.h"
#include "backbones/public_folder.h"

namespace harness {

inline constexpr const char* kFluxPipeline = "FluxPipeline";

/// A public folder of FLUX.1 (diffusers), with a new adapter. Throws as Backbone::load.
std::unique_ptr<FluxBackbone> load_flux_folder(const BackboneSource& source);

/// For BackboneType::resources. Reads tokenizers and scheduler as well, which the headers of the weights do
/// not cover.
Json flux_folder_resources(const BackboneSource& source, const Workload& workload);

/// Bytes that a network's blocks keep of `batch` images for the gradient, the adapter's apart.
std::int64_t flux_training_kept(const FluxConfig& config, const StreamSize& stream, std::int64_t batch,
                                bool recompute);

}  // namespace harness

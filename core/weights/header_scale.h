#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/weights/safetensors.h"

namespace harness {

// The scale of a low-rank update is alpha / rank (or alpha / sqrt(rank)). Some programs write alpha in the
// header of the file alone, under one of several names.

/// The metadata key of diffusers' files that holds a whole configuration.
inline constexpr auto kDiffusersMetadata = "lora_adapter_metadata";

/// The scale that a header states.
struct HeaderScale {
  std::string key;  ///< the name of alpha there: "lora_alpha"
  double alpha = 0;
  bool use_rslora = false;
};

/// What decides about the scale of a file's updates: nothing where its alpha tensors or kDiffusersMetadata
/// do, where the header has none, and where the scale is 1. Throws Error (with `where`) for an alpha that
/// is not a number above 0, several that differ, and ranks that are not those of the matrices.
std::optional<HeaderScale> deciding_header_scale(const SafetensorsFile& file, const std::string& where);

/// Throws Error (with `where`) if the header names an alpha that differs from all those that count.
void expect_header_agrees(const SafetensorsFile& file, const std::vector<double>& alphas,
                          const std::string& where);

}  // namespace harness

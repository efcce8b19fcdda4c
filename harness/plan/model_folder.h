#pragma once

#include <filesystem>
#include <string>

#include "harness/spec/registry.h"

namespace harness {

/// The backbone that a model folder names; for no folder the default one. Throws Error (status 2).
std::string backbone_of_folder(const std::string& folder);

/// The chosen model folder, or the backbone's own; empty with random weights. Throws Error (status 2).
std::filesystem::path find_weights(const BackboneInfo& backbone, const std::string& chosen);

/// The same of a backbone by its name; also throws for an unknown one.
std::filesystem::path default_weights(const std::string& backbone, const std::string& chosen);

/// The folder that default_weights takes where none is chosen; empty if it is missing here.
std::filesystem::path own_weights(const std::string& backbone);

}  // namespace harness

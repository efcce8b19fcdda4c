#pragma once

#include <string>

#include "core/json.h"
#include "harness/archive/manifest.h"

namespace harness {

/// ro-crate-metadata.json (RO-Crate 1.1, https://w3id.org/ro/crate/1.1): the experiment as a dataset, its
/// files with size and checksum, the program that made it and when. `manifest`: without the file itself.
/// `title`: of the table; `began`: when the first of its runs was planned, UTC.
Json crate_of(const ArchiveManifest& manifest, const std::string& title, const std::string& began);

}  // namespace harness

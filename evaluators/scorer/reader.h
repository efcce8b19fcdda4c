#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "evaluators/scorer/image_reader.h"

namespace harness {

std::vector<std::string> profile_names();

/// tessdata: the folder that holds eng.traineddata; `only`: the one reading of the profile to use, or empty
/// for all. Throws Error for an unknown profile or reading, and if the engine cannot be loaded.
std::unique_ptr<Reader> make_reader(const std::string& profile, const std::filesystem::path& tessdata,
                                    const std::string& only = {});

}  // namespace harness

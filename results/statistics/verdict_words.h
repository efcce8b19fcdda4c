#pragma once

#include <string>

namespace harness {

/// VerdictSettings::unit of statistics of the training, whose clusters are runs.
inline constexpr const char* kSeedUnit = "seeds";

/// A text about checkpoints as one about images that are given: "these images differ".
std::string about_images(std::string text);

}  // namespace harness

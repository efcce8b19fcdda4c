#pragma once

#include <string>

namespace harness {

/// JudgeSettings::unit of statistics of the training, whose clusters are runs.
inline constexpr const char* kSeedUnit = "seeds";

/// Continues "the interval over training runs and prompts excludes 0": what judge() asks of methods besides.
inline constexpr const char* kPromptsToo = ", as does the one over prompts alone";

/// A text about checkpoints as one about images that are given: "these images differ".
std::string about_images(std::string text);

}  // namespace harness

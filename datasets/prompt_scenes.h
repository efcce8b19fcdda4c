#pragma once

#include <span>

#include "datasets/prompt_generator.h"

namespace harness {

// The scenes by place; prompt_scenes() joins them in this order.
std::span<const Scene> street_scenes();
std::span<const Scene> indoor_scenes();
std::span<const Scene> outdoor_scenes();
std::span<const Scene> screen_scenes();
std::span<const Scene> imagined_scenes();

}  // namespace harness

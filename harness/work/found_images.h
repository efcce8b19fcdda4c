#pragma once

#include "core/json.h"
#include "harness/plan/plan.h"

namespace harness {

/// What was found of each row of images, for people to see that files and prompts go together: {row, folder,
/// layout, images, prompts, samples, seed (of the run) and step, notes, examples: [{file, prompt, sample}]}.
Json found_images_json(const Plan& plan);

/// The same as lines of text; empty where no row is of images.
std::string found_images_text(const Plan& plan);

}  // namespace harness

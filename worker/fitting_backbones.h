#pragma once

#include <functional>
#include <string>

#include "backbones/backbone.h"
#include "core/weights/outside_checkpoint.h"

namespace harness {

/// Runs `read`. If that throws for a checkpoint of another backbone than `name`, throws an Error that names
/// those that it fits: by the shapes of embedded networks, and the names and widths of public ones.
void naming_what_fits(const OutsideCheckpoint& found, const std::string& name, Backbone& backbone,
                      const std::function<void()>& read);

}  // namespace harness

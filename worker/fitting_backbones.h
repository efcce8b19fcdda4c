#pragma once

#include <fmt/format.h>

#include <string>

#include "backbones/backbone.h"
#include "core/error.h"
#include "core/weights/outside_checkpoint.h"

namespace harness {

/// The backbones of this build that a checkpoint fits if it does not fit `backbone` ("sd35-medium or
/// flux-dev"), by the shapes of embedded networks and the names and widths of public ones. Empty if it fits
/// or none is known.
std::string other_backbones_of(const OutsideCheckpoint& found, const std::string& name, Backbone& backbone);

/// The result of `read`. If that throws for a checkpoint of another backbone, an Error that names it.
template <class Read>
auto naming_what_fits(const OutsideCheckpoint& found, const std::string& name, Backbone& backbone,
                      const Read& read) {
  try {
    return read();
  } catch (const Error&) {
    const auto others = other_backbones_of(found, name, backbone);
    if (others.empty()) throw;
    throw Error(
        fmt::format("{} fits {}, not {}",
                    found.form == OutsideForm::kTransformer ? "this network" : "this adapter", others, name),
        found.folder.string(), fmt::format("did you mean --backbone {}?", others));
  }
}

}  // namespace harness

#pragma once

#include <fmt/format.h>

#include <string>

#include "backbones/backbone.h"
#include "core/error.h"
#include "core/weights/outside_checkpoint.h"

namespace harness {

/// Where a checkpoint's tensors are not those of this backbone's network: which backbones of this build it is
/// of, as a sentence's end ("sd35-medium"), by the shapes of embedded networks and the names and widths of
/// the public ones. Empty where it fits, and where nobody can say.
std::string other_backbones_of(const OutsideCheckpoint& found, const std::string& name, Backbone& backbone);

/// What `read` returns. Where it throws because the checkpoint is another backbone's, an Error that names
/// that.
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

#pragma once

#include <compare>
#include <filesystem>
#include <map>

#include "core/json.h"

namespace harness {

/// An image of an evaluation: its prompt's position in the whole set, and which of the prompt's images.
struct ImageKey {
  int position = 0, sample = 0;
  auto operator<=>(const ImageKey&) const = default;
};

/// What the event log of an evaluation holds when its worker starts.
struct ScoredImages {
  std::map<ImageKey, Json> scorers;  ///< each image that needs no work -> state of the scorers after it
  bool again = false;                ///< the evaluation was complete once: what failed in it is scored again
};

/// Of several samples of an image the last counts. In a log that was complete once, an image that lacks a
/// value has no entry, so that it is drawn and scored again; a prompt that quotes no text is no failure.
ScoredImages scored_images(const std::filesystem::path& log);

}  // namespace harness

#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"

namespace harness {

/// An image of an evaluation: its prompt's position in the whole set, and which of the prompt's images.
struct ImageKey {
  int position = 0, sample = 0;
  auto operator<=>(const ImageKey&) const = default;
};

/// Which missing scores of an evaluation that has ended once, complete or not, are asked for again.
struct AskedAgain {
  std::vector<std::string> metrics = {};  ///< of these; others are left as they are
  bool all = false;  ///< whatever the reason; else those that may pass (is_passing_reason)

  bool wants(const std::string& metric, const std::string& reason) const;
  /// Whether a sample event lacks a value of one of these metrics that is asked for.
  bool wants_of(const Json& event, const std::vector<std::string>& of) const;
};

/// What the event log of an evaluation holds when its worker starts.
struct ScoredImages {
  std::map<ImageKey, Json> scorers;  ///< each image that needs no work -> state of the scorers after it
  std::map<ImageKey, Json> failed;   ///< those whose missing scores are asked for again -> their last event
  std::map<ImageKey, std::map<std::string, std::string>> reasons;  ///< image -> metric without value -> why
  std::vector<std::filesystem::path> lost;  ///< files of images that the log has, gone or with other bytes
  bool again = false;         ///< the evaluation has ended once: what failed in it is scored again
  bool was_complete = false;  ///< and had every image then
};

/// What scorers did not give of the image of a sample event, with the reasons. A prompt that quotes no text
/// and a file that cannot be read are no failures of theirs.
std::map<std::string, std::string> failures_of(const Json& event);

/// Of several samples of an image the last counts. An image whose file is not the one that was scored needs
/// work: a power cut may have taken it.
ScoredImages scored_images(const std::filesystem::path& log, const AskedAgain& asked);

}  // namespace harness

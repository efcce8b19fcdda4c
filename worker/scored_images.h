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

/// Which missing scores of an evaluation that has ended, complete or not, are asked for again.
struct AskedAgain {
  std::vector<std::string> metrics = {};
  bool all = false;  ///< for any reason; else only passing ones (is_passing_reason)

  bool wants(const std::string& metric, const std::string& reason) const;
  /// Whether a sample event lacks a wanted value of a metric `of`.
  bool wants_of(const Json& event, const std::vector<std::string>& of) const;
};

/// The state of an evaluation by its event log.
struct ScoredImages {
  std::map<ImageKey, Json> scorers;  ///< complete images -> state of the scorers after each
  std::map<ImageKey, Json> failed;   ///< images to score again -> their last event
  std::map<ImageKey, std::map<std::string, std::string>>
      reasons;                              ///< image -> metric without value -> reason
  std::vector<std::filesystem::path> lost;  ///< missing or changed files of logged images
  bool again = false;                       ///< the evaluation has ended: failures are scored again
  bool was_complete = false;                ///< it ended with every image
};

/// The failures of scorers in a sample event: metric -> reason. Not a prompt without quoted text nor an
/// unreadable file.
std::map<std::string, std::string> failures_of(const Json& event);

/// An image's last event counts. An image whose file is missing or changed (power cut) needs work.
ScoredImages scored_images(const std::filesystem::path& log, const AskedAgain& asked);

}  // namespace harness

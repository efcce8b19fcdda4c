#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/image.h"
#include "evaluators/scorer_protocol.h"

namespace harness {

/// A profile: how images are prepared and read. What an image gives does not depend on the images before it.
class Reader {
 public:
  virtual ~Reader() = default;

  /// transcript_raw: UTF-8; confidence: 0 to 100.
  virtual ScorerAnswer read(const Image& image) = 0;

  /// Everything that an answer follows from: settings, versions, checksums of data files.
  virtual ScorerHello hello() const = 0;
};

std::vector<std::string> profile_names();

/// tessdata: the folder that holds eng.traineddata; `only`: the one reading of the profile to use, or empty
/// for all. Throws Error for an unknown profile or reading, and if the engine cannot be loaded.
std::unique_ptr<Reader> make_reader(const std::string& profile, const std::filesystem::path& tessdata,
                                    const std::string& only = {});

}  // namespace harness

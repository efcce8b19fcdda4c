#pragma once

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

}  // namespace harness

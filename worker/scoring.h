#pragma once

#include <future>
#include <string>

#include "core/image.h"
#include "evaluators/ocr.h"
#include "evaluators/scorer_client.h"
#include "worker/job.h"

namespace harness {

/// Name of the OCR scorer of the embedded backbone's images, as identities list it.
inline constexpr const char* kOcrScorer = "ocr-glyph";

/// The scorer processes of a job, one a thread. Throws Error if the program at hand is not the one of the
/// job's identity (another version, other data files).
class Scoring {
 public:
  explicit Scoring(const Job& job);

  /// The score of an image against a target. The future may be waited for from any thread.
  std::future<OcrScore> score(std::string target, Image image);

  std::size_t replaced() const { return pool_.replaced(); }

 private:
  ScorerPool pool_;
};

}  // namespace harness

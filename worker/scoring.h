#pragma once

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "core/image.h"
#include "evaluators/external_scorer.h"
#include "evaluators/sample_score.h"
#include "evaluators/scorer_client.h"
#include "worker/job.h"

namespace harness {

/// Names of the scorers, as identities list them: OCR of the embedded backbone's images and of scenes (both
/// profiles of harness-scorer), JPEG size, image statistics.
inline constexpr const char* kOcrScorer = "ocr-glyph";
inline constexpr const char* kSceneOcrScorer = "ocr-scene";
inline constexpr const char* kJpegScorer = "jpeg";
inline constexpr const char* kStatisticsScorer = "image-statistics";

/// What this build says of its scorers and tasks (harness-worker describe). A task names the scorer whose
/// metrics its training reward is made of.
Json describe_evaluators();
Json describe_tasks();

/// The reward of a task from an image's metrics; nothing where its scorer failed. Throws Error for an unknown
/// task.
std::optional<double> task_reward(const std::string& task, const SampleScore& score);

/// The scorers that a job's identity names. Throws Error if one at hand is not the one of the identity
/// (another version, other data files).
class Scoring {
 public:
  explicit Scoring(const Job& job);

  /// All metrics of an image. The future may be waited for from any thread.
  std::future<SampleScore> score(ScorerText text, Image image);

  /// Scorer processes that had to be replaced.
  std::size_t replaced() const { return (ocr_ ? ocr_->replaced() : 0) + external_.replaced(); }

  /// What a table shall say of scorers that were given up.
  std::vector<std::string> notes() const { return external_.notes(); }

 private:
  std::future<SampleScore> own_score(std::string target, Image image);

  std::optional<ScorerPool> ocr_;  ///< processes, one a thread
  bool jpeg_ = false, statistics_ = false;
  ExternalScorers external_;
};

}  // namespace harness

#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/image.h"
#include "core/settings.h"
#include "evaluators/clip/clip_scorer.h"
#include "evaluators/external_scorer.h"
#include "evaluators/sample_score.h"
#include "evaluators/scorer_client.h"
#include "models/text_condition.h"
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

/// The settings that choose a scorer's profile, for scorers that have several: NAME_profile.
std::vector<Setting> scorer_settings();

/// The reward of a task from an image's metrics; nothing where its scorer failed. Throws Error for an unknown
/// task.
std::optional<double> task_reward(const std::string& task, const SampleScore& score);

/// Reads a scorer's folder up to the headers of its weights and returns what they take in memory, in bytes.
/// `request`: the folder, or {"folder", "profile"}. Throws Error naming the file and the rule that it breaks.
std::int64_t check_scorer_folder(const std::string& scorer, const Json& request);

/// The scorers that a job's identity names. Throws Error if one at hand is not the one of the identity
/// (another version, other data files).
class Scoring {
 public:
  explicit Scoring(const Job& job);

  /// All metrics of an image of a prompt. The future may be waited for from any thread, and not longer than
  /// this object lives.
  std::future<SampleScore> score(const PromptText& prompt, Image image);

  /// Scorer processes that had to be replaced.
  std::size_t replaced() const { return (ocr_ ? ocr_->replaced() : 0) + external_.replaced(); }

  /// What a table shall say of scorers that were given up.
  std::vector<std::string> notes() const { return external_.notes(); }

  /// What a job that goes on later has to know of scorers that failed (ExternalScorers).
  Json state() const { return external_.state(); }
  void restore(const Json& state, const std::string& where) { external_.restore(state, where); }

 private:
  void add(const std::string& name, const Json& identity, const Job& job);
  std::future<SampleScore> own_score(const PromptText& prompt, const Image& image);

  std::optional<ScorerPool> ocr_;  ///< processes, one a thread
  std::vector<std::unique_ptr<ClipScorer>> clip_;
  bool jpeg_ = false, statistics_ = false;
  ExternalScorers external_;
};

}  // namespace harness

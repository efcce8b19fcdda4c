#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/image.h"
#include "core/json.h"
#include "evaluators/metrics/metric_info.h"
#include "evaluators/sample_score.h"
#include "evaluators/scorer_protocol.h"

// Scorers that users bring: a folder with a program and scorer.json (PROTOCOL.md).
namespace harness {

/// The "profile" of an external scorer's identity.
inline constexpr const char* kExternalProfile = "external";

/// A training task that is rewarded by a metric of an external scorer, or by minus it: this and its name.
inline constexpr const char* kMaximizeTask = "maximize:";
inline constexpr const char* kMinimizeTask = "minimize:";

/// A folder's scorer.json.
struct ExternalScorerSpec {
  std::string name;              ///< of the folder
  std::filesystem::path folder;  ///< absolute
  std::string version, summary;
  std::vector<std::string> command, files;
  std::map<std::string, std::string> environment;
  std::vector<MetricInfo> metrics;
  bool by_path = false;  ///< images as PNG files, else as pixels
  int deadline_ms = 0, start_deadline_ms = 0, processes = 1, restarts = 0;

  std::vector<std::string> metric_names() const;
};

/// True for a folder that holds a scorer.json.
bool is_external_scorer(const std::filesystem::path& folder);

/// Throws Error naming file and field: an unknown key, a value that is impossible, a file that is missing.
ExternalScorerSpec read_external_scorer(const std::filesystem::path& folder);

/// Paths, relative to the folder and sorted, of what an answer may depend on: scorer.json, those words of the
/// command that are files in the folder, and "files" (folders with all that is in them).
std::vector<std::string> files_of(const ExternalScorerSpec& spec);

/// {"name", "version", "profile", "files": {relative path: SHA-256}}. `sha256`: of a file.
Json external_scorer_identity(const ExternalScorerSpec& spec,
                              const std::function<std::string(const std::filesystem::path&)>& sha256);

/// Starts one process and lets it score one test image. Throws Error (status 2) with what is wrong: it does
/// not start, answers nothing that can be read, or not the metrics that its scorer.json names. Its messages
/// are not shown, but for the last one in the error.
void try_external_scorer(const ExternalScorerSpec& spec);

/// The running processes of one external scorer, for one job.
///
/// An image that it fails on gets no value and a reason. After `restarts` replaced processes it is given up:
/// every further image gets no value and that reason. Images count in the order in which their futures are
/// waited for, so that which ones have values depends on neither timing nor the number of processes.
class ExternalScorer {
 public:
  /// scratch: a folder of its own for images that wait for it; it is emptied here and removed at the end.
  /// Throws Error if the scorer cannot be started.
  ExternalScorer(const ExternalScorerSpec& spec, const std::filesystem::path& scratch);
  ~ExternalScorer();
  ExternalScorer(const ExternalScorer&) = delete;
  ExternalScorer& operator=(const ExternalScorer&) = delete;

  /// All of its metrics for an image, each with a value or a reason. May be called from any thread; wait for
  /// the future before this object ends.
  std::future<SampleScore> score(ScorerText text, Image image);

  std::size_t replaced() const;

  /// Why it was given up, as a sentence for people; nothing while it works.
  std::optional<std::string> given_up() const;

  /// How often it failed in the images waited for so far: what a job that goes on later has to know. Null
  /// while it never did.
  Json state() const;
  /// Takes up a state() before the first image. Throws Error naming `where` for what is none.
  void restore(const Json& state, const std::string& where);

  const std::string& name() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The external scorers that a job's identity names, side by side.
class ExternalScorers {
 public:
  /// Starts the scorer of a folder. Throws Error if it is not the one of the identity, or cannot be started.
  /// scratch: ExternalScorer; a folder below it is used.
  void add(const std::filesystem::path& folder, const Json& identity, const std::filesystem::path& scratch);

  bool empty() const { return scorers_.empty(); }

  /// An image's own scores with those of every external scorer.
  std::future<SampleScore> add_scores(std::future<SampleScore> own, ScorerText text, const Image& image);

  std::size_t replaced() const;

  /// One sentence for each scorer that was given up.
  std::vector<std::string> notes() const;

  /// {name: its state} of those that failed.
  Json state() const;
  void restore(const Json& state, const std::string& where);

 private:
  std::vector<std::unique_ptr<ExternalScorer>> scorers_;
};

}  // namespace harness

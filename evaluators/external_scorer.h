#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "evaluators/evaluator.h"

// Scorers that users bring: a folder with a program and scorer.json (PROTOCOL.md).
namespace harness {

/// The "profile" of an external scorer's identity.
inline constexpr const char* kExternalProfile = "external";

/// A folder's scorer.json.
struct ExternalScorerSpec {
  std::string name;              ///< of the folder
  std::filesystem::path folder;  ///< absolute
  std::string version, summary;
  std::vector<std::string> command, files;
  std::map<std::string, std::string> environment = {{"OMP_THREAD_LIMIT", "1"}};
  std::vector<MetricInfo> metrics;
  bool by_path = false;  ///< images as PNG files, else as pixels
  int deadline_ms = 0, start_deadline_ms = 0, processes = 1, restarts = 0;

  std::vector<std::string> metric_names() const;
  std::string file() const { return (folder / "scorer.json").string(); }
};

/// Whether asking again may give the score that is missing for this reason: the scorer crashed, did not
/// answer in time, was given up, answered nothing that can be read, or an error that it does not call
/// lasting. Any other reason is lasting, of the image or its prompt. Decided from the stored text.
bool is_passing_reason(std::string_view reason);

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

/// Starts one process and lets it score one test image. Which metrics have no value of it, each with the
/// reason. Throws Error (status 2) with what is wrong: it does not start, or answers nothing that can be
/// read. Its messages are not shown, but for the last one in the error.
std::map<std::string, std::string> try_external_scorer(const ExternalScorerSpec& spec);

/// That a metric which has to be there is among those without a value.
Error without_trial_value(const ExternalScorerSpec& spec, const std::string& metric,
                          const std::string& reason);

/// The running processes of a job's external scorer. Throws Error if the folder's scorer is not the one of
/// the job's identity, or cannot be started.
///
/// An image that it fails on gets no value and a reason. After `restarts` replaced processes it is given up:
/// every further image gets no value and that reason. Images count in the order in which their futures are
/// waited for, so that which ones have values depends on neither timing nor the number of the scorer's
/// processes. Each process of a job counts its own images. They wait for the scorer in a folder below
/// setup.scratch that is this process' own (setup.rank) and removed at the end.
std::unique_ptr<Scorer> open_external_scorer(const ScorerSetup& setup);

/// Removes the images that killed processes of a job have left below `scratch`, however many there were.
/// Before any process of the job opens its scorers.
void remove_left_images(const std::filesystem::path& scratch);

}  // namespace harness

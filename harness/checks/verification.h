#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "results/store/store.h"

namespace harness {

/// A recorded job that can be run again: an evaluation, or a training.
struct RecordedJob {
  std::string id, kind, run, label;
  std::filesystem::path folder;  ///< where it is now, if the workspace was moved too
};

/// The jobs of one experiment's tested checkpoints, or of one run (a unique prefix of its id), in order:
/// trainings first, if they are wanted. Throws Error (status 2) for an unknown run, one that is not done, and
/// a folder that is gone.
std::vector<RecordedJob> jobs_of_experiment(Store& store, std::int64_t experiment, bool trainings);
std::vector<RecordedJob> jobs_of_run(Store& store, const std::string& run, bool trainings);

struct VerificationSettings {
  std::size_t images = 32;  ///< of each evaluation; 0: all
  std::int64_t seed = 0;    ///< which images, the same for every evaluation of a split
};

/// What running a job again gave.
struct Verification {
  RecordedJob job;
  std::size_t compared = 0;                   ///< images, or updates and checkpoints
  std::vector<std::string> differences = {};  ///< one line each; empty: the same bits
  std::optional<std::string> machine = {};    ///< how build or processor differ from those that recorded it

  bool same() const { return differences.empty(); }
  Json to_json() const;
};

/// Runs a sample of each evaluation (trainings: whole) again in an empty folder `scratch`, one folder a job,
/// and compares images, transcripts, scores, training statistics and checkpoints with the DB bit for bit.
/// Nothing of the workspace is written. Throws Error where a job cannot be run again (Status::kInterrupted
/// after a signal), or the DB lacks rows of an evaluation.
std::vector<Verification> verify_jobs(Store& store, const std::vector<RecordedJob>& jobs,
                                      const VerificationSettings& settings,
                                      const std::filesystem::path& scratch);

}  // namespace harness

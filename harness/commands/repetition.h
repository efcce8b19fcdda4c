#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace harness {

/// A recorded job that can be run again: an evaluation, or a training.
struct RecordedJob {
  std::string id, kind, run, label;
  std::filesystem::path folder;  ///< where it is now, if the workspace was moved too
  bool is_evaluation() const { return kind != "train"; }
};

/// How much of a job is run again, and where what it needs is, if it is not where it was.
struct RepetitionOptions {
  std::size_t images = 32;       ///< of each evaluation
  std::int64_t seed = 0;         ///< which images, the same for every evaluation of a split
  bool all = false;              ///< all of them
  std::string weights, scorers;  ///< folders; empty: where they were
};

/// Makes `folder` the job's, to be run again there: of an evaluation some images. Throws Error for what the
/// job needs and is not on this machine any more.
void prepare_repetition(const RecordedJob& job, const RepetitionOptions& options,
                        const std::filesystem::path& folder);

}  // namespace harness

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/event_log.h"
#include "core/json.h"
#include "datasets/seed.h"

namespace harness {

/// A job folder's job.json (core/EVENTS.md).
struct WorkerJob {
  std::string id;
  Json identity, paths;
  int threads = 1;
  int rank = 0;  ///< of this process among those of the job
  std::string device = "cpu";
  std::string checkpoint_sha256;      ///< of the manifest of the checkpoint to evaluate; empty: unknown
  std::vector<std::string> required;  ///< metrics without which an evaluation stops early
  bool asks_all = false;              ///< when scoring again: also for scores that are missing for good
  std::filesystem::path folder;

  /// A GPU has one; the CPU one per thread.
  int shards_at_once() const { return device == "cpu" ? threads : 1; }

  /// The log's field of device_identity: "cpu" or "gpu".
  const char* device_field() const { return device == "cpu" ? "cpu" : "gpu"; }

  /// "FOLDER/job.json", for messages.
  std::string file() const { return (folder / kJobFile).string(); }

  /// A path of the job; throws Error if it is missing.
  std::filesystem::path path(const std::string& name) const;

  /// Whether the checkpoint's manifest is the planned one.
  bool has_planned_manifest() const;

  /// A field of the identity; throws Error naming it if it is missing or of another type.
  template <class T>
  T get(const std::string& name) const {
    return Fields(identity, file() + ": identity").required<T>(name);
  }

  std::uint32_t seed() const { return noise_seed(get<std::int64_t>("seed"), file() + ": identity: seed"); }
};

/// Throws Error if the file is missing or malformed.
WorkerJob read_job(const std::filesystem::path& folder);

/// Throws Error if `plug_in` ("method dual") was planned with other sources (SourceSum::identity) than the
/// files `sources` that this program was built from.
void expect_planned_source(const std::string& plug_in, const std::string& planned,
                           const std::vector<std::string>& sources, const std::string& where);

/// SHA-256 of this program's file, which identifies the build.
const std::string& worker_build();

}  // namespace harness

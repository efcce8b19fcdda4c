#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "results/store/records.h"

namespace harness {

// What a workspace's journal records of its runs. It can be read while others write the results DB, which on
// a network file system no other process can open then.

struct RecordedRun {
  RunRecord record;                           ///< as the table that asked last has it
  std::vector<EvaluationRecord> evaluations;  ///< in order of recording
  std::vector<std::int64_t> experiments;      ///< finished ones that it belongs to
  bool is_finished = false;                   ///< one of its table holds it with all evaluations
};

struct RecordedFailure {
  std::string recorded, what;
};

struct FinishedExperiment {
  std::int64_t number = 0;
  std::string table, backbone, scale, digest;
  std::string finished;           ///< UTC, ISO 8601
  std::vector<std::string> runs;  ///< ids
};

struct RecordedRuns {
  std::vector<std::string> order;  ///< of runs
  std::map<std::string, RecordedRun> runs;
  std::map<std::string, RecordedFailure> failures;  ///< by job: what the orchestrator said
  std::optional<FinishedExperiment> last;           ///< recorded or asked for last
};

/// Of a journal's records. Throws Error for one that is not whole.
RecordedRuns recorded_runs(const std::vector<Json>& journal);

}  // namespace harness

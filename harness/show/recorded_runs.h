#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/plan/table_spec.h"
#include "results/store/records.h"

namespace harness {

// What a workspace's journal knows, for whoever asks while others write the results DB.

struct RecordedRun {
  RunRecord record;                           ///< as the table that asked last has it
  std::string recorded;                       ///< when it or an evaluation was asked for last, UTC
  std::vector<EvaluationRecord> evaluations;  ///< in order of recording
  std::vector<std::int64_t> experiments;
  bool is_finished = false;  ///< an experiment of its table holds it with all evaluations

  bool is_base() const { return record.method == kBaseMethod; }
  bool is_beside(const RecordedRun& other) const {
    return record.table_id == other.record.table_id && record.scale == other.record.scale &&
           record.backbone == other.record.backbone;
  }
};

struct RecordedFailure {
  std::string recorded, what;
};

struct FinishedExperiment {
  std::int64_t number = 0;
  std::string table, backbone, scale;
  std::string finished;           ///< UTC, ISO 8601
  std::vector<std::string> runs;  ///< ids
};

struct RecordedRuns {
  std::vector<std::string> order;  ///< of runs
  std::map<std::string, RecordedRun> runs;
  std::map<std::string, RecordedFailure> failures;  ///< by job: what the orchestrator said
  std::vector<FinishedExperiment> experiments;
  std::set<std::string> evaluations_held = {};  ///< by experiments
  std::optional<std::size_t> last;              ///< of experiments: recorded or asked for last
  std::string last_recorded;  ///< when an experiment was recorded last; not: asked for again
};

/// Of a journal's records; those of prompt sets need not be there. Throws Error for one that is not whole.
RecordedRuns recorded_runs(const std::vector<Json>& journal);

}  // namespace harness

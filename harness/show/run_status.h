#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "harness/batch/submission.h"
#include "harness/show/recorded_runs.h"
#include "harness/workspace/workspace.h"
#include "results/store/store.h"

namespace harness {

/// How many images are evaluated in the time that one takes to train on: a guess, until both are measured.
inline constexpr double kEvaluatedPerTrained = 25.0 / 8;

enum class RunState {
  kWaiting,      ///< nothing of it was begun, or its next part was not
  kRunning,      ///< a living process writes one of its logs
  kInterrupted,  ///< begun and not finished, without an active process
  kFailed,
  kDone
};

/// A part of a run.
enum class RunPart { kNone, kTrain, kEvaluate, kSelect, kTest };

/// How far a run is.
struct RunStatus {
  std::string id, table, scale, backbone, method;
  std::string row;  ///< its name in the table
  std::int64_t seed = 0;
  std::filesystem::path folder;
  RunState state = RunState::kWaiting;
  RunPart part = RunPart::kNone;                ///< what it does, or was at when it stopped
  std::optional<std::int64_t> checkpoint = {};  ///< of an evaluation or test
  std::optional<std::int64_t> update = {}, updates = {};
  std::optional<std::int64_t> images = {}, images_total = {};  ///< of an evaluation or test
  std::optional<double> reward = {};                           ///< mean of the last update
  std::optional<double> images_per_second = {};
  std::optional<double> eta_seconds = {};      ///< of the part that runs
  std::int64_t jobs_done = 0, jobs = 0;        ///< training, evaluations, test
  std::optional<double> last_event = {};       ///< seconds since 1970
  std::vector<std::int64_t> experiments = {};  ///< finished ones that it belongs to
  std::string failure = {};
  pid_t process = 0;       ///< of a running one's worker; 0: on another machine
  std::string queue = {};  ///< of its part as a batch job: "queued (17: Priority)", "17 on n1"
};

/// Runs of one table that no finished experiment holds yet.
struct ExperimentStatus {
  std::string table, backbone, scale;
  std::int64_t jobs_done = 0, jobs = 0;
  std::optional<double> eta_seconds = {};  ///< nothing until some of its work was measured
};

struct WorkspaceStatus {
  std::optional<pid_t> holder;  ///< the `harness` process that works here; 0: on another machine
  std::vector<ExperimentStatus> under_way;
  std::vector<RunStatus> runs;
  std::string batch = {};         ///< name of the batch system that was asked for jobs
  std::string continuation = {};  ///< of a detached table: "31 (Resources)", the job that goes on with it
  std::optional<FinishedExperiment> last;  ///< the one that was recorded or asked for last
  std::vector<std::string> notes;          ///< what could not be read
};

/// Which runs are shown: those of the experiments under way or, where there are none, of the last one; all
/// that no finished experiment holds; all.
enum class StatusScope { kCurrent, kUnfinished, kAll };

/// What batch systems report of jobs, each polled once and only if a job may still be in its queue.
class QueueAnswers {
 public:
  /// Nothing where there is no such job, or no answer.
  const QueuedJob* find(const Submission& submission);
  /// Why one did not answer; "" where all did, or none was asked.
  const std::string& trouble() const { return trouble_; }
  /// Of the system that was asked last; "" for none.
  const std::string& name() const { return name_; }

 private:
  BatchQueues queues_;
  std::string trouble_, name_;
};

/// Reads how far a workspace's runs are out of its journal and event logs alone: they are never out of date,
/// can be read on any file system while others write, and no lock is taken. Throws Error where the journal
/// cannot be read, with status 2 if nothing was recorded there.
WorkspaceStatus read_status(const Workspace& workspace, StatusScope scope, QueueAnswers& queue);

/// In words, "running" or "queued (17: Priority)", of every run of the workspace's journal that no finished
/// experiment holds; empty without a journal. Unreadable parts are reported on standard error.
std::map<std::string, std::string> run_states(const Workspace& workspace);

/// "running", "train"
std::string run_state_name(RunState state);
std::string run_part_name(RunPart part);

/// What has become of a run (run_state_name): of all its parts where `known`, run_states of its workspace,
/// has it; else, as of one that a finished experiment holds, of its training.
std::string live_state(Store& store, const StoredRun& run, const std::map<std::string, std::string>& known);

/// Nothing is null that is not unknown.
Json run_status_json(const RunStatus& run);

}  // namespace harness

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/processes/process.h"
#include "harness/plan/plan.h"

namespace harness {

/// What a job asks a batch system for.
struct JobRequest {
  std::string id;                           ///< of the job
  std::filesystem::path folder;             ///< of the job, absolute
  int ranks = 1, threads = 1;               ///< processes, and threads of each
  bool on_gpus = false;                     ///< one per process
  std::optional<double> memory_mb = {};     ///< of a process, on the host
  std::optional<double> seconds = {};       ///< in all, where earlier jobs were measured
  std::optional<double> unit_seconds = {};  ///< what it takes from one save to the next
  std::string arguments = {};               ///< the user's own options (Batch::option)
};

/// How the names of all of our jobs begin.
inline constexpr std::string_view kJobNames = "harness-";

/// Of the job in this folder, by which an unrecorded one is found again: another workspace may have a
/// job with this id, too.
std::string batch_job_name(const std::string& id, const std::filesystem::path& folder);

/// An option as it stands in a line of a script: "--output='a b'".
std::string script_option(const std::string& option);

/// A job as a batch system reports it.
struct QueuedJob {
  enum class Phase { kWaiting, kRunning, kHeld, kEnding, kCompleted, kEnded };

  std::string id, name, state, nodes, reason;  ///< in the system's own words
  Phase phase = Phase::kEnded;
  bool can_never_start = false;  ///< for what no other job's end will bring

  /// Waits or works, or will once more.
  bool is_alive() const { return phase <= Phase::kHeld; }
  bool is_waiting() const { return phase == Phase::kWaiting; }
  bool has_ended() const { return phase >= Phase::kCompleted; }
  /// "queued (17: Priority)", "17 on n1"
  std::string text() const;
};

/// What came of a job that a batch system was asked for.
struct Submitted {
  std::optional<std::string> job = {};  ///< its id; without one the queue must be searched for its name
  bool is_full = false;                 ///< a limit on jobs is reached, and an end of one of ours makes room
  std::string why = {};                 ///< there is no id, in a sentence
};

/// How a job that is no longer alive ended: "ended as FAILED on n1 with signal 9 (Killed)". The status is
/// never that of a success.
struct JobEnd {
  ExitStatus status;
  std::string text;
};

/// What a user's own options request per process, and per node.
struct JobArguments {
  std::optional<int> threads = {}, gpus_per_node = {};
};

/// The script of a job of a moment, and options with which it is submitted.
struct TrialScript {
  std::string text;
  std::vector<std::string> options;
};

/// What an allocation of machines has for jobs to share.
struct Room {
  int cores = 1;  ///< in all
  int nodes = 1;
  int gpus = 0;       ///< of a node
  int memory_mb = 0;  ///< of a node; 0: not limited, or by core

  /// That a job's processes are spread over, as few as hold them.
  int nodes_for(const Shares& shares, bool on_gpus) const;
};

/// What starts processes on the machines of an allocation that this program runs in.
class Launcher {
 public:
  explicit Launcher(std::string its_name) : name(std::move(its_name)) {}
  virtual ~Launcher() = default;

  /// Throws Error where there is no allocation, or no launcher.
  virtual void require() const = 0;
  virtual Room room() const = 0;
  /// The words before `harness-worker run FOLDER` that start all ranks of a job.
  virtual std::vector<std::string> job_words(const Shares& shares, bool on_gpus) const = 0;
  /// The words before a program that start it once on every node, with a GPU.
  virtual std::vector<std::string> one_per_node_words() const = 0;

  const std::string name;  ///< of its command, and for --executor
};

/// A batch system. An implementation ends with `const bool kRegistered =
/// register_batch(std::make_unique<NAME>());`
class Batch {
 public:
  struct Names {
    std::string executor;  ///< for --executor, and for the option that takes the user's own options
    std::string name;      ///< in messages
    std::string submit, list, cancel;   ///< its commands
    std::string directive;              ///< how a line of a script begins that holds options of `submit`
    std::vector<std::string> examples;  ///< of these options; help shows one or two
  };

  explicit Batch(Names its_names) : names(std::move(its_names)) {}
  virtual ~Batch() = default;

  std::string choice() const { return "--executor " + names.executor; }
  std::string option() const { return "--" + names.executor; }
  /// "job 17 of NAME"
  std::string job_text(const std::string& id) const { return "job " + id + " of " + names.name; }

  /// Runs one of its commands to its end; what a terminal signals to us does not reach it. Processes that the
  /// command leaves in its own process group end with it: a job needs a group of its own (setsid). Throws
  /// Error (status 2) where it is not on PATH. `in`: its standard input, as of ProcessOptions; `without`:
  /// variables of the environment.
  Finished run(const std::vector<std::string>& command, int in = kInherited,
               const std::vector<std::string>& without = {}) const;
  void cancel(const std::string& id) const { run({names.cancel, id}); }
  /// The words that `run` starts, for a process of one's own.
  virtual std::vector<std::string> words(const std::vector<std::string>& command) const;

  /// Throws Error (status 2) where its commands are missing, or (status 1) where it has not answered for so
  /// long.
  virtual void require(std::chrono::seconds patience) const = 0;
  /// In whose allocations jobs can be started; nullptr for none.
  virtual const Launcher* launcher() const { return nullptr; }

  /// Throws Error (status 2) for options of the user that a script cannot hold.
  virtual JobArguments parse(const std::string& arguments) const = 0;

  /// Options of a job, each for a line of its script. The user's own are last, so that they count.
  virtual std::vector<std::string> options(const JobRequest& request) const = 0;
  /// Starts `worker run FOLDER` for all ranks, with the variables of worker_environment and, of several
  /// ranks, torchrun's, its output in kWorkerLog; puts the job into the queue once more where the end of its
  /// time stopped it and it has come further. `log_begin`: bytes of its event log so far.
  virtual std::string script(const JobRequest& request, const std::filesystem::path& worker,
                             std::uint64_t log_begin) const = 0;
  /// Options of a small job that goes on with a table, above the user's own.
  virtual std::vector<std::string> continuation_options(const std::string& name,
                                                        const std::filesystem::path& log,
                                                        const std::string& arguments) const = 0;
  /// The option with which it starts once one of the jobs has ended; without any, in five minutes.
  virtual std::string start_option(const std::vector<std::string>& jobs) const = 0;
  /// Of a job that runs a command on a node and then writes "on NODE" to `log`.
  virtual TrialScript trial_script(const std::string& command, const std::filesystem::path& log, bool on_gpu,
                                   const std::string& arguments) const = 0;

  /// Throws Error (status 2) where the system refuses the job.
  virtual Submitted submit(const std::filesystem::path& script,
                           const std::vector<std::string>& options) const = 0;
  /// Throws Error (status 2) where it says now that it would refuse a job with these lines. What it does not
  /// answer is no refusal.
  virtual void require_acceptable(const std::vector<std::string>& options) const = 0;

  /// The command that prints the queue of this user, and what it has printed.
  virtual std::vector<std::string> queue_command() const = 0;
  virtual std::vector<QueuedJob> parse_queue(const std::string& printed) const = 0;
  /// What one of the commands wrote on standard error, in one line.
  virtual std::string error_text(const std::string& written) const = 0;

  /// `job`: its entry in the queue; nullptr if it has none.
  virtual JobEnd end_of(const std::string& id, const QueuedJob* job) const = 0;
  /// Takes a job out of the queue if it waits, and asks it to save and exit if it runs. Why it was not
  /// reached; "" where it was, or has ended.
  virtual std::string ask_to_stop(const std::string& id) const = 0;

  /// The line of a script that tells a worker that it runs in a job: no orchestrator waits for it.
  static std::string worker_environment(std::uint64_t log_begin);
  /// How a script begins: its shell, and a line for each of these that is not empty.
  std::string script_head(const std::vector<std::string>& options) const;

  const Names names;
};

/// Timeout for a batch system without an answer, as when its controller restarts.
inline constexpr std::chrono::minutes kBatchPatience{5};

bool register_batch(std::unique_ptr<Batch> batch);
const std::vector<std::unique_ptr<Batch>>& batches();
/// The one that --executor names so; nullptr for none.
const Batch* find_batch(const std::string& executor);
/// Likewise.
const Launcher* find_launcher(const std::string& executor);
/// Names of all of them, as a sentence has them and as --executor does.
std::string batch_names();
std::string batch_executors();

/// Set in the job that a detached command has left in the queue to go on.
inline constexpr const char* kContinues = "HARNESS_CONTINUATION";
bool is_continuation();

}  // namespace harness

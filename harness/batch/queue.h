#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/processes/process.h"
#include "harness/batch/batch.h"

namespace harness {

/// What a batch system's queue holds of this user: one question at a time for all jobs.
class BatchQueue {
 public:
  using Clock = std::chrono::steady_clock;

  /// Polls every $HARNESS_SQUEUE_S seconds (10 where it is unset).
  explicit BatchQueue(const Batch& batch);

  /// Asks now, and waits for the answer. Throws Error (Status::kFailed) where none comes.
  void read();
  /// The same, and asks again for as long as the system may take to come back.
  void read_patiently();
  /// Takes an answer that has come, and asks again once it is time.
  void poll();

  const QueuedJob* find(const std::string& id) const;
  /// The newest job of a name that is alive.
  const QueuedJob* find_living(const std::string& name) const;
  /// All of them: one may wait for another one's end.
  std::vector<QueuedJob> living(const std::string& name) const;

  /// Whether a job of any of our workspaces has not ended.
  bool has_ours() const;

  /// Between two questions.
  std::chrono::seconds interval() const { return interval_; }
  /// Whole answers so far.
  std::int64_t answers() const { return answers_; }
  /// Why the last one did not come; "" where it did.
  const std::string& trouble() const { return trouble_; }

 private:
  void take(const Finished& answer);

  const Batch& batch_;
  std::chrono::seconds interval_;
  Clock::time_point asked_{};
  std::unique_ptr<Process> question_;
  Descriptor answer_, message_;
  std::map<std::string, QueuedJob> jobs_;  ///< by id
  std::int64_t answers_ = 0;
  std::string trouble_;
};

/// Those of several systems, each read when it is asked for first.
class BatchQueues {
 public:
  BatchQueue& of(const Batch& batch);

 private:
  std::map<const Batch*, BatchQueue> read_;
};

}  // namespace harness

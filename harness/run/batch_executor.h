#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "harness/batch/queue.h"
#include "harness/run/estimate.h"
#include "harness/run/executor.h"

namespace harness {

/// A batch job for each job. The workers write their folders and nothing else; what the batch system says of
/// them is why they do not work yet, or no longer. Jobs go on when we end, and are adopted by their names.
class BatchExecutor : public Executor {
 public:
  using RequestOf = std::function<JobRequest(const Task&)>;

  /// Reads the queue. `continuation`: the name that a job has in it which continues the table; "" for
  /// none. Throws Error (Status::kFailed) where the system does not answer.
  BatchExecutor(const Batch& batch, std::filesystem::path worker, RequestOf request_of,
                std::string continuation);

  std::unique_ptr<RunningJob> start(boost::asio::io_context& io, Task task,
                                    RunningJob::OnLine on_line) override;
  std::vector<std::string> poll() override;
  bool jobs_outlive_us() const override { return true; }
  std::optional<std::string> goes_on_with_jobs() const override;
  std::string how_started() const override { return "with " + batch_.names.name; }
  /// What a job may need to reach the end of its epoch and to save.
  std::chrono::milliseconds stop_limit() const override { return std::chrono::minutes(15); }

 private:
  const Batch& batch_;
  std::filesystem::path worker_;
  RequestOf request_of_;
  BatchQueue queue_;
  std::string continuation_, trouble_;
  std::int64_t full_at_ = -1;  ///< the answer of the queue since which the system takes no more jobs
};

/// What a job of a plan asks a batch system for: `job` with its id, folder and estimated seconds, completed
/// by how the work is shared, what earlier jobs took, and the user's own options.
JobRequest job_request(JobRequest job, const Plan& plan, const Shares& shares, const Rates& rates,
                       const std::string& arguments);

}  // namespace harness

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "harness/run/estimate.h"
#include "harness/run/executor.h"
#include "harness/slurm/batch_script.h"
#include "harness/slurm/queue.h"

namespace harness {

/// A batch job of Slurm's for each job. The workers write their folders and nothing else; what Slurm says of
/// them is why they do not work yet, or no longer. Jobs go on when we end, and are adopted by their names.
class SlurmExecutor : public Executor {
 public:
  using RequestOf = std::function<SlurmRequest(const Task&)>;

  /// Reads the queue. `continuation`: the name that a job has in it which goes on with the table; "" for
  /// none. Throws Error (Status::kFailed) where Slurm does not answer.
  SlurmExecutor(std::filesystem::path worker, RequestOf request_of, std::string continuation);

  std::unique_ptr<RunningJob> start(boost::asio::io_context& io, Task task,
                                    RunningJob::OnLine on_line) override;
  std::vector<std::string> look() override;
  bool jobs_outlive_us() const override { return true; }
  /// Slurm ends those that hang at their time's end.
  bool hears_jobs() const override { return false; }
  std::optional<std::string> goes_on_with_jobs() const override;
  std::string how_started() const override { return "with Slurm"; }
  /// What a job may need to reach the end of its epoch and to save.
  std::chrono::milliseconds stop_limit() const override { return std::chrono::minutes(15); }

 private:
  std::filesystem::path worker_;
  RequestOf request_of_;
  SlurmQueue queue_;
  std::string continuation_, trouble_;
  std::int64_t full_at_ = -1;  ///< the answer of the queue since which Slurm takes no more jobs
};

/// What a job of a plan asks Slurm for: `job` with its id, folder and estimated seconds, completed by how the
/// work is shared and what earlier jobs took. `arguments`: of --slurm.
SlurmRequest slurm_request(SlurmRequest job, const Plan& plan, const Shares& shares, const Rates& rates,
                           const std::string& arguments);

}  // namespace harness

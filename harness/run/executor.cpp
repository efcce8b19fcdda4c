#include "harness/run/executor.h"

#include <algorithm>

#include "core/host.h"
#include "core/processes/process.h"
#include "core/require.h"
#include "core/text.h"
#include "harness/batch/batch.h"
#include "harness/run/local_job.h"

namespace harness {

LocalExecutor::LocalExecutor(const SchedulerSettings& settings)
    : settings_(settings), free_gpus_(std::make_shared<std::vector<std::string>>(settings.gpus)) {}

std::unique_ptr<RunningJob> LocalExecutor::start(boost::asio::io_context& io, Task task,
                                                 RunningJob::OnLine on_line) {
  if (settings_.gpus.empty())
    return std::make_unique<LocalJob>(io, settings_, std::move(task), std::move(on_line));
  const auto count = std::min(free_gpus_->size(), static_cast<std::size_t>(settings_.ranks));
  require(count > 0, "more jobs at a time than GPUs for them");
  auto own = settings_;
  own.gpus.assign(free_gpus_->begin(), free_gpus_->begin() + static_cast<std::ptrdiff_t>(count));
  free_gpus_->erase(free_gpus_->begin(), free_gpus_->begin() + static_cast<std::ptrdiff_t>(count));
  auto job = std::make_unique<LocalJob>(io, own, std::move(task), std::move(on_line));
  job->on_gone = [free = free_gpus_, gpus = own.gpus] {
    free->insert(free->begin(), gpus.begin(), gpus.end());
  };
  return job;
}

std::vector<std::string> visible_gpus() {
  std::vector<std::string> gpus;
  const auto named = environment("CUDA_VISIBLE_DEVICES");
  const auto all = !named.empty()
                       ? split(named, ',')
                       : split(output_of({"nvidia-smi", "--query-gpu=index", "--format=csv,noheader"}), '\n');
  for (const auto& gpu : all) {
    if (!trim(gpu).empty()) gpus.emplace_back(trim(gpu));
  }
  return gpus;
}

std::vector<std::string> executor_names() {
  std::vector<std::string> names = {kLocalExecutor};
  for (const auto& batch : batches()) {
    if (const auto* launcher = batch->launcher()) names.push_back(launcher->name);
    names.push_back(batch->names.executor);
  }
  return names;
}

}  // namespace harness

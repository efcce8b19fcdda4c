#include "trainers/loop/train_job.h"

#include "trainers/rollout.h"

namespace harness {

Json SpentTime::to_json() const {
  return {{"seconds", seconds},           {"scorer_seconds", scorer_seconds},
          {"core_seconds", core_seconds}, {"gpu_busy_seconds", or_null(gpu_busy_seconds)},
          {"peak_bytes", peak_bytes},     {"weight_copies", weight_copies}};
}

std::vector<int> prompts_of_epoch(const TrainJob& job, std::int64_t epoch) {
  return epoch_prompts(job.seed, epoch, job.settings.prompts_per_epoch,
                       static_cast<std::int64_t>(job.prompts.size()));
}

std::vector<PromptText> prompts_of_all_epochs(const TrainJob& job) {
  std::vector<PromptText> texts;
  const auto per_epoch = job.settings.updates_of_an_epoch();
  for (std::int64_t epoch = 1; (epoch - 1) * per_epoch < job.settings.updates; ++epoch) {
    for (const auto i : prompts_of_epoch(job, epoch))
      texts.push_back(job.prompts[static_cast<std::size_t>(i)]);
  }
  return texts;
}

}  // namespace harness

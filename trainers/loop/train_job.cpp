#include "trainers/loop/train_job.h"

#include <type_traits>

#include "trainers/rollout.h"

namespace harness {

Json SpentTime::to_json() const {
  Json json;
  for_each(*this, [&]<class T>(const char* name, const T& cost) {
    if constexpr (std::is_same_v<T, double>)
      json[name] = cost;
    else
      json[name] = or_null(cost);
  });
  return json;
}

SpentTime SpentTime::from_json(Fields fields) {
  SpentTime spent;
  for_each(spent, [&]<class T>(const char* name, T& cost) {
    if (std::is_same_v<T, double> || !fields.get(name).is_null()) cost = fields.required<double>(name);
  });
  return spent;
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

#include "trainers/loop/objective.h"

#include <fmt/format.h>

#include "core/error.h"

namespace harness {

void describe_rewards(const Epoch& epoch, UpdateRecord& record) {
  record.stats["reward_mean"] = epoch.reward_mean;
  record.stats["reward_std"] = epoch.reward_std;
  record.stats["zero_std_groups"] = epoch.zero_std_groups;
  record.stats["missing_rewards"] = epoch.missing;
}

void fail_not_finite(const std::string& what, int step, std::int64_t update) {
  const auto place =
      step < 0 ? fmt::format("in update {}", update) : fmt::format("at step {} of update {}", step, update);
  throw Error(fmt::format("{} is not finite {}", what, place), "training", "lower lr, or raise eps_lambda",
              Status::kFailed);
}

}  // namespace harness

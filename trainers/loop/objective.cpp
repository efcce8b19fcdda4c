#include "trainers/loop/objective.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"

namespace harness {

std::unique_ptr<FoldSum> sum_gradients(const RunParts& parts, std::size_t shards, std::size_t of_shard,
                                       const std::function<TaskLoss(std::size_t task)>& loss_of) {
  auto sum = std::make_unique<FoldSum>(parts.parameters.size(), shards * of_shard,
                                       static_cast<std::size_t>(parts.settings.gradient_folds), parts.ranks);
  const auto own = parts.ranks.part_of(shards);
  parts.pool.run(own.count() * of_shard, [&](std::size_t i) {
    const BusyTime::Piece piece(parts.backbone.busy_time());
    const auto task = own.first * of_shard + i;
    const auto [loss, weight] = loss_of(task);
    sum->add(task,
             loss.defined() ? parts.loss_scale.gradients(loss, parts.parameters)
                            : FoldSum::Gradients(parts.parameters.size()),
             weight);
  });
  sum->gather(parts.parameters);
  return sum;
}

void describe_rewards(const Epoch& epoch, UpdateRecord& record) {
  record.stats["reward_mean"] = epoch.reward_mean;
  record.stats["reward_std"] = epoch.reward_std;
  record.stats["zero_std_groups"] = epoch.zero_std_groups;
  record.stats["missing_rewards"] = epoch.missing;
}

void require_finite(double value, const std::string& what, int step, std::int64_t update) {
  if (std::isfinite(value)) return;
  const auto place =
      step < 0 ? fmt::format("in update {}", update) : fmt::format("at step {} of update {}", step, update);
  throw Error(fmt::format("{} is not finite {}", what, place), "training", "lower lr, or raise eps_lambda",
              Status::kFailed);
}

}  // namespace harness

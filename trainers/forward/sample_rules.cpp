#include "trainers/forward/sample_rules.h"

#include <algorithm>
#include <limits>

namespace harness {

using torch::Tensor;

Tensor optimality(const Tensor& advantage, double range) {
  return (advantage.to(torch::kFloat64).clamp(-range, range) / range / 2 + 0.5).clamp(0, 1);
}

Tensor same_group(const Tensor& group) {
  return group.unsqueeze(1) == group.unsqueeze(0);
}

Tensor softmax_together(const Tensor& x, const Tensor& together) {
  const auto rows = x.to(torch::kFloat64).unsqueeze(0).expand(together.sizes());
  return rows.masked_fill(together.logical_not(), -std::numeric_limits<double>::infinity()).softmax(1);
}

Tensor softmax_weights(const Tensor& advantage, const Tensor& group, double temperature) {
  const auto together = same_group(group);
  return softmax_together(advantage / temperature, together).diagonal() * together.sum(1);
}

Tensor weighted_sums(const Tensor& x, const Tensor& weights) {
  return (x.unsqueeze(-2) * weights).sum(-1);
}

bool PresentRewards::differ() const {
  return std::ranges::adjacent_find(rewards, std::not_equal_to<>()) != rewards.end();
}

void for_each_group(const RewardGroups& groups, const std::function<void(const PresentRewards&)>& body) {
  const auto size = static_cast<std::size_t>(groups.group_size);
  for (std::size_t first = 0; first < groups.rewards.size(); first += size) {
    PresentRewards present;
    for (std::size_t i = first; i < first + size; ++i) {
      if (!groups.rewards[i]) continue;
      present.rows.push_back(static_cast<std::int64_t>(i));
      present.rewards.push_back(*groups.rewards[i]);
    }
    body(present);
  }
}

Selection with_rewards(Selection selection, const RewardGroups& groups) {
  std::erase_if(selection.rows,
                [&](std::int64_t row) { return !groups.rewards[static_cast<std::size_t>(row)]; });
  selection.units = static_cast<std::int64_t>(selection.rows.size());
  return selection;
}

ForwardLoss described(Tensor loss, std::map<std::string, Tensor> terms,
                      const std::map<std::string, std::string>& recorded) {
  std::vector<Tensor> means;
  for (auto& [name, term] : terms) term = term.detach();
  for (const auto& [name, term] : recorded) means.push_back(terms.at(term).to(torch::kFloat64).mean());
  ForwardLoss out{.loss = std::move(loss), .terms = std::move(terms)};
  if (means.empty()) return out;
  const auto numbers = torch::stack(means).cpu();  // one transfer from a GPU
  std::int64_t i = 0;
  for (const auto& [name, term] : recorded) out.records[name] = numbers[i++].item<double>();
  return out;
}

}  // namespace harness

#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/nn/torch.h"
#include "trainers/forward/forward_method.h"

namespace harness {

// Rules on the samples of a shard for losses on the forward process. B: samples; M: draws.

/// [B] optimality in [0, 1] (DiffusionNFT, arXiv 2509.16117): advantages clamped to plus and minus `range`,
/// mapped linearly so that 0 gives 1/2.
torch::Tensor optimality(const torch::Tensor& advantage, double range);

/// [B,B] bool: which samples are of one prompt. group: [B].
torch::Tensor same_group(const torch::Tensor& group);

/// [B,B] row i: the softmax of x [B] over the samples that are `together` with i, 0 for the others.
torch::Tensor softmax_together(const torch::Tensor& x, const torch::Tensor& together);

/// [B] G softmax(A / temperature) over the G samples of a prompt: mean 1. advantage, group: [B].
torch::Tensor softmax_weights(const torch::Tensor& advantage, const torch::Tensor& group, double temperature);

/// [M,B] sum of x [M,B] or [B] over the samples of each sample's row of `weights` [B,B], times these.
torch::Tensor weighted_sums(const torch::Tensor& x, const torch::Tensor& weights);

/// The samples of one prompt that have a reward.
struct PresentRewards {
  std::vector<std::int64_t> rows;  ///< of the shard
  std::vector<double> rewards;

  bool differ() const;  ///< two of the rewards do
};
void for_each_group(const RewardGroups& groups, const std::function<void(const PresentRewards&)>& body);

/// The samples of a selection that have a reward.
Selection with_rewards(Selection selection, const RewardGroups& groups);

/// A loss with its terms detached, and as records the means of some of them: recorded[name] = term.
ForwardLoss described(torch::Tensor loss, std::map<std::string, torch::Tensor> terms,
                      const std::map<std::string, std::string>& recorded);

}  // namespace harness

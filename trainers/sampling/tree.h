#pragma once

#include <optional>
#include <span>
#include <vector>

namespace harness {

/// A tree of latents, level by level from the root (node 0, the initial noise); the children of a node are
/// adjacent. Depth d: the latents before step d.
struct Tree {
  std::vector<int> parent;  ///< -1 for the root
  std::vector<int> depth;
  std::vector<int> leaves;  ///< leaves below each node; 1 for a leaf
};

/// Every node has one child per step, and `fanout` at the steps of `splits`.
Tree tree_of(int steps, std::span<const int> splits, int fanout = 2);

/// A value per node from the leaves' rewards: the mean over its children, or with edge_log_prob (of the edge
/// into node n at n - 1) their mean by the softmax of these (BranchGRPO). Missing leaves are ignored.
std::vector<std::optional<double>> node_rewards(const Tree& tree,
                                                std::span<const std::optional<double>> leaf_rewards,
                                                std::span<const double> edge_log_prob = {});

/// (r - mean) / (standard deviation with divisor n - 1 + eps) of the present values; 0 for a single or
/// missing value, and if the deviation is below `flat`.
std::vector<double> unbiased_scores(std::span<const std::optional<double>> values, double eps, double flat);

/// The noise levels that finish a child of step k with a stride: sigmas[k + 1], then every stride-th from
/// sigmas[k + 2] on, the last of them replaced by 0.
std::vector<float> strided_grid(std::span<const float> sigmas, int k, int stride);

}  // namespace harness

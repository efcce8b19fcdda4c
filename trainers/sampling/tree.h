#pragma once

#include <optional>
#include <span>
#include <vector>

namespace harness {

/// The nodes of a tree of latents, level by level from the root (node 0, the starting noise); children of a
/// node lie side by side. Depth d: the latents before step d.
struct Tree {
  std::vector<int> parent;  ///< -1 for the root
  std::vector<int> depth;
  std::vector<int> leaves;  ///< leaves behind each node; 1 for a leaf

  int nodes_at(int level) const;
};

/// Every node has one child a step, and `fanout` at the steps of `splits`.
Tree tree_of(int steps, std::span<const int> splits, int fanout = 2);

/// A value a node from those of the leaves (rewards of the last level, in order): the mean over its children,
/// or with edge_log_prob (of the edge into node n at n - 1) their mean by the softmax of these (BranchGRPO).
/// Missing leaves are left out; a node without any has no value.
std::vector<std::optional<double>> node_rewards(const Tree& tree,
                                                std::span<const std::optional<double>> leaf_rewards,
                                                std::span<const double> edge_log_prob = {});

/// (r - mean) / (standard deviation with divisor n - 1 + eps) among the values that are there; 0 for a lone
/// value, for a missing one and where the deviation is below `flat`.
std::vector<double> unbiased_scores(std::span<const std::optional<double>> values, double eps, double flat);

/// The noise levels on which a child of step k is finished with a stride: sigmas[k + 1], then every
/// stride-th from sigmas[k + 2] on; the last of them becomes 0, since the image is the clean prediction of
/// the last evaluation.
std::vector<float> strided_grid(std::span<const float> sigmas, int k, int stride);

}  // namespace harness

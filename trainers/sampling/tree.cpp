#include "trainers/sampling/tree.h"

#include <algorithm>
#include <cmath>

#include "core/require.h"

namespace harness {
namespace {

using Values = std::span<const std::optional<double>>;

std::vector<double> present(Values values) {
  std::vector<double> there;
  for (const auto& value : values) {
    if (value) there.push_back(*value);
  }
  return there;
}

struct Spread {
  double mean = 0, squares = 0;  ///< of deviations from the mean, summed
};

Spread spread_of(const std::vector<double>& values) {
  Spread spread;
  for (const double value : values) spread.mean += value / static_cast<double>(values.size());
  for (const double value : values) spread.squares += (value - spread.mean) * (value - spread.mean);
  return spread;
}

/// (r - mean) / divisor; 0 for a missing one.
std::vector<double> scores(Values values, double mean, double divisor) {
  std::vector<double> result;
  for (const auto& value : values) result.push_back(value ? (*value - mean) / divisor : 0);
  return result;
}

/// The mean of the children's values, by their shares where edges have log-probabilities.
std::optional<double> joined(const std::vector<int>& children,
                             const std::vector<std::optional<double>>& value,
                             std::span<const double> edge_log_prob) {
  double largest = -INFINITY, sum = 0, weights = 0;
  for (const int child : children) {
    if (!edge_log_prob.empty())
      largest = std::max(largest, edge_log_prob[static_cast<std::size_t>(child) - 1]);
  }
  for (const int child : children) {
    const auto& of_child = value[static_cast<std::size_t>(child)];
    if (!of_child) continue;
    const double weight =
        edge_log_prob.empty() ? 1 : std::exp(edge_log_prob[static_cast<std::size_t>(child) - 1] - largest);
    sum += weight * *of_child;
    weights += weight;
  }
  if (weights == 0) return {};
  return sum / weights;
}

}  // namespace

Tree tree_of(int steps, std::span<const int> splits, int fanout) {
  Tree tree{.parent = {-1}, .depth = {0}, .leaves = {}};
  std::vector<int> level = {0};
  for (int k = 0; k < steps; ++k) {
    std::vector<int> next;
    const int children = std::ranges::count(splits, k) > 0 ? fanout : 1;
    for (const int node : level) {
      for (int c = 0; c < children; ++c) {
        next.push_back(static_cast<int>(tree.parent.size()));
        tree.parent.push_back(node);
        tree.depth.push_back(k + 1);
      }
    }
    level = std::move(next);
  }
  tree.leaves.assign(tree.parent.size(), 0);
  for (auto n = tree.parent.size(); n-- > 0;) {
    if (tree.depth[n] == steps) tree.leaves[n] = 1;
    if (n > 0) tree.leaves[static_cast<std::size_t>(tree.parent[n])] += tree.leaves[n];
  }
  return tree;
}

std::vector<std::optional<double>> node_rewards(const Tree& tree, Values leaf_rewards,
                                                std::span<const double> edge_log_prob) {
  const auto nodes = tree.parent.size(), first_leaf = nodes - leaf_rewards.size();
  require(static_cast<int>(leaf_rewards.size()) == tree.leaves.front(), "a reward for each leaf");
  std::vector<std::vector<int>> children(nodes);
  for (std::size_t n = 1; n < nodes; ++n)
    children[static_cast<std::size_t>(tree.parent[n])].push_back(static_cast<int>(n));
  std::vector<std::optional<double>> value(nodes);
  for (auto n = nodes; n-- > 0;)
    value[n] = n >= first_leaf ? leaf_rewards[n - first_leaf] : joined(children[n], value, edge_log_prob);
  return value;
}

std::vector<double> unbiased_scores(Values values, double eps, double flat) {
  const auto there = present(values);
  if (there.size() < 2) return std::vector<double>(values.size());
  const auto [mean, squares] = spread_of(there);
  const double deviation = std::sqrt(squares / static_cast<double>(there.size() - 1));
  if (deviation < flat || deviation == 0) return std::vector<double>(values.size());
  return scores(values, mean, deviation + eps);
}

std::vector<float> strided_grid(std::span<const float> sigmas, int k, int stride) {
  std::vector<float> grid = {sigmas[static_cast<std::size_t>(k) + 1]};
  for (auto i = static_cast<std::size_t>(k) + 2; i < sigmas.size(); i += static_cast<std::size_t>(stride))
    grid.push_back(sigmas[i]);
  grid.back() = 0;
  return grid;
}

}  // namespace harness

#include <fmt/format.h>

#include <optional>

#include "trainers/advantage.h"
#include "trainers/methods/forks.h"
#include "trainers/parity/method_cases.h"
#include "trainers/parity/rows.h"
#include "trainers/sampling/tree.h"

namespace harness {
namespace {

using torch::Tensor;
using Values = std::vector<std::optional<double>>;

Values optional_doubles(const Tensor& t) {
  const auto values = doubles(t);
  return {values.begin(), values.end()};
}

Tensor tensor_of(const std::vector<double>& values, torch::ScalarType dtype) {
  return torch::tensor(values, torch::kFloat64).to(dtype);
}

/// Advantages of all nodes of a tree, depth by depth.
std::vector<double> depth_advantages(const Tree& tree, const Values& value, double eps, double flat) {
  std::vector<double> all;
  for (int depth = 0; depth <= tree.depth.back(); ++depth) {
    Values level;
    for (std::size_t n = 0; n < value.size(); ++n) {
      if (tree.depth[n] == depth) level.push_back(value[n]);
    }
    const auto scores = unbiased_scores(level, eps, flat);
    all.insert(all.end(), scores.begin(), scores.end());
  }
  return all;
}

TensorMap run_tree(const ParityCase& c) {
  auto params = c.param_fields();
  const auto splits = params.required<std::vector<int>>("splits");
  const auto tree = tree_of(params.required<int>("steps"), splits);
  const auto eps = params.required<double>("eps"), flat = params.required<double>("flat");
  Rows rows;
  TensorMap out;
  for (const auto& [prefix, dtype] : kPrecisions) {
    for (std::int64_t t = 0; t < c.input("leaf_rewards").size(0); ++t) {
      const auto leaves = optional_doubles(c.input("leaf_rewards")[t]);
      const auto log_probs = doubles(c.input("edge_log_prob")[t]);
      for (const bool by_softmax : {false, true}) {
        const auto label = fmt::format("{}{}.", prefix, by_softmax ? "softmax" : "mean");
        const auto value = node_rewards(tree, leaves, by_softmax ? log_probs : std::vector<double>());
        std::vector<double> rewards;
        for (const auto& each : value) rewards.push_back(each.value());
        rows.add(label + "reward", tensor_of(rewards, dtype));
        rows.add(label + "advantage", tensor_of(depth_advantages(tree, value, eps, flat), dtype));
      }
    }
    const auto whole = [&, &p = prefix](const char* name, const std::vector<int>& values) {
      out[std::string(p) + name] = torch::tensor(values, torch::kInt64);
    };
    whole("parent", tree.parent);
    whole("depth", tree.depth);
    whole("leaves", tree.leaves);
  }
  out.merge(rows.stacked());
  return out;
}

/// Rewards of one forked step [rewards, strides, children] with the grids of a child side by side.
Values by_child(const Tensor& rewards) {
  return optional_doubles(rewards.flatten(0, 1).transpose(0, 1));
}

TensorMap run_anchor(const ParityCase& c) {
  auto params = c.param_fields();
  const auto strides = params.required<std::vector<int>>("strides");
  const auto forks = params.required<int>("branched"), trunks = params.required<int>("seeds");
  const auto sigmas = floats(c.input("sigmas"));
  const auto &rewards = c.input("rewards"), &of_children = c.input("step_rewards");
  const auto fanout = static_cast<int>(of_children.size(1)) / trunks;
  Rows rows;
  TensorMap out;
  for (const auto& [prefix, dtype] : kPrecisions) {
    const std::string p = prefix;
    for (int k = 0; k < forks; ++k) {
      std::vector<std::int64_t> evaluations;
      for (const int stride : strides) {
        const auto grid = strided_grid(sigmas, k, stride);
        out[fmt::format("{}{}.{}.sigmas", p, k, stride)] = torch::tensor(grid).to(dtype);
        evaluations.push_back(static_cast<std::int64_t>(grid.size()) - 1);
      }
      rows.add(p + "evaluations", torch::tensor(evaluations, torch::kInt64));
      const auto sets = static_cast<int>(rewards.size(0) * rewards.size(1));
      rows.add(p + "summed", tensor_of(granular_advantages(by_child(rewards.select(2, k)), sets), dtype));
      const auto step = optional_doubles(of_children[k]);
      rows.add(p + "by_prompt", tensor_of(group_advantages(step, fanout * trunks).raw, dtype));
      rows.add(p + "by_seed", tensor_of(group_advantages(step, fanout).raw, dtype));
    }
  }
  out.merge(rows.stacked());
  return out;
}

}  // namespace

const ParityKinds& forest_parity_kinds() {
  static const ParityKinds kinds = {{"method_tree", run_tree}, {"method_anchor", run_anchor}};
  return kinds;
}

}  // namespace harness

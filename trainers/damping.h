#pragma once

#include <optional>
#include <vector>

namespace harness {

/// The damping of an update (E44), over its shards and steps.
struct Damping {
  double mean_weight = 1;
  double share = 0;  ///< of (shard, step) with a weight below 1
};

/// weights: one a (shard, step), NaN where the method damps nothing. Nothing where it damps nowhere.
std::optional<Damping> damping_of(const std::vector<double>& weights);

}  // namespace harness

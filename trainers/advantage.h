#pragma once

#include <optional>
#include <span>
#include <vector>

namespace harness {

struct Advantages {
  std::vector<double> values;  ///< one a sample, in -limit..limit
  int zero_std_groups = 0;     ///< groups whose rewards are all equal: they teach nothing
  int missing = 0;             ///< samples without a reward
};

/// Group-relative advantages (E11): (r - mean) / (population standard deviation + 1e-4), clamped to +-limit.
/// Samples lie group after group, `group_size` each. A sample without a reward leaves its group's statistics
/// and gets 0.
Advantages group_advantages(std::span<const std::optional<double>> rewards, int group_size, double limit = 5);

}  // namespace harness

#pragma once

#include <optional>
#include <span>
#include <vector>

namespace harness {

/// Whose standard deviation a reward is divided by.
enum class AdvantageStd {
  kGroup,  ///< its group's
  kGlobal  ///< that of all rewards of the epoch
};

struct Advantages {
  std::vector<double> values;       ///< one a sample, in -limit..limit
  std::vector<bool> group_differs;  ///< one a group: two of its rewards differ
  int zero_std_groups = 0;          ///< groups whose rewards are all equal: they teach nothing
  int missing = 0;                  ///< samples without a reward
};

/// Group-relative advantages (E11): (r - group's mean) / (population standard deviation + 1e-4), clamped to
/// +-limit. Samples lie group after group, `group_size` each. A sample without a reward leaves the statistics
/// and gets 0; so do, exactly, those of a group whose rewards are all equal.
Advantages group_advantages(std::span<const std::optional<double>> rewards, int group_size, double limit = 5,
                            AdvantageStd std = AdvantageStd::kGroup);

}  // namespace harness

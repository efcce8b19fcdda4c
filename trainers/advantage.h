#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/json.h"

namespace harness {

/// The standard deviation that a reward is divided by.
enum class AdvantageStd {
  kGroup,  ///< its group's
  kGlobal  ///< that of all rewards of the epoch
};

/// How a reward r becomes an advantage. m, sd (population) and sdu (divisor n - 1) are those of its group.
enum class AdvantageRule {
  kGroup,        ///< (r - m) / (sd + 1e-4) (E11)
  kGlobal,       ///< (r - m) / (sd of all rewards of the epoch + 1e-4)
  kUnbiased,     ///< (r - m) / (sdu + 1e-8)
  kFloor,        ///< (r - m) / max(sd, 1e-6)
  kCentred,      ///< r - m
  kLeaveOneOut,  ///< r - mean of the others of the group
  kBatch,        ///< (r - mean of all rewards of the epoch) / (their sd + 1e-4)
  kTracked,      ///< by mean and sd of the last 32 rewards of that prompt, + 1e-6; kBatch until it has 16
  kWinRate,      ///< kGroup of w = (wins + ties / 2) / (G - 1) within the group
  kRaw           ///< r
};

/// Whether a reward is compared with others of its group: an image alone in its group has no advantage then.
bool compares_within_group(AdvantageRule rule);

struct Advantages {
  std::vector<double> values;       ///< per sample, in -limit..limit
  std::vector<double> raw;          ///< before they were clamped
  std::vector<bool> group_differs;  ///< per group: two of its rewards differ
  int zero_std_groups = 0;          ///< groups whose rewards are all equal
  int missing = 0;                  ///< samples without a reward
};

/// Advantages by `rule`, clamped to +-limit (E11 is kGroup), of samples group after group. A sample without a
/// reward is excluded from the statistics and gets 0. Under rules that compare within the group (all but
/// kBatch, kTracked, kRaw) a group of equal rewards gets exactly 0. kTracked has no history here: kBatch.
Advantages group_advantages(std::span<const std::optional<double>> rewards, int group_size, double limit = 5,
                            AdvantageRule rule = AdvantageRule::kGroup);

/// w of kWinRate for the rewards of one group, two or more, none missing.
std::vector<double> win_rates(std::span<const double> rewards);

/// The rules with their state between epochs.
class AdvantageTracker {
 public:
  /// unit_of_first_epoch: divide advantages in units of the reward (kCentred, kLeaveOneOut, kRaw) by the
  /// population standard deviation of all rewards of the first epoch where that is not 0.
  AdvantageTracker(AdvantageRule rule, bool unit_of_first_epoch, double limit);

  /// The advantages of an epoch, as group_advantages. prompts: position of each group's prompt. A history
  /// includes the epoch's own rewards.
  Advantages next(std::span<const std::optional<double>> rewards, int group_size,
                  std::span<const int> prompts);

  Json state() const;  ///< null without state; numbers round-trip
  /// Throws Error (`where`) for a state of another rule.
  void restore(const Json& state, const std::string& where);

 private:
  void remember(std::span<const std::optional<double>> rewards, int group_size, std::span<const int> prompts);

  AdvantageRule rule_;
  bool takes_unit_;
  double limit_;
  std::optional<double> unit_;
  std::map<int, std::vector<double>> history_;  ///< kTracked: last rewards by prompt
};

}  // namespace harness

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "results/statistics/verdict.h"

namespace harness {

/// What a leaderboard says of a method beside its baseline.
enum class Standing {
  kBaseline,
  kBetter,               ///< at equal images and at equal evaluations
  kBetterPerImage,       ///< at equal images alone
  kWorse,                ///< the baseline is better, likewise
  kWorsePerImage,        ///< likewise
  kEqual,                ///< within the margin of the plan, at equal images
  kNoDifference,         ///< none shown
  kExploratory,          ///< no family has the question
  kCheckpointsDiffer,    ///< too few training runs for a statement about methods
  kCheckpointsAreAlike,  ///< likewise, and no difference shown
  kNotCompared
};

/// What a method's standing rests on.
struct LeaderboardEvidence {
  std::string method;
  std::optional<double> mean = {};                 ///< of the metric at the selected checkpoints
  std::optional<PairedComparison> at_images = {};  ///< method - baseline at equal images
  Judgement judgement = {};                        ///< of it, in the table's family
  std::optional<double> equal_evaluations = {};    ///< nfe_total at which it and the baseline were cut
  std::optional<double> spent_within = {};         ///< of it by the method's last candidate, a mean over runs
  std::optional<double> baseline_spent_within = {};     ///< likewise by the baseline's
  std::optional<double> at_evaluations_mean = {};       ///< mean of the second view
  std::optional<PairedComparison> at_evaluations = {};  ///< method - baseline at equal evaluations
  /// Guardrail metrics in which the method is worse than the baseline, by the table's verdicts.
  std::vector<std::string> worse_guardrails = {};
  std::vector<std::string> better_guardrails = {};  ///< likewise of which the baseline is worse
  std::vector<std::string> notes = {};              ///< that stand with the verdict: "unequal movement", ...
};

struct LeaderboardRow : LeaderboardEvidence {
  Standing standing = Standing::kNotCompared;
  std::string verdict = {};  ///< in words, with the guardrails of which the winner is worse
  std::string groups = {};   ///< letters; methods that share one cannot be told apart
};

/// A comparison of two rows, by their numbers in the list of evidence.
struct LeaderboardPair {
  std::size_t first = 0, second = 0;
  bool differs = false;  ///< of methods: judge, Holm over all pairs
};

struct Leaderboard {
  std::string metric, baseline;
  Better better = Better::kUp;
  /// Those of the same letters together, by the highest mean among them; within them in the table's order.
  std::vector<LeaderboardRow> rows = {};
  bool has_groups = false;
  std::size_t pairs = 0;         ///< that Holm adjusts for in the groups
  bool has_second_view = false;  ///< the table asks for it
  std::vector<std::string> cut_too_early =
      {};                         ///< rows that have no second view, as the other had spent more
  std::int64_t second_tests = 0;  ///< checkpoints tested for the second view alone
};

/// Decides every row. A method is better where the difference at equal images is resolved (judge), with up to
/// kFewestRuns runs has the same sign in each, and the interval at equal evaluations, at the same level, lies
/// on the same side of 0. board: all but its rows; pairs: all of them, for the groups, or none.
Leaderboard leaderboard(Leaderboard board, const std::vector<LeaderboardEvidence>& evidence,
                        const std::vector<LeaderboardPair>& pairs);

/// What the leaderboard says of a difference at equal images, where that is less than better or worse:
/// "better per image, worse per evaluation"; else empty.
std::string split_verdict(const LeaderboardEvidence& evidence, Better better);

/// "better", "better_per_image", ...
std::string_view standing_name(Standing standing);

/// {"metric", "baseline", "rows": [{"method", "mean", "groups", "standing", "verdict", ...}], ...}
Json leaderboard_json(const Leaderboard& board);

}  // namespace harness

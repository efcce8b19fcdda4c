#include "results/verdict/leaderboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/json.h"
#include "core/text.h"
#include "results/statistics/letters.h"

namespace harness {
namespace {

bool same_sign_in_every_run(const PairedComparison& comparison) {
  return std::ranges::all_of(comparison.crossed->per_run,
                             [&](const RunDifference& run) { return run.delta * *comparison.delta > 0; });
}

/// The second view is heard where it has runs enough for the first one's claim, and an interval.
bool has_second_view(const LeaderboardEvidence& row) {
  return row.at_evaluations && row.at_evaluations->delta &&
         claim_of(*row.at_evaluations) == claim_of(*row.at_images) && interval_of(*row.at_evaluations);
}

enum class AtEvaluations { kNotCompared, kAgrees, kIsReversed, kShowsNothing };

/// What the interval at equal evaluations says, at the level of the one at equal images.
AtEvaluations at_evaluations(const LeaderboardEvidence& row) {
  if (!has_second_view(row)) return AtEvaluations::kNotCompared;
  const auto interval = *interval_at(*row.at_evaluations, row.judgement.claim, row.judgement.level);
  if (!interval.excludes_zero()) return AtEvaluations::kShowsNothing;
  return (*row.at_images->delta > 0) == (interval.low > 0) ? AtEvaluations::kAgrees
                                                           : AtEvaluations::kIsReversed;
}

/// What the difference shows where it is one between methods.
Standing shown_standing(const LeaderboardEvidence& row, Better better) {
  const bool is_better = direction_of(*row.at_images->delta, better) == "better";
  const bool holds = at_evaluations(row) == AtEvaluations::kAgrees;
  if (is_better) return holds ? Standing::kBetter : Standing::kBetterPerImage;
  return holds ? Standing::kWorse : Standing::kWorsePerImage;
}

Standing standing_of(const LeaderboardEvidence& row, Better better) {
  if (!row.at_images || !row.at_images->delta) return Standing::kNotCompared;
  if (row.judgement.is_exploratory) return Standing::kExploratory;
  if (!row.judgement.of_methods())
    return row.judgement.differs ? Standing::kCheckpointsDiffer : Standing::kCheckpointsAreAlike;
  if (row.judgement.is_equal) return Standing::kEqual;
  const bool few_runs = row.at_images->crossed->runs <= kFewestRuns;
  if (!row.judgement.differs || (few_runs && !same_sign_in_every_run(*row.at_images)))
    return Standing::kNoDifference;
  return shown_standing(row, better);
}

/// The second half of a split verdict, or why there is none.
std::string per_evaluation_text(const LeaderboardRow& row, const char* other) {
  switch (at_evaluations(row)) {
    case AtEvaluations::kIsReversed:
      return fmt::format("{} per evaluation", other);
    case AtEvaluations::kShowsNothing:
      return "no difference shown at equal evaluations";
    default:
      return "not compared at equal evaluations";
  }
}

std::string standing_text(const LeaderboardRow& row) {
  switch (row.standing) {
    case Standing::kBaseline:
      return "baseline";
    case Standing::kBetter:
      return "better";
    case Standing::kBetterPerImage:
      return "better per image, " + per_evaluation_text(row, "worse");
    case Standing::kWorse:
      return "worse";
    case Standing::kWorsePerImage:
      return "worse per image, " + per_evaluation_text(row, "better");
    case Standing::kEqual:
      return row.judgement.text + " at equal images";
    case Standing::kNoDifference:
      return "no difference shown";
    case Standing::kExploratory:
      return "exploratory";
    case Standing::kCheckpointsDiffer:
      return "these checkpoints differ";
    case Standing::kCheckpointsAreAlike:
      return "no difference shown between these checkpoints";
    case Standing::kNotCompared:
      break;
  }
  return "not compared";
}

/// A verdict that names a winner carries the guardrails that speak against it.
std::string verdict_text(const LeaderboardRow& row, const std::string& baseline) {
  const auto is_one_of = [&](Standing a, Standing b) { return row.standing == a || row.standing == b; };
  auto text = standing_text(row);
  if (is_one_of(Standing::kBetter, Standing::kBetterPerImage) && !row.worse_guardrails.empty())
    text += "; worse: " + join(row.worse_guardrails, ", ");
  if (is_one_of(Standing::kWorse, Standing::kWorsePerImage) && !row.better_guardrails.empty())
    text += fmt::format("; {} is worse: {}", baseline, join(row.better_guardrails, ", "));
  return text;
}

/// Rows by their means, the best first; those without one last, in the table's order.
std::vector<std::size_t> by_mean(const std::vector<LeaderboardRow>& rows, Better better) {
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const double sign = better == Better::kDown ? 1 : -1;
  const auto key = [&](std::size_t i) { return rows[i].mean ? sign * *rows[i].mean : INFINITY; };
  std::ranges::stable_sort(order, {}, key);
  return order;
}

/// Rows without a mean come last.
void put_in_groups(const std::vector<LeaderboardPair>& pairs, Better better,
                   std::vector<LeaderboardRow>& rows) {
  const auto order = by_mean(rows, better);
  std::vector<std::size_t> place(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  DifferingPairs differing;
  for (const auto& pair : pairs) {
    if (pair.differs) differing.insert(std::minmax(place[pair.first], place[pair.second]));
  }
  const auto letters = compact_letters(rows.size(), differing);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].mean) rows[i].groups = letters[place[i]];
  }
  std::map<std::string, std::size_t> first;  // place of the highest mean by letters; none: last
  for (const auto i : order) first.try_emplace(rows[i].groups, rows[i].mean ? place[i] : rows.size());
  std::ranges::stable_sort(rows, {}, [&](const LeaderboardRow& row) { return first.at(row.groups); });
}

/// With the interval at this level.
Json comparison_json(const std::optional<PairedComparison>& comparison, double level) {
  if (!comparison) return nullptr;
  const auto interval = interval_at(*comparison, claim_of(*comparison), level);
  return {{"delta", or_null(comparison->delta)},
          {"ci95", interval ? Json::array({interval->low, interval->high}) : Json()},
          {"p_value", or_null(p_value_of(*comparison))},
          {"claim", claim_name(claim_of(*comparison))}};
}

}  // namespace

Leaderboard leaderboard(Leaderboard board, const std::vector<LeaderboardEvidence>& evidence,
                        const std::vector<LeaderboardPair>& pairs) {
  for (const auto& row : evidence) board.rows.push_back({row});
  for (auto& row : board.rows) {
    row.standing = row.method == board.baseline ? Standing::kBaseline : standing_of(row, board.better);
    row.verdict = verdict_text(row, board.baseline);
  }
  board.has_groups = !pairs.empty();
  board.pairs = pairs.size();
  if (!board.has_groups) return board;
  put_in_groups(pairs, board.better, board.rows);
  return board;
}

std::string split_verdict(const LeaderboardEvidence& evidence, Better better) {
  LeaderboardRow row{evidence};
  row.standing = standing_of(row, better);
  return row.standing == Standing::kBetter || row.standing == Standing::kWorse ? "" : standing_text(row);
}

std::string_view standing_name(Standing standing) {
  constexpr std::string_view kNames[] = {"baseline",
                                         "better",
                                         "better_per_image",
                                         "worse",
                                         "worse_per_image",
                                         "equal",
                                         "no_difference_shown",
                                         "exploratory",
                                         "checkpoints_differ",
                                         "checkpoints_alike",
                                         "not_compared"};
  return kNames[static_cast<std::size_t>(standing)];
}

Json leaderboard_json(const Leaderboard& board) {
  Json rows = Json::array();
  for (const auto& row : board.rows) {
    rows.push_back(
        {{"method", row.method},
         {"mean", or_null(row.mean)},
         {"groups", board.has_groups ? Json(row.groups) : Json()},
         {"standing", standing_name(row.standing)},
         {"verdict", row.verdict},
         {"at_images", comparison_json(row.at_images, row.judgement.level)},
         {"p_adjusted", or_null(row.judgement.adjusted.p)},
         {"level", row.judgement.level},
         {"equal_nfe_total", or_null(row.equal_evaluations)},
         {"spent_within", Json::array({or_null(row.spent_within), or_null(row.baseline_spent_within)})},
         {"at_evaluations_mean", or_null(row.at_evaluations_mean)},
         {"at_evaluations", comparison_json(row.at_evaluations, row.judgement.level)},
         {"worse_guardrails", row.worse_guardrails},
         {"better_guardrails", row.better_guardrails},
         {"notes", row.notes}});
  }
  return {{"metric", board.metric},
          {"baseline", board.baseline},
          {"pairs", board.pairs},
          {"cut_too_early", board.cut_too_early},
          {"second_tests", board.second_tests},
          {"rows", std::move(rows)}};
}

}  // namespace harness

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/json.h"
#include "harness/run/pilot.h"

namespace harness {

/// The levels that a claim may be judged at: the whole one, if Holm's adjustment judges it last, or that over
/// the number of claims of its family, if first.
struct Levels {
  PowerSettings last = {}, first = {};
};

/// A number at each of them; nothing where it does not exist.
template <class T>
struct AtLevels {
  std::optional<T> last = {}, first = {};
};

template <class T, class Function>
AtLevels<T> at(const Levels& levels, const Function& function) {
  return {function(levels.last), function(levels.first)};
}

struct DesignCell {
  std::int64_t runs = 0, prompts = 0;
  AtLevels<double> detectable = {};
};

/// One point of the curve: with which probability an effect is found.
struct CurvePoint {
  double effect = 0;
  AtLevels<double> methods = {}, checkpoints = {};
};

/// What is needed to find the effect that was asked for; what does not exist is not enough in any number.
struct Needs {
  AtLevels<std::int64_t> runs = {}, prompts = {}, checkpoint_prompts = {};
  AtLevels<double> power = {};                                   ///< of the design, between methods
  std::optional<std::int64_t> fewest_runs = {}, most_runs = {};  ///< at the ends of the spread's interval
};

/// Everything about one difference. A claim about checkpoints takes one run of each.
struct PlannedDifference {
  PilotDifference pilot = {};
  AtLevels<double> methods = {}, checkpoints = {};  ///< what the design finds
  std::vector<DesignCell> grid = {};
  std::vector<CurvePoint> curve = {};
  std::optional<Interval> run_sd = {};
  Needs needs = {};
};

struct PowerReport {
  Pilot pilot;
  Design design = {};
  PowerSettings last = {};  ///< of a claim that is judged last
  double alpha = 0.05;      ///< its level
  std::optional<double> effect = {};
  std::vector<PlannedDifference> answers = {};

  /// Of a claim that is judged first among so many.
  double alpha_first(std::size_t claims) const {
    return alpha / static_cast<double>(std::max<std::size_t>(1, claims));
  }
  Levels levels_of(const PilotDifference& difference) const {
    auto first = last;
    first.confidence = 1 - alpha_first(difference.claims);
    return {.last = last, .first = first};
  }
};

/// False where the pilot knows no spread of runs, and of too few of them.
bool plans_methods(const PilotDifference& pilot, const Design& design);

/// Fills in `answers`, one a difference of the pilot.
void answer(PowerReport& report);

/// The document of --json (results/STATISTICS.md, "Planning").
Json power_json(const PowerReport& report);

}  // namespace harness

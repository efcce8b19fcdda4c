#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "harness/plan/plan.h"
#include "harness/read/experiments.h"
#include "harness/run/analysis_plans.h"
#include "results/statistics/power.h"
#include "results/statistics/verdict.h"

namespace harness {

/// What the differences of a method to a baseline vary by in one metric, to plan with. Variances are in the
/// square of the metric's unit.
struct PilotDifference {
  std::string baseline = {}, method = {};
  VarianceComponents components = {};  ///< of one run: all of it the residual
  ImageNoise images = {};
  std::int64_t runs = 0, prompts = 0;  ///< underlying them
  double share = 0;                    ///< of the table's level that it is tested with first; 0: exploratory

  bool has_run_variance() const { return runs >= 2; }
};

/// An experiment, or what ships with the project, as the source of variances.
struct Pilot {
  TableSpec table;
  std::string backbone = {}, scale = {}, split = {}, metric = {};
  std::string source = {};                      ///< "experiment 3: 5 training runs per method"
  std::optional<std::int64_t> experiment = {};  ///< nothing for what ships
  std::string warning = {};                     ///< why it may not be quoted, a sentence
  std::vector<PilotDifference> differences = {};
};

/// What a pilot is wanted for.
struct PilotChoice {
  std::string table;
  std::string backbone = {}, scale = {};        ///< empty: any; of what ships the table's own, "default"
  std::optional<std::int64_t> experiment = {};  ///< this one, at whatever scale, and nothing else
  std::string metric = {};                      ///< empty: the one that selects checkpoints
  std::vector<std::string> rows = {};           ///< a baseline and its methods; empty: the table's
};

/// The newest experiment that fits and has two training runs per method or more, at a scale that judges
/// methods; else what ships (rules/variances.json of the data folders); else the newest with one run. Nothing
/// where there is none. `store`: nullptr without a DB. Throws Error for an experiment, metric or row that is
/// not there, and for a table of a training, whose differences have no prompts.
std::optional<Pilot> find_pilot(Store* store, const PilotChoice& choice);

/// What is planned.
struct Design {
  std::int64_t runs = 0, prompts = 0;  ///< training runs per method, prompts of the split
  double images = 1;                   ///< per prompt
};

/// The components of a difference with the images of a design.
VarianceComponents components_with(const PilotDifference& difference, const Design& design);

/// The smallest true difference that a design finds: of the methods over runs and prompts
/// (crossed_detectable_effect), between checkpoints over prompts (the paired t). Nothing where the pilot
/// knows no spread of runs, for methods of fewer than kFewestRuns runs, and without spread.
std::optional<double> detectable_by(const PilotDifference& difference, const Design& design, Claim claim,
                                    const PowerSettings& settings = {});

/// At this share of the level; 0: at all of it.
PowerSettings judged_first(PowerSettings settings, double share);

/// What a plan is about to find: {"metric", "claim", "runs", "prompts", "power", "level", "source",
/// "differences": [{"baseline", "method", "effect"}]}, at the level that its questions are tested with first
/// where so many tables share it, at the last look, at all planned runs. Null where no pilot of its table,
/// backbone and scale is known, and at a scale that judges nothing.
Json planned_power(const Plan& plan, const PlanDesign& design, std::size_t tables, Store* store);

/// The same as a line; empty for null.
std::string planned_power_text(const Json& power);

}  // namespace harness

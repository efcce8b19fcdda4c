#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/read/experiments.h"
#include "results/verdict/analysis_plan.h"
#include "results/verdict/families.h"

namespace harness {

/// A plan of a workspace's DB.
struct RecordedPlan {
  std::string digest, recorded;  ///< recorded: UTC, ISO 8601
  AnalysisPlan plan;
  bool is_superseded = false;  ///< a later plan has taken its place before anything of it was tested
};

/// In the order in which they were recorded.
std::vector<RecordedPlan> analysis_plans(Store& store);

/// How a table chooses a run's checkpoint, of those that are evaluated; null of a training table.
Json selection_json(const TableSpec& spec, const std::vector<int>& checkpoints);

/// Whether two plans have a run in common, the base model's aside.
bool shares_runs(const AnalysisPlan& a, const AnalysisPlan& b);
/// Whether they do, and both were recorded before any of these runs was tested.
bool are_one_family(const AnalysisPlan& a, const AnalysisPlan& b);

/// Whether the runs of `other` are the first runs of a plan that asks as much of them.
bool covers(const AnalysisPlan& plan, const AnalysisPlan& other);

/// "42", "42, 44", "42..46"
std::string seeds_text(const std::vector<std::int64_t>& seeds);

/// "20 questions, ocr_reward first, 8 runs per row with looks at 3, 5 and 8".
std::string plan_text(const AnalysisPlan& plan);

/// The plan that an experiment's runs are the first of.
struct PlanOfExperiment {
  std::optional<AnalysisPlan> plan = {};
  std::map<std::string, std::string> row_of = {};  ///< the plan's name of a row by the experiment's
  std::vector<AnalysisPlan> beside = {};           ///< of the same family: other plans of the same runs
  PlanStatement statement = {};
};
PlanOfExperiment plan_of(Store& store, const Experiment& experiment);

}  // namespace harness

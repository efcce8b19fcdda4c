#include "harness/run/analysis_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "harness/read/analysis_plans.h"
#include "harness/show/comparisons.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

/// What makes runs of a row the same but for the seed and the machine.
std::string settings_digest(Json identity) {
  for (const auto* own : {"seed", "device", "cpu_numerics"}) identity.erase(own);
  return job_id(identity);
}

/// The id that a run has with another seed.
std::string id_with_seed(Json identity, std::int64_t seed) {
  identity["seed"] = seed;
  return job_id(identity);
}

/// The seeds of a plan, and as many after the largest as are lacking.
std::vector<std::int64_t> planned_seeds(const Plan& plan, const PlanDesign& design) {
  auto seeds = plan.seeds;
  const auto runs = design.runs.value_or(std::ssize(seeds));
  if (runs < std::ssize(seeds))
    throw Error(fmt::format("{} seeds are given, and {} runs are planned", seeds.size(), runs), "--plan-runs",
                fmt::format("plan {} or more", seeds.size()));
  auto next = *std::ranges::max_element(seeds);
  while (std::ssize(seeds) < runs) seeds.push_back(++next);
  return seeds;
}

void require_trained(const Plan& plan, const std::vector<std::int64_t>& seeds) {
  if (seeds.size() == plan.seeds.size()) return;
  for (const auto& run : plan.runs) {
    if (run.traits().is_start || run.traits().trains) continue;
    throw Error(fmt::format("the runs of {} are given: {} of them, and {} are planned", run.name,
                            plan.seeds.size(), seeds.size()),
                "--plan-runs", "give all of its runs, or leave the option out");
  }
}

std::vector<std::string> metrics_of(const Plan& plan) {
  if (!plan.spec.is_training()) return plan.metrics;
  auto columns = columns_of(plan.spec);
  std::erase_if(columns, [](const TableColumn& column) { return column.better == Better::kNone; });
  std::vector<std::string> names;
  for (const auto& column : columns) names.push_back(column.key);
  return names;
}

/// Only these seeds, looked at once.
void keep_seeds(const std::vector<std::int64_t>& seeds, AnalysisPlan& plan) {
  plan.seeds = seeds;
  plan.looks = {plan.runs()};
  for (auto& [name, row] : plan.rows)
    std::erase_if(row.runs, [&](const auto& run) { return std::ranges::count(seeds, run.first) == 0; });
}

/// Whether some run of a seed, the base model's aside, has been tested.
bool is_tested(const AnalysisPlan& plan, std::int64_t seed, const std::set<std::string>& tested) {
  return std::ranges::any_of(plan.rows, [&](const auto& row) {
    return row.first != plan.base && tested.contains(row.second.runs.at(seed));
  });
}

/// Whether one of its questions is about rows that have not been tested.
bool asks_anything(const AnalysisPlan& plan) {
  return std::ranges::any_of(plan.pairs, [&](const auto& pair) {
    return plan.is_unopened(pair.first) && plan.is_unopened(pair.second);
  });
}

}  // namespace

AnalysisPlan analysis_plan_of(const Plan& plan, const PlanDesign& design) {
  const auto& spec = plan.spec;
  const auto roles = roles_of(spec, plan.baseline);
  const auto seeds = planned_seeds(plan, design);
  require_trained(plan, seeds);
  if (spec.is_training() && !design.looks.empty())
    throw Error("a table of the training itself is looked at once", "--looks", "leave it out");
  AnalysisPlan asked{.table = spec.id,
                     .backbone = plan.backbone.name,
                     .scale = plan.scale.name,
                     .split = spec.is_training() ? kTrainingSplit : spec.shown.split,
                     .baseline = plan.baseline,
                     .base = roles.base,
                     .primary = roles.primary,
                     .selection = selection_json(spec, plan.checkpoints),
                     .prompts = spec.is_training() ? "" : plan.inputs.evaluation.sha256,
                     .metrics = metrics_of(plan),
                     .pairs = compared_arms(spec, plan.baseline, plan.methods),
                     .seeds = seeds,
                     .looks = checked_looks(design.looks, std::ssize(seeds)),
                     .equal_within = spec.equal_within,
                     .rows = {}};
  for (const auto& run : plan.runs) {
    auto& row = asked.rows[run.name];
    row.method = run.method;
    row.settings = settings_digest(run.job.identity);
    row.runs[run.seed] = run.job.id;
    if (run.seed != plan.seeds.front()) continue;
    for (const auto seed : seeds) {
      if (std::ranges::count(plan.seeds, seed) == 0) row.runs[seed] = id_with_seed(run.job.identity, seed);
    }
  }
  return asked;
}

std::vector<std::string> record_analysis_plan(const Plan& plan, const PlanDesign& design, Store& store) {
  if (!plan.scale.judges) return {};
  auto asked = analysis_plan_of(plan, design);
  const auto known = analysis_plans(store);
  const auto is_same = [&](const RecordedPlan& other) { return other.digest == asked.digest(); };
  const auto is_covering = [&](const RecordedPlan& other) {
    const bool is_as_typed = other.plan.seeds == asked.seeds && other.plan.looks == asked.looks;
    return !other.is_superseded && covers(other.plan, asked) && (is_as_typed || !design.is_typed());
  };
  if (std::ranges::any_of(known, is_same)) return {};
  if (std::ranges::any_of(known, is_covering)) return {};
  const auto tested = store.tested_runs(asked.split);
  auto fresh = asked.seeds;
  std::erase_if(fresh, [&](auto seed) { return is_tested(asked, seed, tested); });
  std::vector<std::string> sentences;
  if (!fresh.empty() && fresh.size() < asked.seeds.size()) {
    if (design.is_typed())
      throw Error(fmt::format("runs of {} have been tested already, and a plan cannot be changed after that",
                              counted(std::ssize(asked.seeds) - std::ssize(fresh), "seed")),
                  "--plan-runs", "leave out --plan-runs and --looks: new seeds are a study of their own");
    keep_seeds(fresh, asked);
    if (std::ranges::any_of(known, is_same)) return {};
    sentences.push_back(fmt::format(
        "note: the other seeds have been tested before; the plan is of seeds {} alone, and all seeds together are "
        "exploratory",
        seeds_text(fresh)));
  }
  if (fresh.empty() && design.is_typed())
    throw Error("these runs have been tested already, and a plan cannot be changed after that", "--plan-runs",
                "leave out --plan-runs and --looks");
  const auto ids = asked.run_ids();
  std::ranges::set_intersection(ids, tested, std::back_inserter(asked.opened));
  if (!asks_anything(asked)) return {};
  for (const auto& other : known) {
    const auto runs = other.plan.run_ids();
    const bool is_untested =
        std::ranges::none_of(runs, [&](const auto& run) { return tested.contains(run); });
    if (other.plan.table == asked.table && is_untested && !other.is_superseded &&
        shares_runs(other.plan, asked))
      asked.supersedes.push_back(other.digest);
  }
  store.record_plan({.digest = asked.digest(), .document = asked.to_json()});
  sentences.push_back(fmt::format("note: plan {} recorded: {}", asked.digest(), plan_text(asked)));
  return sentences;
}

}  // namespace harness

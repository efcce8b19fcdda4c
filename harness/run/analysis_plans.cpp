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

/// The runs of a plan, and those of the seeds that are planned for later.
std::vector<RunPlan> asked_runs(const Plan& plan, const std::vector<std::int64_t>& seeds) {
  auto runs = plan.runs;
  for (const auto& run : plan.runs) {
    if (run.seed != plan.seeds.front()) continue;
    for (const auto seed : seeds) {
      if (std::ranges::count(plan.seeds, seed) > 0) continue;
      auto& later = runs.emplace_back(run);
      later.seed = seed;
      later.job.identity["seed"] = seed;
      later.job.id = job_id(later.job.identity);
    }
  }
  return runs;
}

/// Runs that have not been tested, but others have whose settings count as the same.
struct Twins {
  std::set<std::string> runs, rows, differences;
  std::set<std::int64_t> seeds;

  std::string text() const {
    return fmt::format(
        "seeds {} of {} have been tested with settings within {:.0f} % of these ({}): they count as the same method",
        seeds_text({seeds.begin(), seeds.end()}), fmt::join(rows, ", "), 100 * kSameSetting,
        fmt::join(differences, "; "));
  }
};

Twins tested_twins(const std::vector<RunPlan>& asked, const std::set<std::string>& tested,
                   const std::vector<StoredRun>& stored) {
  Twins twins;
  for (const auto& other : stored) {
    if (!tested.contains(other.id)) continue;
    for (const auto& run : asked) {
      if (tested.contains(run.job.id)) continue;
      const auto differences = near_settings(other.config, run.job.identity);
      if (!differences) continue;
      twins.runs.insert(run.job.id);
      twins.rows.insert(run.name);
      twins.seeds.insert(run.seed);
      twins.differences.insert(differences->begin(), differences->end());
    }
  }
  return twins;
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

/// Of a run's evaluations, the same for all of its checkpoints.
Json conditions_of(const Plan& plan, const RunPlan& run, const std::string& split) {
  const int step = !run.images.empty()       ? run.images.begin()->first
                   : run.checkpoints.empty() ? 0
                                             : run.checkpoints.front();
  return evaluation_conditions(plan.evaluation(run, step, split).identity);
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

/// Trained and untested seeds with the settings of a row that it leaves out, where it takes others that are
/// trained.
std::set<std::int64_t> seeds_left_out(const AnalysisPlan& plan, const std::set<std::string>& tested,
                                      const std::vector<StoredRun>& stored) {
  std::map<std::string, std::set<std::int64_t>> left_out;  // by settings
  std::set<std::string> taken;
  for (const auto& run : stored) {
    if (run.state != JobState::kDone || tested.contains(run.id) || !row_traits(run.method).trains) continue;
    const auto settings = settings_digest(run.config);
    for (const auto& [name, row] : plan.rows) {
      if (row.settings != settings) continue;
      if (row.runs.contains(run.seed)) {
        taken.insert(settings);
      } else {
        left_out[settings].insert(run.seed);
      }
    }
  }
  std::set<std::int64_t> seeds;
  for (const auto& settings : taken) seeds.merge(left_out[settings]);
  return seeds;
}

/// Whether one of its questions is about rows that have not been tested.
bool asks_anything(const AnalysisPlan& plan) {
  return std::ranges::any_of(plan.pairs, [&](const auto& pair) {
    return plan.is_unopened(pair.first) && plan.is_unopened(pair.second);
  });
}

}  // namespace

std::vector<std::int64_t> planned_seeds(std::vector<std::int64_t> seeds, const PlanDesign& design) {
  const auto runs = design.runs.value_or(std::ssize(seeds));
  if (runs < std::ssize(seeds))
    throw Error(fmt::format("{} seeds are given, and {} runs are planned", seeds.size(), runs), "--plan-runs",
                fmt::format("plan {} or more", seeds.size()));
  auto next = *std::ranges::max_element(seeds);
  while (std::ssize(seeds) < runs) seeds.push_back(++next);
  return seeds;
}

AnalysisPlan analysis_plan_of(const Plan& plan, const PlanDesign& design) {
  const auto& spec = plan.spec;
  const auto roles = roles_of(spec, plan.baseline);
  const auto seeds = planned_seeds(plan.seeds, design);
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
  for (const auto& run : asked_runs(plan, seeds)) {
    auto& row = asked.rows[run.name];
    row.method = run.method;
    row.settings = settings_digest(run.job.identity);
    row.runs[run.seed] = run.job.id;
    if (!spec.is_training() && row.evaluation.is_null())
      row.evaluation = conditions_of(plan, run, asked.split);
  }
  return asked;
}

PlanToRecord plan_to_record(const Plan& plan, const PlanDesign& design, Store& store) {
  PlanToRecord result;
  if (!plan.scale.judges && (design.is_typed() || design.only))
    throw Error(fmt::format("scale {} allows no claims, so that there is nothing to plan", plan.scale.name),
                design.only ? "--plan-only" : "--plan-runs",
                "leave out --plan-only, --plan-runs, --looks and --until, or choose another --scale");
  if (!plan.scale.judges) return result;
  auto asked = analysis_plan_of(plan, design);
  const auto known = analysis_plans(store);
  const auto is_covering = [&](const RecordedPlan& other) {
    const bool is_as_typed = other.plan.seeds == asked.seeds && other.plan.looks == asked.looks;
    return !other.is_superseded && covers(other.plan, asked) && (is_as_typed || !design.is_typed());
  };
  const auto is_known = [&] {
    const auto digest = asked.digest();
    return std::ranges::any_of(
        known, [&](const RecordedPlan& other) { return other.digest == digest && !other.is_superseded; });
  };
  if (is_known()) return result;
  auto tested = store.tested_runs(asked.split);
  const auto has_tested_run = [&](const AnalysisPlan& other) {
    return std::ranges::any_of(other.run_ids(), [&](const auto& run) { return tested.contains(run); });
  };
  if (const auto covering = std::ranges::find_if(known, is_covering); covering != known.end()) {
    if (covering->plan.equal_within == asked.equal_within) return result;
    if (has_tested_run(covering->plan)) {
      result.say(
          "equal_within of this table is not that of plan {}, whose runs have been tested: the plan's margins hold",
          covering->digest);
      return result;
    }
  }
  const auto stored = store.runs();
  const auto twins = tested_twins(asked_runs(plan, asked.seeds), tested, stored);
  tested.insert(twins.runs.begin(), twins.runs.end());
  auto fresh = asked.seeds;
  std::erase_if(fresh, [&](auto seed) { return is_tested(asked, seed, tested); });
  if (!twins.runs.empty()) {
    asked.why_opened = twins.text();
    result.say("{}, and what is asked of them is exploratory", asked.why_opened);
  }
  if (fresh.size() < asked.seeds.size() && design.is_typed())
    throw Error(fmt::format("{}, and a plan cannot be changed after that",
                            twins.runs.empty()
                                ? fmt::format("runs of {} have been tested already",
                                              counted(std::ssize(asked.seeds) - std::ssize(fresh), "seed"))
                                : twins.text()),
                "--plan-runs", "leave out --plan-runs and --looks: new seeds are a study of their own");
  if (!fresh.empty() && fresh.size() < asked.seeds.size()) {
    keep_seeds(fresh, asked);
    if (is_known()) return result;
    result.say(
        "the other seeds have been tested before; the plan is of seeds {} alone, and all seeds together are "
        "exploratory",
        seeds_text(fresh));
  }
  if (const auto left_out = seeds_left_out(asked, tested, stored); !left_out.empty()) {
    asked.why_opened = fmt::format(
        "seeds {} of the same settings are trained and left out, so that these seeds may have been chosen",
        seeds_text({left_out.begin(), left_out.end()}));
    result.say("{}: what is asked of them is exploratory", asked.why_opened);
    const auto all = asked.run_ids();
    tested.insert(all.begin(), all.end());
  }
  const auto ids = asked.run_ids();
  std::ranges::set_intersection(ids, tested, std::back_inserter(asked.opened));
  // Where no earlier plan tells why nothing is claimed this one is recorded though it asks nothing.
  if (!asks_anything(asked) && asked.why_opened.empty()) return result;
  for (const auto& other : known) {
    if (other.plan.table == asked.table && !has_tested_run(other.plan) && !other.is_superseded &&
        shares_runs(other.plan, asked))
      asked.supersedes.push_back(other.digest);
  }
  while (std::ranges::count(known, asked.digest(), &RecordedPlan::digest) > 0) ++asked.again;
  result.plan = std::move(asked);
  return result;
}

std::vector<std::string> record_analysis_plan(const Plan& plan, const PlanDesign& design, Store& store) {
  auto [asked, sentences] = plan_to_record(plan, design, store);
  if (!asked) return sentences;
  store.record_plan({.digest = asked->digest(), .document = asked->to_json()});
  if (asks_anything(*asked))
    sentences.push_back(fmt::format("note: plan {} recorded: {}", asked->digest(), plan_text(*asked)));
  return sentences;
}

}  // namespace harness

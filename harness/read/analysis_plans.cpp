#include "harness/read/analysis_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/text.h"
#include "results/store/rows.h"

namespace harness {
namespace {

using Rows = std::map<std::string, PlannedRow>;

/// With what the shown evaluations of each rest on.
Rows rows_of_experiment(Store& store, const Experiment& experiment) {
  constexpr auto kSql = R"sql(
    SELECT entry.arm, evaluation.config
    FROM reproduction_runs AS entry
    JOIN checkpoints AS checkpoint ON checkpoint.run_id = entry.run_id
    JOIN evaluations AS evaluation ON evaluation.checkpoint_id = checkpoint.id AND evaluation.split = ?2
    JOIN reproduction_evaluations AS member
      ON member.reproduction_id = entry.reproduction_id AND member.evaluation_id = evaluation.id
    WHERE entry.reproduction_id = ?1 GROUP BY entry.arm)sql";
  Rows rows;
  for (const auto& run : runs_of(store, experiment)) rows[run.row].runs[run.seed] = run.id;
  for (const auto& [row, identity] :
       rows_of<std::string, Json>(store, kSql, experiment.id, experiment.shown_split()))
    rows[row].evaluation = evaluation_conditions(identity);
  return rows;
}

/// Whether a plan asks about such evaluations at all.
bool asks_of(const AnalysisPlan& plan, const Experiment& experiment) {
  return plan.split == experiment.shown_split() &&
         plan.selection == selection_json(experiment.table, experiment.effective.checkpoints) &&
         (experiment.is_training() || plan.prompts == experiment.effective.prompt_set_sha256);
}

/// The plan's names of these rows, of those whose runs are all the plan's and evaluated as it says.
std::map<std::string, std::string> rows_in(const AnalysisPlan& plan, const Rows& rows) {
  std::map<std::string, std::string> found;
  for (const auto& [row, own] : rows) {
    for (const auto& [name, planned] : plan.rows) {
      const auto is_planned = [&](const auto& run) {
        const auto at = planned.runs.find(run.first);
        return at != planned.runs.end() && at->second == run.second;
      };
      if (std::ranges::all_of(own.runs, is_planned) &&
          are_same_conditions(planned.evaluation, own.evaluation))
        found.emplace(row, name);
    }
  }
  return found;
}

bool has_run_of(const AnalysisPlan& plan, const Rows& rows) {
  return std::ranges::any_of(plan.rows, [&](const auto& planned) {
    return planned.first != plan.base && std::ranges::any_of(planned.second.runs, [&](const auto& run) {
             return std::ranges::any_of(rows, [&](const auto& row) {
               const auto at = row.second.runs.find(run.first);
               return at != row.second.runs.end() && at->second == run.second;
             });
           });
  });
}

std::vector<std::string> shared_runs(const AnalysisPlan& a, const AnalysisPlan& b) {
  std::vector<std::string> shared;
  const auto of_a = a.run_ids(), of_b = b.run_ids();
  std::ranges::set_intersection(of_a, of_b, std::back_inserter(shared));
  return shared;
}

/// Whether the experiment's seeds are the plan's first ones.
bool are_first_seeds(std::vector<std::int64_t> seeds, const AnalysisPlan& plan) {
  if (seeds.size() > plan.seeds.size()) return false;
  std::vector first(plan.seeds.begin(), plan.seeds.begin() + std::ssize(seeds));
  std::ranges::sort(first);
  std::ranges::sort(seeds);
  return seeds == first;
}

bool has_seeds(const AnalysisPlan& plan, const std::vector<std::int64_t>& seeds) {
  return std::ranges::all_of(seeds, [&](auto seed) { return std::ranges::count(plan.seeds, seed) > 0; });
}

/// Why an experiment is exploratory though plans have runs of it.
std::string why_not(const Experiment& experiment, const std::vector<RecordedPlan>& plans) {
  std::vector<std::string> texts;
  const AnalysisPlan* whole = nullptr;
  for (const auto& of : plans) {
    if (of.is_superseded) continue;
    texts.push_back(fmt::format("{} (seeds {})", of.digest, seeds_text(of.plan.seeds)));
    if (has_seeds(of.plan, experiment.seeds)) whole = &of.plan;
  }
  const auto shown = seeds_text(experiment.seeds);
  if (texts.empty()) return "Exploratory: its plan gave way to another before its runs were tested.";
  if (whole != nullptr)
    return fmt::format(
        "Exploratory: a choice of {} of {} planned runs (seeds {} of {}); a plan is looked at in the order of its seeds.",
        experiment.seeds.size(), whole->runs(), shown, seeds_text(whole->seeds));
  return fmt::format(
      "Exploratory: seeds {} are more than was planned together (plans: {}). Each plan is judged alone: repeat "
      "`harness reproduce` with its seeds.",
      shown, join(texts, ", "));
}

/// Plans before this one that ask of the same settings with other seeds.
std::vector<std::string> earlier_studies(const std::vector<RecordedPlan>& plans, const std::string& digest) {
  std::vector<std::string> studies;
  const auto at = std::ranges::find(plans, digest, &RecordedPlan::digest);
  const auto has_settings = [](const AnalysisPlan& plan, const std::string& settings) {
    return std::ranges::any_of(plan.rows, [&](const auto& row) { return row.second.settings == settings; });
  };
  for (auto other = plans.begin(); other != at; ++other) {
    if (other->is_superseded || are_one_family(other->plan, at->plan)) continue;
    const auto common = std::ranges::count_if(at->plan.rows, [&](const auto& row) {
      return row.first != at->plan.base && has_settings(other->plan, row.second.settings);
    });
    if (common > 0)
      studies.push_back(fmt::format("{} (seeds {})", other->digest, seeds_text(other->plan.seeds)));
  }
  return studies;
}

void describe(const RecordedPlan& found, const Experiment& experiment, PlanStatement& statement) {
  const auto& plan = found.plan;
  statement.digest = found.digest;
  statement.recorded = found.recorded;
  statement.runs = std::ssize(experiment.seeds);
  statement.planned = plan.runs();
  statement.looks = plan.looks;
  const auto look = std::ranges::find(plan.looks, statement.runs);
  if (look != plan.looks.end())
    statement.level = plan.level_of_look(static_cast<std::size_t>(look - plan.looks.begin()));
}

/// Runs whose test had begun before the plan was recorded, wherever that was.
void add_tested_before(Store& store, const std::string& recorded, AnalysisPlan& plan) {
  constexpr auto kSql = R"sql(
    SELECT DISTINCT run_id FROM evaluations JOIN checkpoints ON checkpoints.id = checkpoint_id
    WHERE split = ?1 AND finished < ?2)sql";
  const auto planned = plan.run_ids();
  std::set<std::string> opened(plan.opened.begin(), plan.opened.end());
  for (const auto& run : rows_of<std::string>(store, kSql, plan.split, recorded)) {
    if (planned.contains(run)) opened.insert(run);
  }
  plan.opened.assign(opened.begin(), opened.end());
}

}  // namespace

std::vector<RecordedPlan> analysis_plans(Store& store) {
  std::vector<RecordedPlan> plans;
  std::set<std::string> superseded;
  for (const auto& stored : store.plans()) {
    auto plan = AnalysisPlan::from_json(stored.document,
                                        fmt::format("{}: plan {}", store.path().string(), stored.digest));
    superseded.insert(plan.supersedes.begin(), plan.supersedes.end());
    add_tested_before(store, stored.created, plan);
    plans.push_back({stored.digest, stored.created, std::move(plan)});
  }
  for (auto& plan : plans) plan.is_superseded = superseded.contains(plan.digest);
  return plans;
}

Json selection_json(const TableSpec& spec, const std::vector<int>& checkpoints) {
  if (spec.is_training()) return nullptr;
  return {{"metric", spec.selection.metric}, {"split", spec.selection.split}, {"checkpoints", checkpoints}};
}

bool shares_runs(const AnalysisPlan& a, const AnalysisPlan& b) {
  return !shared_runs(a, b).empty();
}

bool are_one_family(const AnalysisPlan& a, const AnalysisPlan& b) {
  const auto shared = shared_runs(a, b);
  const auto is_opened = [&](const std::string& run) {
    return std::ranges::binary_search(a.opened, run) || std::ranges::binary_search(b.opened, run);
  };
  return !shared.empty() && std::ranges::none_of(shared, is_opened);
}

bool covers(const AnalysisPlan& plan, const AnalysisPlan& other) {
  const auto names = rows_in(plan, other.rows);
  const auto is_asked = [&](const auto& pair) {
    return std::ranges::all_of(other.metrics, [&](const auto& metric) {
      return plan.has_question(names.at(pair.first), names.at(pair.second), metric);
    });
  };
  return plan.split == other.split && plan.selection == other.selection && plan.prompts == other.prompts &&
         are_first_seeds(other.seeds, plan) && names.size() == other.rows.size() &&
         std::ranges::all_of(other.pairs, is_asked);
}

std::string seeds_text(const std::vector<std::int64_t>& seeds) {
  const bool is_range = seeds.size() > 2 && seeds.back() - seeds.front() + 1 == std::ssize(seeds) &&
                        std::ranges::is_sorted(seeds);
  return is_range ? fmt::format("{}..{}", seeds.front(), seeds.back())
                  : fmt::format("{}", fmt::join(seeds, ", "));
}

std::string plan_text(const AnalysisPlan& plan) {
  const auto restates_another = [&](const std::string& metric) {
    const auto other = restated_by(metric);
    return !other.empty() && std::ranges::count(plan.metrics, other) > 0;
  };
  const auto metrics = std::ssize(plan.metrics) - std::ranges::count_if(plan.metrics, restates_another);
  const auto questions = std::ssize(plan.pairs) * metrics;
  auto text = counted(questions, "question");
  if (!plan.primary.empty()) text += fmt::format(", {} first", plan.primary);
  text += fmt::format(", {} per row (seeds {})", counted(plan.runs(), "run"), seeds_text(plan.seeds));
  if (plan.looks.size() > 1) text += fmt::format(", looks at {} runs", fmt::join(plan.looks, ", "));
  return text;
}

PlanOfExperiment plan_of(Store& store, const Experiment& experiment) {
  PlanOfExperiment result;
  const auto rows = rows_of_experiment(store, experiment);
  auto plans = analysis_plans(store);
  const auto all = plans;
  std::erase_if(plans,
                [&](const auto& of) { return !asks_of(of.plan, experiment) || !has_run_of(of.plan, rows); });
  const RecordedPlan *found = nullptr, *otherwise = nullptr;
  for (const auto& candidate : plans) {
    if (candidate.is_superseded || !are_first_seeds(experiment.seeds, candidate.plan)) continue;
    auto names = rows_in(candidate.plan, rows);
    if (names.empty()) otherwise = &candidate;
    if (names.empty()) continue;
    if (found != nullptr && names.size() <= result.row_of.size()) continue;
    found = &candidate;
    result.row_of = std::move(names);
  }
  auto& statement = result.statement;
  if (found == nullptr && otherwise != nullptr) {
    statement.why_exploratory = fmt::format(
        "Exploratory: plan {} asks of these runs under other conditions (prompts, sampler, precision or version of "
        "a scorer).",
        otherwise->digest);
    return result;
  }
  if (found == nullptr) {
    statement.why_exploratory =
        plans.empty() ? "Exploratory: made before plans were recorded, or of runs that no plan asks about."
                      : why_not(experiment, plans);
    return result;
  }
  describe(*found, experiment, statement);
  statement.earlier = earlier_studies(all, found->digest);
  for (const auto& other : all) {
    if (other.digest != found->digest && !other.is_superseded && are_one_family(other.plan, found->plan))
      result.beside.push_back(other.plan);
  }
  result.plan = found->plan;
  return result;
}

}  // namespace harness

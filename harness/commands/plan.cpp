#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/read/analysis_plans.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

struct PlanOptions {
  WorkspaceChoice place;
  bool json = false;
};

/// How many of a plan's first seeds have been tested in all rows.
std::int64_t runs_done(const AnalysisPlan& plan, const std::set<std::string>& tested) {
  const auto is_done = [&](std::int64_t seed) {
    return std::ranges::all_of(plan.rows, [&](const auto& row) {
      return row.first == plan.base || tested.contains(row.second.runs.at(seed));
    });
  };
  return std::ranges::find_if_not(plan.seeds, is_done) - plan.seeds.begin();
}

/// What its looks have spent of the level so far.
double level_spent(const AnalysisPlan& plan, std::int64_t done) {
  double spent = 0;
  for (std::size_t look = 0; look < plan.looks.size() && plan.looks[look] <= done; ++look)
    spent += plan.level_of_look(look);
  return spent;
}

std::string next_look(const AnalysisPlan& plan, std::int64_t done) {
  const auto next = std::ranges::find_if(plan.looks, [&](auto look) { return look > done; });
  return next == plan.looks.end() ? "none" : counted(*next, "run");
}

Json row_of(const RecordedPlan& of, const std::set<std::string>& tested) {
  const auto& plan = of.plan;
  std::vector<std::string> rows;
  for (const auto& [name, row] : plan.rows) rows.push_back(name);
  const auto done = runs_done(plan, tested);
  return {{"name", of.digest},
          {"recorded", of.recorded},
          {"table", plan.table},
          {"backbone", plan.backbone},
          {"scale", plan.scale},
          {"rows", rows},
          {"questions", std::ssize(plan.pairs) * std::ssize(plan.metrics)},
          {"primary", plan.primary.empty() ? Json() : Json(plan.primary)},
          {"seeds", plan.seeds},
          {"looks", plan.looks},
          {"runs", done},
          {"planned_runs", plan.runs()},
          {"level_spent", level_spent(plan, done)},
          {"next_look", next_look(plan, done)},
          {"superseded", of.is_superseded},
          {"opened", plan.opened}};
}

int run(const PlanOptions& options) {
  Store store(find_workspace(options.place).db, OpenMode::kReadOnly);
  std::vector<Json> rows;
  for (const auto& plan : analysis_plans(store))
    rows.push_back(row_of(plan, store.tested_runs(plan.plan.split)));
  if (options.json) {
    print_json(rows);
    return 0;
  }
  for (auto& row : rows) {
    row["rows"] = join(row["rows"].get<std::vector<std::string>>(), ", ");
    row["seeds"] = seeds_text(row["seeds"]);
    row["runs"] = fmt::format("{} of {}", row["runs"].get<int>(), row["planned_runs"].get<int>());
    row["level spent"] = fmt::format("{:.2g}", row["level_spent"].get<double>());
    row["next look"] = row["superseded"].get<bool>() ? "never: superseded" : row["next_look"];
    row["plan"] = row["name"];
    row["recorded"] = row["recorded"].get<std::string>().substr(0, std::string("2026-01-01").size());
  }
  if (rows.empty()) {
    put("No plan is recorded. The first `harness reproduce` or `harness score` of an experiment records one.\n");
    return 0;
  }
  print_rows(rows, {"plan", "recorded", "table", "scale", "rows", "primary", "questions", "seeds", "runs",
                    "level spent", "next look"});
  return 0;
}

Command make_plan_command() {
  auto o = std::make_shared<PlanOptions>();
  Command command{"plan", "Show what was planned before the tests, and what is left of it", R"(
`reproduce` and `score` record a plan before they train: rows, metrics, seeds, runs and looks. What it asks is
confirmatory (better, worse, not resolved); anything else about the same runs is exploratory. To plan several
tables of the same runs together, record each with `harness reproduce TABLE --plan-only` before the first one
is run.
Examples:
  harness plan
  harness reproduce sd35-ocr --seeds 42..44 --plan-runs 8 --looks 3,5,8 --plan-only)"};
  add_workspace_options(command, o->place);
  return with_json(std::move(command), o, run);
}

const bool kRegistered = register_command(CommandGroup::kLook, 26, make_plan_command);

}  // namespace
}  // namespace harness

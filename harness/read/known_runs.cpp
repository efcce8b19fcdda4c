#include "harness/read/known_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "harness/workspace/workspace.h"
#include "results/store/rows.h"

namespace harness {
namespace fs = std::filesystem;

/// The run whose id begins most like `id`.
static std::string nearest_run(const std::string& id, const std::vector<StoredRun>& runs) {
  std::vector<std::string> beginnings;
  for (const auto& run : runs) beginnings.push_back(run.id.substr(0, id.size()));
  const auto found = nearest(id, beginnings);
  constexpr const char* kList = "`harness list runs` shows them";
  if (!found) return runs.empty() ? "this DB has no runs" : kList;
  const auto at = std::ranges::find(beginnings, *found) - beginnings.begin();
  const auto& run = runs[static_cast<std::size_t>(at)];
  return fmt::format("did you mean \"{}\" ({}, seed {})? {}", run.id, run.method, run.seed, kList);
}

StoredRun find_run(Store& store, const std::string& id) {
  const auto runs = store.runs();
  std::vector<const StoredRun*> found;
  for (const auto& run : runs) {
    if (run.id == id) return run;
    if (!id.empty() && run.id.starts_with(id)) found.push_back(&run);
  }
  if (found.size() == 1) return *found.front();
  if (found.empty())
    throw Error(fmt::format("there is no run \"{}\"", id), store.path().string(), nearest_run(id, runs));
  std::vector<std::string> names;
  for (const auto* run : found)
    names.push_back(fmt::format("{} ({}, seed {})", run->id, run->method, run->seed));
  throw Error(fmt::format("\"{}\" begins the ids of {} runs", id, found.size()), store.path().string(),
              "give more digits: " + join(names, ", "));
}

fs::path folder_of(const Store& store, const StoredRun& run) {
  return run_folder_now(store.path(), run.id, run.folder);
}

void to_json(Json& json, const ExperimentOfRun& experiment) {
  json = {{"experiment", experiment.number}, {"table", experiment.table}, {"scale", experiment.scale}};
}

std::vector<ExperimentOfRun> experiments_with(Store& store, const std::string& run_id) {
  constexpr auto kSql = R"sql(
    SELECT id, table_id, scale FROM reproductions
    WHERE id IN (SELECT reproduction_id FROM reproduction_runs WHERE run_id = ?1)
    ORDER BY id)sql";
  return rows_as<ExperimentOfRun, std::int64_t, std::string, std::string>(store, kSql, run_id);
}

}  // namespace harness

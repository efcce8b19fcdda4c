#include "harness/runs/removal.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/event_log.h"
#include "core/text.h"
#include "harness/runs/trash.h"
#include "harness/show/run_report.h"
#include "results/store/journal.h"
#include "results/store/journal_history.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kRm = "harness runs rm";

/// True for a run's folder in this workspace that the DB knows nothing of, under exactly this name.
bool is_stray(const Workspace& workspace, const std::string& id) {
  const bool is_name = !id.empty() && id.find('/') == std::string::npos && id.front() != '.';
  return is_name && fs::exists(workspace.run_folder(id) / kJobFile);
}

/// A folder without rows of a run that the journal records is no stray: its rows were lost.
void require_no_rows(const Removal& removal, const Workspace& workspace) {
  if (!runs_in_journal(workspace.journal()).kept.contains(removal.id)) return;
  throw Error(
      fmt::format("run {} is recorded in {}, and {} lacks its rows", removal.id, workspace.journal().string(),
                  workspace.db.string()),
      kRm, fmt::format("`harness db rebuild{}` brings them back; then it can be removed", workspace.options),
      Status::kFailed);
}

void require_free(const Removal& removal) {
  if (!fs::is_directory(removal.folder)) return;
  for (const auto& entry : fs::recursive_directory_iterator(removal.folder)) {
    if (entry.path().filename() != kEventLog || !event_log_is_held(entry.path())) continue;
    throw Error(fmt::format("run {} is held by a living process", removal.text()), entry.path().string(),
                "wait for it, or stop it", Status::kFailed);
  }
}

/// What the journal says of a run.
std::vector<Json> records_of_run(const History& history, const std::string& run) {
  std::vector<Json> records;
  for (const auto& entry : history.entries) {
    if (entry.record.value("run", std::string()) == run) records.push_back(entry.record);
  }
  return records;
}

/// What the journal says of the experiment of this number.
std::vector<Json> records_of_experiment(const History& history, Store& store, std::int64_t number) {
  std::vector<Json> records;
  const auto found = std::ranges::find_if(history.entries, [&](const HistoryEntry& entry) {
    return type_of(entry.record) == "experiment" && store.number_of_experiment(entry.record) == number;
  });
  if (found == history.entries.end()) return records;
  for (const auto& entry : history.entries) {
    if (entry.experiment == found->experiment) records.push_back(entry.record);
  }
  return records;
}

/// How far the event logs of a run's jobs were read, by path in its folder.
std::map<std::string, std::uint64_t> logs_of(Store& store, const std::string& run) {
  std::map<std::string, std::uint64_t> logs;
  const auto add = [&](const std::string& job, const fs::path& folder) {
    const auto status = store.job_state(job);
    if (status && status->log_offset > 0) logs[(folder / kEventLog).string()] = status->log_offset;
  };
  add(run, {});
  for (const auto& evaluation : store.evaluations(run))
    add(evaluation.id, fs::path(evaluation.folder).filename());
  return logs;
}

}  // namespace

std::string Removal::label() const {
  return run ? fmt::format("{}, seed {}", run->method, run->seed) : "a folder without rows";
}

std::string Removal::text() const {
  return fmt::format("{} ({})", id, label());
}

Removal removal_of(Store& store, const Workspace& workspace, const std::string& id) {
  const auto folder = workspace.run_folder(id);
  return {.id = id,
          .run = store.run(id),
          .folder = folder,
          .experiments = experiments_with(store, id),
          .lost_logs =
              fs::is_directory(folder) ? lost_logs(logs_of(store, id), folder) : std::vector<std::string>()};
}

std::vector<Removal> find_removals(Store& store, const Workspace& workspace,
                                   const std::vector<std::string>& ids) {
  std::vector<Removal> removals;
  for (const auto& id : ids) {
    const bool stray = !store.run(id) && is_stray(workspace, id);
    auto removal = removal_of(store, workspace, stray ? id : find_run(store, id).id);
    const bool again = std::ranges::any_of(removals, [&](const Removal& r) { return r.id == removal.id; });
    if (!again) removals.push_back(std::move(removal));
  }
  return removals;
}

void require_removable(const Removal& removal, const Workspace& workspace, bool force) {
  if (!removal.run) require_no_rows(removal, workspace);
  require_free(removal);
  if (force) return;
  if (!removal.lost_logs.empty()) {
    throw Error(fmt::format("run {} lacks {}: `harness runs restore` could not bring its rows back",
                            removal.text(), join(removal.lost_logs, ", ")),
                removal.folder.string(),
                "put it back from a copy, or remove the run all the same with --force", Status::kFailed);
  }
  if (removal.experiments.empty()) return;
  throw used_error({removal}, kRm, Status::kFailed);
}

Error used_error(const std::vector<Removal>& removals, const std::string& command, Status status) {
  std::vector<std::string> tables;
  for (const auto& removal : removals) {
    for (const auto& e : removal.experiments) {
      auto table = fmt::format("{} (experiment {}, scale {})", e.at("table").get<std::string>(),
                               e.at("experiment").get<int>(), e.at("scale").get<std::string>());
      if (std::ranges::count(tables, table) == 0) tables.push_back(std::move(table));
    }
  }
  const bool is_one = removals.size() == 1;
  return Error(
      fmt::format("{} used by {}",
                  is_one ? fmt::format("run {} is", removals.front().text())
                         : fmt::format("{} runs, such as {}, are", removals.size(), removals.front().text()),
                  join(tables, ", ")),
      command,
      fmt::format("--force removes {}, and these experiments with {}", is_one ? "it" : "them",
                  is_one ? "it" : "them"),
      status);
}

std::optional<std::string> remove_run(Store& store, const Workspace& workspace, const Removal& removal,
                                      const std::string& by) {
  if (!fs::exists(removal.folder)) {
    store.forget(removal.id);
    return std::nullopt;
  }
  const auto history = history_of(read_journal(workspace.journal()).records);
  const auto entry = prepare_trash(workspace, {.run = removal.id,
                                               .label = removal.label(),
                                               .removed = utc_now(),
                                               .from = fs::absolute(removal.folder).string(),
                                               .by = by,
                                               .records = records_of_run(history, removal.id),
                                               .logs = logs_of(store, removal.id)});
  for (const auto& e : removal.experiments) {
    const auto id = e.at("experiment").get<std::int64_t>();
    if (const auto records = records_of_experiment(history, store, id); !records.empty())
      keep_experiment(workspace, id, records);
  }
  store.forget(removal.id);
  fill_trash(entry, removal.folder);
  return entry.name;
}

}  // namespace harness

#include "harness/archive/bringing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/error.h"
#include "core/event_log.h"
#include "core/files.h"
#include "core/json.h"
#include "core/sha256.h"
#include "harness/runs/job_files.h"
#include "results/store/left_out.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

bool is_evaluation(const fs::path& folder) {
  return folder.filename().string().starts_with(kEvaluationPrefix) && fs::is_directory(folder);
}

[[noreturn]] void refuse(const fs::path& from, const fs::path& to, const char* what,
                         const std::string& hint) {
  throw Error(fmt::format("holds other {} than {}: SHA-256 {} instead of {}", what, from.string(),
                          sha256_file(to), sha256_file(from)),
              to.string(), hint, Status::kFailed);
}

/// Events that hold results, by type and what they are of; of a repeated one the last counts.
using Results = std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Json>;

struct LoggedResults {
  Results results;
  bool is_complete = false;
};

LoggedResults results_of(const fs::path& log) {
  LoggedResults logged;
  for (auto event : Events(log)) {
    const auto type = event.value("type", "");
    logged.is_complete = logged.is_complete || type == "job_completed";
    event.erase("time");
    event.erase("scorers");  // how often one had failed by then
    event.erase("spent");    // another machine takes another time
    Fields fields(event, log.string());
    const auto number = [&](const char* field) { return fields.optional(field, std::int64_t{-1}); };
    const std::tuple key(type, type == "update" ? number("update_index") : number("step"), std::int64_t{0});
    if (type == "update" || type == "checkpoint" || type == "effective_settings")
      logged.results[key] = std::move(event);
    else if (type == "sample")
      logged.results[std::tuple(type, number("position"), number("sample"))] = event;
  }
  return logged;
}

/// True if two event logs of one job are complete and equal in content: every update, checkpoint, image and
/// score, whenever and wherever the job was done, and however often it was interrupted. An id stands for
/// numbers, so that a job which two people did has two logs and one result. Throws Error for a damaged log.
bool have_same_results(const fs::path& a, const fs::path& b) {
  const auto ours = results_of(a), theirs = results_of(b);
  return ours.is_complete && theirs.is_complete && ours.results == theirs.results;
}

/// The log of a job that is in both places.
void require_same_log(const fs::path& from, const fs::path& to) {
  const bool is_here = fs::exists(to / kEventLog), comes = fs::exists(from / kEventLog);
  if (is_here && comes &&
      (is_same_content(from / kEventLog, to / kEventLog) ||
       have_same_results(from / kEventLog, to / kEventLog)))
    return;
  if (!is_here && !comes) return;
  constexpr const char* kHint =
      "it is the same run, done twice with other results, or done in one of them only: keep them in two "
      "workspaces";
  if (is_here && comes) refuse(from / kEventLog, to / kEventLog, "results", kHint);
  throw Error(is_here ? fmt::format("holds a log that {} lacks", from.string())
                      : fmt::format("lacks the log {}", (from / kEventLog).string()),
              to.string(), kHint, Status::kFailed);
}

/// The same for all jobs in a run's folder.
void require_same_logs(const fs::path& from, const fs::path& to) {
  require_same_log(from, to);
  for (const auto& folder : entries_below(from)) {
    if (is_evaluation(folder) && fs::exists(to / folder.filename()))
      require_same_log(folder, to / folder.filename());
  }
}

/// Files below that are not there; the others stay as they are.
bool bring_missing(const fs::path& from, const fs::path& to, Moves& moves) {
  if (!fs::is_directory(from)) return false;
  if (!fs::exists(to)) {
    moves.add(from, to);
    return true;
  }
  bool brought = false;
  for (const auto& entry : entries_below(from)) {
    const auto place = to / entry.filename();
    if (fs::is_directory(entry)) {
      brought |= bring_missing(entry, place, moves);
    } else if (!fs::exists(place)) {
      moves.add(entry, place);
      brought = true;
    }
  }
  return brought;
}

/// Brings FROM/PART to TO where it, or a file of it, is not there. Then the note that it was left out goes.
bool bring_part(const fs::path& from, const fs::path& to, const char* part, Moves& moves) {
  if (!bring_missing(from / part, to / part, moves)) return false;
  if (fs::exists(to / kLeftOutFile)) moves.add(to / kLeftOutFile, from / fmt::format("{}.was", kLeftOutFile));
  return true;
}

}  // namespace

void Moves::make_folders(const fs::path& folder) {
  std::vector<fs::path> missing;
  for (auto at = folder; !at.empty() && !fs::exists(at); at = at.parent_path()) missing.push_back(at);
  make_folder(folder);
  made_.insert(made_.end(), missing.rbegin(), missing.rend());
}

void Moves::carry_out() {
  try {
    for (const auto& [from, to] : planned_) {
      make_folders(to.parent_path());
      std::error_code error;
      fs::rename(from, to, error);
      if (error)
        throw Error(fmt::format("cannot be moved to {}: {}", to.string(), error.message()), from.string(),
                    "check the permissions of both folders", Status::kFailed);
      done_.emplace_back(from, to);
    }
  } catch (...) {
    undo();
    throw;
  }
}

void Moves::undo() {
  std::error_code ignored;
  for (; !done_.empty(); done_.pop_back()) fs::rename(done_.back().second, done_.back().first, ignored);
  for (; !made_.empty(); made_.pop_back()) fs::remove(made_.back(), ignored);
}

bool is_same_content(const fs::path& a, const fs::path& b) {
  std::error_code absent;
  if (fs::file_size(a, absent) != fs::file_size(b, absent) || absent) return false;
  return fs::equivalent(a, b, absent) || sha256_file(a) == sha256_file(b);
}

void bring_files(const fs::path& from, const fs::path& to, Moves& moves) {
  if (!fs::exists(to)) return moves.add(from, to);
  for (const auto& entry : entries_below(from)) {
    const auto place = to / entry.filename();
    if (fs::is_directory(entry)) {
      bring_files(entry, place, moves);
    } else if (!fs::exists(place)) {
      moves.add(entry, place);
    } else if (!is_same_content(entry, place)) {
      refuse(entry, place, "bytes", "move it away, and repeat the command");
    }
  }
}

std::vector<std::string> bring_run(const fs::path& from, const fs::path& to, bool with_evaluations,
                                   Moves& moves) {
  if (!fs::is_directory(from)) return {};
  if (!fs::exists(to)) {
    if (with_evaluations) moves.add(from, to);
    return with_evaluations ? std::vector<std::string>{"run"} : std::vector<std::string>{};
  }
  require_same_logs(from, to);
  std::set<std::string> added;
  if (bring_part(from, to, kCheckpointsFolder, moves)) added.insert(kCheckpointsFolder);
  for (const auto& folder : entries_below(from)) {
    if (!is_evaluation(folder)) continue;
    const auto place = to / folder.filename();
    if (!fs::exists(place)) {
      if (!with_evaluations) continue;
      moves.add(folder, place);
      added.insert("evaluations");
      continue;
    }
    if (bring_part(folder, place, kImagesFolder, moves)) added.insert(kImagesFolder);
  }
  return {added.begin(), added.end()};
}

void copy_run(const fs::path& from, const fs::path& to) {
  make_folder(to);
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const auto relative = entry.path().lexically_relative(from);
    const auto place = to / relative;
    if (entry.is_directory()) {
      make_folder(place);
      continue;
    }
    if (!entry.is_regular_file() || fs::exists(place)) continue;
    const auto part = relative.parent_path().string();
    const bool is_settled =
        part.starts_with(kCheckpointsFolder) || part.starts_with("resume") || part.ends_with(kImagesFolder);
    std::error_code cannot;
    if (is_settled) fs::create_hard_link(entry.path(), place, cannot);
    if (!is_settled || cannot) fs::copy_file(entry.path(), place, cannot);
    if (cannot)
      throw Error(fmt::format("cannot be copied to {}: {}", place.string(), cannot.message()),
                  entry.path().string(), "free some space, or check the permissions", Status::kFailed);
  }
}

}  // namespace harness

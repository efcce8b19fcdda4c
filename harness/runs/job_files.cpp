#include "harness/runs/job_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/event_log.h"
#include "core/sha256.h"
#include "core/weights/weights_folder.h"
#include "harness/plan/model_folder.h"

namespace harness {
namespace fs = std::filesystem;

std::vector<fs::path> entries_below(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code absent;
  for (fs::directory_iterator at(folder, absent), end; !absent && at != end; at.increment(absent))
    paths.push_back(at->path());
  std::ranges::sort(paths);
  return paths;
}

Json read_job_document(const fs::path& folder) {
  auto document = read_json(folder / kJobFile);
  Fields fields(document, (folder / kJobFile).string());
  fields.required<std::string>("id");
  fields.object("identity");
  fields.object("options");
  auto paths = fields.object("paths");
  for (const auto& name : paths.keys()) paths.required<std::string>(name);
  return document;
}

Job read_job(const fs::path& folder, const std::string& id) {
  const auto document = read_job_document(folder);
  Job job{.id = document.at("id"),
          .identity = document.at("identity"),
          .paths = document.at("paths"),
          .folder = folder,
          .label = {}};
  const auto hash = job_id(job.identity);
  if (hash != job.id || hash != id) {
    throw Error(
        fmt::format("is named {} in the folder of {}, and its identity has the id {}", job.id, id, hash),
        (folder / kJobFile).string(), "it was changed, or the folder renamed: copy it again");
  }
  return job;
}

std::vector<int> read_positions(const fs::path& folder) {
  const Json document = {{"positions", read_json(folder / kPositionsFile)}};
  return Fields(document, (folder / kPositionsFile).string()).required<std::vector<int>>("positions");
}

bool is_file_of_set(const fs::path& file, const std::string& sha256) {
  std::error_code absent;
  if (!fs::is_regular_file(file, absent)) return false;
  try {
    return load_prompt_set(file, task_of_file(file)).sha256 == sha256;
  } catch (const Error&) {
    return false;  // no prompts, or no longer
  }
}

std::optional<PromptSet> set_in(const fs::path& file, const std::string& sha256, const fs::path& recorded) {
  if (!is_file_of_set(file, sha256)) return std::nullopt;
  if (task_of_file(file) == kGenevalPrompts) return load_prompt_set(file, kGenevalPrompts);
  const auto folder = recorded.parent_path().filename().string();
  return load_prompt_set(file, folder == kPickscorePrompts ? kPickscorePrompts : kOcrPrompts);
}

std::optional<std::string> weights_here(const fs::path& job_file) {
  try {
    const auto job = read_job_document(job_file.parent_path());
    const Json& identity = job.at("identity");
    const fs::path recorded = job.at("paths").value("weights", std::string());
    for (const auto& place : {recorded, own_weights(identity.value("backbone", std::string()))}) {
      if (fs::is_directory(place) && weights_checksum(place) == identity.at("weights_sha256"))
        return fs::absolute(place).string();
    }
  } catch (const std::exception&) {
    // Not here: the checksum identifies them.
  }
  return std::nullopt;
}

void require_sound_log(const fs::path& log) {
  if (!fs::exists(log)) return;
  if (event_log_is_held(log))
    throw Error("is held by a living process", log.string(), "wait for it, or stop it");
  for ([[maybe_unused]] const auto& event : Events(log)) {
  }
}

void require_sound_logs(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() != kEventLog) continue;
    require_sound_log(entry.path());
  }
}

}  // namespace harness

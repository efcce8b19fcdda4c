#include "harness/plan/asked_runs.h"

#include "core/files.h"
#include "core/json.h"
#include "results/store/journal.h"

namespace harness {
namespace {

std::filesystem::path file_of(const Workspace& workspace) {
  return workspace.folder / ".asked.json";
}

}  // namespace

void note_asked_runs(const Workspace& workspace, const std::vector<const Plan*>& plans) {
  Json runs = Json::array();
  for (const auto* plan : plans) {
    for (const auto& run : plan->runs) runs.push_back(run.job.id);
  }
  write_file_atomically(file_of(workspace), Json{{"at", utc_now()}, {"runs", std::move(runs)}}.dump() + "\n");
}

std::optional<AskedRuns> asked_runs(const Workspace& workspace) {
  std::error_code absent;
  if (!std::filesystem::exists(file_of(workspace), absent)) return std::nullopt;
  try {
    const auto asked = read_json(file_of(workspace));
    return AskedRuns{.ids = asked.at("runs").get<std::set<std::string>>(),
                     .at = asked.at("at").get<std::string>()};
  } catch (const std::exception&) {
    return std::nullopt;  // half of a disk that was full, say: the journal's times tell most
  }
}

}  // namespace harness

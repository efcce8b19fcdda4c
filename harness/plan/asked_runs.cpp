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
  Json runs = Json::object();
  for (const auto* plan : plans) {
    for (const auto& run : plan->runs) {
      auto& evaluations = runs[run.job.id] = Json::array();
      if (plan->spec.is_training()) continue;
      const auto add = [&](const char* split, const Json& step) {
        evaluations.push_back({{"split", split}, {"step", step}, {"images", plan->images_on(split)}});
      };
      for (const auto step : run.checkpoints) add("validation", step);
      if (plan->spec.tests()) add("test", {});
    }
  }
  write_file_atomically(file_of(workspace), Json{{"at", utc_now()}, {"runs", std::move(runs)}}.dump() + "\n");
}

std::optional<AskedRuns> asked_runs(const Workspace& workspace) {
  std::error_code absent;
  if (!std::filesystem::exists(file_of(workspace), absent)) return std::nullopt;
  try {
    const auto asked = read_json(file_of(workspace));
    AskedRuns found{.runs = {}, .at = asked.at("at").get<std::string>()};
    for (const auto& [id, evaluations] : asked.at("runs").items()) {
      auto& list = found.runs[id];
      for (const auto& each : evaluations) {
        const auto& step = each.at("step");
        list.push_back({.split = each.at("split"),
                        .step = step.is_null() ? std::nullopt : std::optional(step.get<std::int64_t>()),
                        .images = each.at("images")});
      }
    }
    return found;
  } catch (const std::exception&) {
    return std::nullopt;  // half of a disk that was full, say: the journal's times tell most
  }
}

}  // namespace harness

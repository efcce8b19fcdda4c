#include "harness/commands/taken.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "core/streams.h"
#include "core/text.h"

namespace harness {

Json taken_json(const Taken& taken) {
  Json experiments = Json::array(), runs = Json::array();
  for (const auto& e : taken.experiments) {
    experiments.push_back(
        {{"was", e.was}, {"number", e.number}, {"table", e.table_id}, {"already_here", e.is_known}});
  }
  for (const auto& run : taken.runs) runs.push_back({{"name", run.id}, {"added", run.added}});
  return {{"experiments", experiments}, {"runs", runs}, {"notes", taken.notes}};
}

std::string parts_added(const Taken& taken) {
  std::map<std::string, std::int64_t> counts;
  for (const auto& run : taken.runs) {
    for (const auto& part : run.added) ++counts[part];
  }
  std::vector<std::string> parts;
  for (const auto& [part, count] : counts)
    parts.push_back(part == "run" ? counted(count, "new run")
                                  : fmt::format("{} of {}", part, counted(count, "run")));
  return join(parts, ", ");
}

void tell_notes(const Taken& taken) {
  for (const auto& note : taken.notes) tell("note: {}\n", note);
}

}  // namespace harness

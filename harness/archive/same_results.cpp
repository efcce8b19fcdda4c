#include "harness/archive/same_results.h"

#include <map>
#include <string>
#include <tuple>

#include "core/event_log.h"
#include "core/json.h"

namespace harness {
namespace {

/// Events that hold results, by type and what they are of; of a repeated one the last counts.
using Results = std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Json>;

struct LoggedResults {
  Results results;
  bool is_complete = false;
};

LoggedResults results_of(const std::filesystem::path& log) {
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

}  // namespace

bool have_same_results(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto ours = results_of(a), theirs = results_of(b);
  return ours.is_complete && theirs.is_complete && ours.results == theirs.results;
}

}  // namespace harness

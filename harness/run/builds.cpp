#include "harness/run/builds.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/store/rows.h"

namespace harness {
namespace {

constexpr std::size_t kShownDigits = 12;

struct Start {
  std::string sources, build;
};

/// The last start of a job.
std::optional<Start> start_of(Store& store, const std::string& job) {
  const auto starts = checked_rows<Start>(
      store,
      "SELECT ifnull(json_extract(detail, '$.sources'), ''), ifnull(json_extract(detail, '$.build'), '') "
      "FROM events WHERE job_id = ?1 AND type = 'job_started' ORDER BY id DESC LIMIT 1",
      [](const Query& row) {
        return Start{row.text(0), row.text(1)};
      },
      job);
  return starts.empty() ? std::nullopt : std::optional(starts.front());
}

}  // namespace

std::string CodeGroup::text() const {
  if (!sources.empty()) return fmt::format("sources {}", sources.substr(0, kShownDigits));
  return fmt::format("worker build {} (its sources are not recorded)", build.substr(0, kShownDigits));
}

std::vector<CodeGroup> code_of_jobs(Store& store, const std::vector<std::string>& jobs) {
  std::vector<CodeGroup> groups;
  for (const auto& job : jobs) {
    const auto start = start_of(store, job);
    if (!start) continue;
    const auto build = start->sources.empty() ? start->build : std::string();
    auto found = std::ranges::find_if(
        groups, [&](const CodeGroup& g) { return g.sources == start->sources && g.build == build; });
    if (found == groups.end()) found = groups.insert(groups.end(), {start->sources, build, {}});
    found->jobs.push_back(job);
  }
  std::ranges::stable_sort(groups, std::ranges::greater{}, [](const CodeGroup& g) { return g.jobs.size(); });
  return groups;
}

std::optional<std::string> other_code(const std::vector<CodeGroup>& groups, const std::string& own) {
  if (groups.empty() || (own.empty() && groups.size() == 1)) return std::nullopt;
  std::size_t all = 0;
  for (const auto& group : groups) all += group.jobs.size();
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool is_reference = own.empty() ? i == 0 : groups[i].sources == own;
    if (!is_reference)
      parts.push_back(fmt::format("{} of {} by {}", groups[i].jobs.size(), all, groups[i].text()));
  }
  if (parts.empty()) return std::nullopt;
  const auto reference =
      own.empty() ? fmt::format("the other {} by {}", groups.front().jobs.size(), groups.front().text())
                  : fmt::format("this build has sources {}", own.substr(0, kShownDigits));
  return fmt::format("jobs recorded by other code: {}; {}", join(parts, ", "), reference);
}

}  // namespace harness

#include "harness/read/builds.h"

#include <fmt/format.h>

#include "core/json.h"
#include "core/text.h"
#include "results/store/rows.h"

namespace harness {
namespace {

constexpr std::size_t kShownDigits = 12;

// Of the last start of each job, in the order of the jobs.
constexpr auto kGroups = R"sql(
  WITH starts AS (
    SELECT job.key AS nth, max(start.id), ifnull(json_extract(start.detail, '$.sources'), '') AS sources,
           ifnull(json_extract(start.detail, '$.build'), '') AS build
    FROM json_each(?1) AS job JOIN events AS start ON start.job_id = job.value AND start.type = 'job_started'
    GROUP BY job.key)
  SELECT sources, iif(sources = '', build, '') AS build, count(*) FROM starts
  GROUP BY 1, 2 ORDER BY count(*) DESC, min(nth))sql";

}  // namespace

std::string CodeGroup::text() const {
  if (!sources.empty()) return fmt::format("sources {}", sources.substr(0, kShownDigits));
  return fmt::format("worker build {} (its sources are not recorded)", build.substr(0, kShownDigits));
}

std::vector<CodeGroup> code_of_jobs(Store& store, const std::vector<std::string>& jobs) {
  const auto read = [](const Query& row) { return CodeGroup{row.text(0), row.text(1), row.integer(2)}; };
  return checked_rows<CodeGroup>(store, kGroups, read, Json(jobs).dump());
}

std::optional<std::string> other_code(const std::vector<CodeGroup>& groups, const std::string& own) {
  if (groups.empty() || (own.empty() && groups.size() == 1)) return std::nullopt;
  std::int64_t all = 0;
  for (const auto& group : groups) all += group.jobs;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool is_reference = own.empty() ? i == 0 : groups[i].sources == own;
    if (!is_reference) parts.push_back(fmt::format("{} of {} by {}", groups[i].jobs, all, groups[i].text()));
  }
  if (parts.empty()) return std::nullopt;
  const auto reference = own.empty()
                             ? fmt::format("the other {} by {}", groups.front().jobs, groups.front().text())
                             : fmt::format("this build has sources {}", own.substr(0, kShownDigits));
  return fmt::format("jobs recorded by other code: {}; {}", join(parts, ", "), reference);
}

}  // namespace harness

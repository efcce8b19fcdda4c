#include "results/verdict/analysis_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/sha256.h"
#include "results/statistics/numeric.h"

namespace harness {
namespace {

constexpr std::size_t kDigestDigits = 12;

Json runs_json(const PlannedRow& row) {
  Json runs = Json::object();
  for (const auto& [seed, id] : row.runs) runs[fmt::format("{}", seed)] = id;
  return runs;
}

PlannedRow row_from(const Json& value, const std::string& where) {
  Fields fields(value, where);
  PlannedRow row{.method = fields.required<std::string>("method"),
                 .settings = fields.required<std::string>("settings"),
                 .runs = {}};
  for (const auto& [seed, id] : fields.required<std::map<std::string, std::string>>("runs"))
    row.runs[std::stoll(seed)] = id;
  fields.finish();
  return row;
}

}  // namespace

AnalysisPlan AnalysisPlan::from_json(const Json& document, const std::string& where) {
  Fields fields(document, where);
  AnalysisPlan plan{.table = fields.required<std::string>("table"),
                    .backbone = fields.required<std::string>("backbone"),
                    .scale = fields.required<std::string>("scale"),
                    .split = fields.required<std::string>("split"),
                    .baseline = fields.required<std::string>("baseline"),
                    .base = fields.required<std::string>("base"),
                    .primary = fields.required<std::string>("primary"),
                    .selection = fields.get("selection"),
                    .prompts = fields.required<std::string>("prompts"),
                    .metrics = fields.required<std::vector<std::string>>("metrics"),
                    .pairs = fields.required<std::vector<std::pair<std::string, std::string>>>("pairs"),
                    .seeds = fields.required<std::vector<std::int64_t>>("seeds"),
                    .looks = fields.required<std::vector<std::int64_t>>("looks"),
                    .equal_within = fields.required<std::map<std::string, double>>("equal_within"),
                    .rows = {},
                    .supersedes = fields.required<std::vector<std::string>>("supersedes"),
                    .opened = fields.required<std::vector<std::string>>("opened")};
  auto rows = fields.object("rows");
  for (const auto& name : rows.keys()) plan.rows[name] = row_from(rows.get(name), where + ": rows." + name);
  fields.finish();
  if (plan.looks.empty() || plan.looks.back() != plan.runs())
    throw Error("looks do not end with all runs", where);
  return plan;
}

Json AnalysisPlan::to_json() const {
  Json named = Json::object();
  for (const auto& [name, row] : rows)
    named[name] = {{"method", row.method}, {"settings", row.settings}, {"runs", runs_json(row)}};
  return {{"table", table},           {"backbone", backbone},
          {"scale", scale},           {"split", split},
          {"baseline", baseline},     {"base", base},
          {"primary", primary},       {"selection", selection},
          {"prompts", prompts},       {"metrics", metrics},
          {"pairs", pairs},           {"seeds", seeds},
          {"looks", looks},           {"equal_within", equal_within},
          {"rows", std::move(named)}, {"supersedes", supersedes},
          {"opened", opened}};
}

std::string AnalysisPlan::digest() const {
  auto document = to_json();
  for (const auto* later : {"supersedes", "opened"}) document.erase(later);
  return sha256_hex(canonical_json(document)).substr(0, kDigestDigits);
}

std::set<std::string> AnalysisPlan::run_ids() const {
  std::set<std::string> ids;
  for (const auto& [name, row] : rows) {
    for (const auto& [seed, id] : row.runs) {
      if (name != base) ids.insert(id);
    }
  }
  return ids;
}

double AnalysisPlan::level_of_look(std::size_t look) const {
  const auto spent = [&](std::size_t at) {
    return spent_level(static_cast<double>(looks[at]) / static_cast<double>(runs()));
  };
  return spent(look) - (look == 0 ? 0 : spent(look - 1));
}

bool AnalysisPlan::is_unopened(const std::string& row) const {
  if (row == base) return true;
  const auto found = rows.find(row);
  return found != rows.end() && std::ranges::none_of(found->second.runs, [&](const auto& run) {
           return std::ranges::binary_search(opened, run.second);
         });
}

bool AnalysisPlan::has_question(const std::string& baseline_row, const std::string& method_row,
                                const std::string& metric) const {
  const auto is_pair = [&](const auto& pair) {
    return pair == std::pair(baseline_row, method_row) || pair == std::pair(method_row, baseline_row);
  };
  return std::ranges::any_of(pairs, is_pair) && std::ranges::count(metrics, metric) > 0;
}

bool AnalysisPlan::asks(const std::string& baseline_row, const std::string& method_row,
                        const std::string& metric) const {
  return has_question(baseline_row, method_row, metric) && is_unopened(baseline_row) &&
         is_unopened(method_row);
}

double spent_level(double share, double level) {
  return std::erfc(normal_critical(level) / std::sqrt(share) / std::sqrt(2.0));
}

double p_at_family_level(double p, double level_of_look) {
  return std::min(1.0, p * kFamilyLevel / level_of_look);
}

std::vector<std::int64_t> checked_looks(std::vector<std::int64_t> looks, std::int64_t runs) {
  std::int64_t last = 0;
  for (const auto look : looks) {
    if (look <= last)
      throw Error(fmt::format("looks must rise: {} follows {}", look, last), "--looks",
                  "give numbers of runs, such as 3,5,8");
    if (look > runs)
      throw Error(fmt::format("a look at {} runs lies beyond the {} that are planned", look, runs), "--looks",
                  fmt::format("plan more runs with --plan-runs {}", look));
    last = look;
  }
  if (last != runs) looks.push_back(runs);
  return looks;
}

}  // namespace harness

#include "results/verdict/analysis_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/sha256.h"
#include "results/statistics/crossed.h"
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
                 .runs = {},
                 .evaluation = fields.optional<Json>("evaluation", nullptr)};
  for (const auto& [seed, id] : fields.required<std::map<std::string, std::string>>("runs"))
    row.runs[std::stoll(seed)] = id;
  fields.finish();
  return row;
}

/// Whether two identities of what is given have a file in common, under a name by step.
bool share_files(const Json& a, const Json& b) {
  for (const auto* kind : {"images", "imported"}) {
    if (!a.contains(kind) || !b.contains(kind)) continue;
    for (const auto& file : a.at(kind)) {
      if (std::ranges::any_of(b.at(kind), [&](const Json& other) { return other == file; })) return true;
    }
  }
  return false;
}

bool is_near(double a, double b) {
  const auto near = [](double x, double y) {
    return std::abs(x - y) <= kSameSetting * std::max(std::abs(x), std::abs(y));
  };
  const bool is_share = std::min(a, b) > 0 && std::max(a, b) < 1;
  return near(a, b) && (!is_share || near(1 - a, 1 - b));
}

/// Whether two values under a name count as one; adds what differs.
bool add_near(const std::string& name, const Json& tested, const Json& here,
              std::vector<std::string>& differences) {
  if (tested == here) return true;
  if (tested.is_object() && here.is_object()) {
    for (const auto& [key, value] : tested.items()) {
      if (!here.contains(key) || !add_near(key, value, here.at(key), differences)) return false;
    }
    return tested.size() == here.size();
  }
  if (name == "checkpoints") {  // which ones are kept changes no training
    differences.emplace_back("other checkpoints");
    return true;
  }
  const bool are_numbers = tested.is_number() && here.is_number();
  if (!are_numbers || !(tested.is_number_float() || here.is_number_float()) ||
      !is_near(tested.get<double>(), here.get<double>()))
    return false;
  differences.push_back(fmt::format("{} {}, here {}", name, tested.get<double>(), here.get<double>()));
  return true;
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
                    .opened = fields.required<std::vector<std::string>>("opened"),
                    .why_opened = fields.optional<std::string>("why_opened", ""),
                    .again = fields.optional<std::int64_t>("again", 0)};
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
    named[name] = {{"method", row.method},
                   {"settings", row.settings},
                   {"runs", runs_json(row)},
                   {"evaluation", row.evaluation}};
  Json document = {{"table", table},           {"backbone", backbone},
                   {"scale", scale},           {"split", split},
                   {"baseline", baseline},     {"base", base},
                   {"primary", primary},       {"selection", selection},
                   {"prompts", prompts},       {"metrics", metrics},
                   {"pairs", pairs},           {"seeds", seeds},
                   {"looks", looks},           {"equal_within", equal_within},
                   {"rows", std::move(named)}, {"supersedes", supersedes},
                   {"opened", opened}};
  if (!why_opened.empty()) document["why_opened"] = why_opened;
  if (again > 0) document["again"] = again;
  return document;
}

Json evaluation_conditions(Json identity) {
  Json scorers = Json::object();
  const Json named = identity.value("scorers", Json::object());
  for (const auto& [name, scorer] : named.items())
    scorers[name] = sha256_hex(canonical_json(scorer)).substr(0, kDigestDigits);
  for (const auto* other : {"run", "seed", "step", "split", "kind", "device", "cpu_numerics",
                            "numerics_version", "metrics", "split_seed", "split_sizes"})
    identity.erase(other);
  identity["scorers"] = std::move(scorers);
  return identity;
}

bool are_same_conditions(const Json& a, const Json& b) {
  if (a.is_null() || b.is_null()) return true;
  const auto is_same = [&](const auto& scorer) {
    return !b.at("scorers").contains(scorer.key()) || b.at("scorers").at(scorer.key()) == scorer.value();
  };
  const auto scorers = a.at("scorers").items();
  auto rest = a, other_rest = b;
  rest.erase("scorers");
  other_rest.erase("scorers");
  return rest == other_rest && std::ranges::all_of(scorers, is_same);
}

std::string AnalysisPlan::digest() const {
  auto document = to_json();
  for (const auto* known : {"supersedes", "opened", "why_opened"}) document.erase(known);
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

std::optional<std::vector<std::string>> near_settings(const Json& tested, const Json& here) {
  std::vector<std::string> differences;
  if (share_files(tested, here)) return {{"the same files"}};
  return add_near("", tested, here, differences) ? std::optional(std::move(differences)) : std::nullopt;
}

std::vector<std::int64_t> checked_looks(std::vector<std::int64_t> looks, std::int64_t runs) {
  std::int64_t last = 0;
  for (const auto look : looks) {
    if (look <= last)
      throw Error(fmt::format("looks must rise: {} follows {}", look, last), "--looks",
                  "give numbers of runs, such as 3,5,8");
    if (look < kFewestRuns)
      throw Error(fmt::format("a look at {} runs claims nothing", look), "--looks",
                  fmt::format("begin at {} runs or more", kFewestRuns));
    if (look > runs)
      throw Error(fmt::format("a look at {} runs lies beyond the {} that are planned", look, runs), "--looks",
                  fmt::format("plan more runs with --plan-runs {}", look));
    last = look;
  }
  if (last != runs) looks.push_back(runs);
  return looks;
}

}  // namespace harness

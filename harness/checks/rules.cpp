#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <span>

#include "core/files.h"
#include "core/text.h"
#include "harness/checks/check.h"
#include "harness/workspace/workspace.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kProblemsShown = 3;

/// Everything that a rule file may ask for.
const std::map<std::string, Check*>& known_checks() {
  static const std::map<std::string, Check*> checks = {
      {"database", check_database},
      {"builds", check_builds},
      {"ids", check_ids},
      {"pairing", check_pairing},
      {"split", check_split},
      {"selection", check_selection},
      {"test-once", check_test_once},
      {"tested-arms", check_tested_arms},
      {"spec", check_spec},
      {"query", check_query},
      {"metrics", check_metrics},
      {"comparisons", check_comparisons},
      {"directions", check_directions},
      {"alarms", check_alarms},
      {"law-audit", check_law_audit},
      {"on-policy", check_on_policy},
      {"images", check_images},
      {"checkpoints", check_checkpoints},
      {"artifacts", check_artifacts},
  };
  return checks;
}

/// The rule's own name. Throws Error unless its check is known; what else it holds is its check's.
std::string name_of(const Rule& rule) {
  const auto& where = rule.where;
  if (!rule.fields.is_object()) throw Error("is not an object", where);
  Fields fields(rule.fields, where);
  const auto check = fields.required<std::string>("check");
  auto name = fields.optional<std::string>("name", check);
  if (!known_checks().contains(check)) {
    const auto known = std::views::keys(known_checks());
    throw Error(fmt::format("unknown check \"{}\"", check), where,
                suggestion(check, std::vector(known.begin(), known.end())));
  }
  return name;
}

/// Whether rules are for a split of other prompts than this one's (`reproduce --split`, or a smaller set).
bool ask_for_another_split(const RuleFile& rules, const TableSpec& spec) {
  return std::ranges::any_of(rules.rules, [&](const Rule& each) {
    const auto& rule = each.fields;
    return rule.value("check", "") == "split" &&
           (rule.value("of", spec.prompts_first) != spec.prompts_first ||
            rule.value("take", spec.split.take) != spec.split.take);
  });
}

/// Rules of the extending file take the place of those of the same name; the others follow.
std::vector<Rule> merged(std::vector<Rule> all, const std::vector<Rule>& own) {
  std::set<std::string> names;
  for (const auto& rule : own) {
    const auto name = name_of(rule);
    if (!names.insert(name).second)
      throw Error(fmt::format("a rule before it is named {} too", in_quotes(name)), rule.where,
                  "give each a \"name\" of its own");
    const auto same = std::ranges::find(all, name, name_of);
    if (same == all.end()) {
      all.push_back(rule);
    } else {
      *same = rule;
    }
  }
  return all;
}

std::string one_line(const Findings& findings) {
  if (findings.problems.empty()) return findings.warning.empty() ? findings.summary : findings.warning;
  const auto shown = std::min(kProblemsShown, findings.problems.size());
  auto text = join(std::span(findings.problems).first(shown), "; ");
  if (findings.problems.size() > shown)
    text += fmt::format("; and {} more", findings.problems.size() - shown);
  return findings.hint.empty() ? text : fmt::format("{} -> {}", text, findings.hint);
}

/// Every text of `findings` through with_place.
void add_place(Findings& findings, const std::string& workspace) {
  for (auto* text : {&findings.hint, &findings.warning}) *text = with_place(*text, workspace);
  for (auto& problem : findings.problems) problem = with_place(problem, workspace);
}

RuleResult apply_rule(const Rule& rule, const CheckedExperiment& experiment, const std::string& workspace) {
  Fields fields(rule.fields, rule.where);
  const auto check = fields.required<std::string>("check");
  RuleResult result{.name = fields.optional<std::string>("name", check)};
  try {
    result.findings = known_checks().at(check)(experiment, fields);
  } catch (const Error& error) {
    if (error.where().starts_with(rule.where)) throw;  // the rule itself is wrong
    result.findings.add(error.what());
  } catch (const nlohmann::json::exception& error) {
    result.findings.add("stored value has an unexpected format: {}", error.what());
  }
  fields.finish();
  add_place(result.findings, workspace);
  result.passed = result.findings.problems.empty();
  result.applies = result.findings.has_subject || !result.passed;
  result.message = one_line(result.findings);
  return result;
}

}  // namespace

/// `chain`: the files that lead to it, each extending the next.
static RuleFile read_rules(const fs::path& file, std::vector<std::string> chain) {
  const Json document = read_json(file);
  Fields fields(document, file.string());
  RuleFile rules{.id = file.stem().string(), .version = fields.required<int>("version"), .file = file};
  const auto& list = fields.get("rules");
  fields.optional<std::string>("about", "");
  const auto base = fields.optional<std::string>("extends", "");
  fields.finish();
  if (!list.is_array()) throw Error("must be a list", file.string() + ": rules");
  for (std::size_t i = 0; i < list.size(); ++i)
    rules.rules.push_back({list[i], fmt::format("{}: rules[{}]", file.string(), i)});
  chain.push_back(rules.id);
  if (std::ranges::count(chain, base) > 0)
    throw Error(fmt::format("extends itself: {} -> {}", join(chain, " -> "), base), file.string());
  auto inherited =
      base.empty() ? std::vector<Rule>() : read_rules(find_data_file("rules/" + base + ".json"), chain).rules;
  rules.rules = merged(std::move(inherited), rules.rules);
  return rules;
}

RuleFile read_rule_file(const fs::path& file) {
  return read_rules(file, {});
}

RuleFile rules_of(const TableSpec& spec) {
  const auto own = "rules/" + spec.id + ".json";
  std::string note;
  try {
    auto rules = read_rule_file(find_data_file(own));
    if (!ask_for_another_split(rules, spec)) return rules;
    note = fmt::format(
        "{} of {} prompts are for validation, which is not the split that rules {} are for: the "
        "rules of every evaluation apply",
        spec.split.take, spec.prompts_first, rules.id);
  } catch (const Error& error) {
    if (error.where() != own) throw;  // it is there and wrong
  }
  auto rules =
      read_rule_file(find_data_file(spec.is_training() ? "rules/training.json" : "rules/evaluation.json"));
  rules.note = std::move(note);
  return rules;
}

std::vector<RuleResult> apply_rules(const RuleFile& rules, const CheckedExperiment& experiment,
                                    const std::string& workspace) {
  std::vector<RuleResult> results;
  for (const auto& rule : rules.rules) results.push_back(apply_rule(rule, experiment, workspace));
  return results;
}

}  // namespace harness

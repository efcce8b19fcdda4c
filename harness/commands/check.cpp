#include "harness/checks/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/terminal/output.h"
#include "results/paper/paper_audit.h"

namespace harness {
namespace {

constexpr std::size_t kProblemsPrinted = 5;

struct CheckOptions {
  DbOptions db;
  std::string rules;
  bool paper = false, json = false;
};

void print_result(const RuleResult& result, std::size_t width) {
  const auto& problems = result.findings.problems;
  const bool warned = result.passed && !result.findings.warning.empty();
  put("{}  {:<{}}  {}\n",
      warned           ? "WARN"
      : result.holds() ? "PASS"
      : result.passed  ? "N/A "
                       : "FAIL",
      result.name, width, result.passed ? result.message : problems.front());
  const auto indent = std::string(width + 8, ' ');
  const auto last = std::min(kProblemsPrinted, problems.size());
  for (std::size_t i = 1; i < last; ++i) put("{}{}\n", indent, problems[i]);
  if (problems.size() > last) put("{}and {} more\n", indent, problems.size() - last);
  if (!result.passed && !result.findings.hint.empty()) put("{}-> {}\n", indent, result.findings.hint);
}

void print_results(const std::vector<RuleResult>& results, const std::string& title) {
  std::size_t width = 0;
  for (const auto& result : results) width = std::max(width, result.name.size());
  for (const auto& result : results) print_result(result, width);
  const auto applied = std::ranges::count_if(results, &RuleResult::applies);
  put("\n{}: {} of {} rules hold", title, std::ranges::count_if(results, &RuleResult::holds), applied);
  if (const auto others = std::ssize(results) - applied; others > 0)
    put("; {} had nothing to check", counted(others, "other"));
  put("\n");
}

/// What the rules of one experiment's table found.
struct TableCheck {
  std::string title;
  std::vector<RuleResult> results;
  Json document;

  bool passed() const { return std::ranges::all_of(results, &RuleResult::passed); }
};

TableCheck check_experiment(const CheckedExperiment& experiment, const CheckOptions& o) {
  const auto rules = o.rules.empty() ? rules_of(experiment.table) : read_rule_file(o.rules);
  if (!rules.note.empty()) tell("note: {}\n", rules.note);
  auto results = apply_rules(rules, experiment, o.db.place.options());
  Json list = Json::array();
  for (const auto& r : results) {
    list.push_back({{"name", r.name}, {"passed", r.passed}, {"message", r.message}});
    if (!r.applies) list.back()["applies"] = false;
    if (r.passed && !r.findings.warning.empty()) list.back()["warning"] = true;
  }
  return {.title = fmt::format("{}, experiment {}, rules {} version {}", experiment.table_id, experiment.id,
                               rules.id, rules.version),
          .results = std::move(results),
          .document = {{"table", experiment.table_id},
                       {"experiment", experiment.id},
                       {"rule_file", {{"id", rules.id}, {"version", rules.version}}},
                       {"rules", std::move(list)}}};
}

/// Of a collection one document with those of its tables, and with all their rules.
Json document_of(const ChosenExperiments& chosen, const std::vector<TableCheck>& checks) {
  if (!chosen.collection) return checks.front().document;
  Json whole = {{"table", chosen.name()}, {"parts", Json::array()}, {"rules", Json::array()}};
  for (const auto& check : checks) {
    whole["parts"].push_back(check.document);
    for (Json rule : check.document["rules"]) {
      rule["table"] = check.document["table"];
      whole["rules"].push_back(std::move(rule));
    }
  }
  return whole;
}

int check_table(const CheckOptions& o) {
  const auto workspace = find_workspace(o.db.place);
  Store store(workspace.db, OpenMode::kReadOnly);
  const WorkspaceCheck database(workspace);
  auto chosen = chosen_experiments(store, o.db);
  std::vector<TableCheck> checks;
  for (auto& experiment : chosen.experiments)
    checks.push_back(check_experiment(CheckedExperiment(store, std::move(experiment), database), o));
  const auto print_words = [&] {
    for (const auto& check : checks) {
      put("{}", &check == &checks.front() ? "" : "\n");
      print_results(check.results, check.title);
    }
  };
  return print_answer(o.json, document_of(chosen, checks), print_words,
                      std::ranges::all_of(checks, &TableCheck::passed) ? 0 : 1);
}

int check_paper(const CheckOptions& o) {
  const auto& filter = o.db.filter;
  const bool names_one = !filter.table.empty() || filter.experiment || !filter.seeds.empty() ||
                         !filter.backbone.empty() || !filter.scale.empty() || !filter.prompts.empty();
  if (names_one || !o.rules.empty())
    throw Error("checks only the paper's printed figures", "harness check --paper",
                "remove --rules and the options that select an experiment");
  const auto findings = audit_paper();
  const auto wrong = std::ranges::count(findings, PaperVerdict::kDoesNotAddUp, &PaperFinding::verdict);
  return print_answer(
      o.json, paper_audit_json(findings), [&] { put("{}", paper_audit_text(findings)); }, wrong == 0 ? 0 : 1);
}

Command make_check() {
  auto o = std::make_shared<CheckOptions>();
  Command command{"check", "Check an experiment against its rules, or the paper's figures", R"(
Applies the table's rules (rules/ID.json, or those of every table) to the database and files of the workspace.
Computes again what it can: ids, split, selection, scores, comparisons, checksums, event logs.

With --paper it computes the paper's printed figures from one another and names those that do not add up.

Exit status 1 if a rule does not hold or a printed figure does not add up.
Examples:
  harness check sd35-ocr
  harness check sd35-ocr --experiment 2 --json
  harness check --paper)"};
  add_table_argument(command, o->db);
  add_workspace_options(command, o->db.place);
  add_filter_options(command, o->db, true);
  command.add("--rules", &o->rules, "rule file to use instead of the table's", kFile);
  command.add("--paper", &o->paper, "check the paper's printed figures, not a table");
  add_json_option(command, o->json);
  command.run = [o] { return o->paper ? check_paper(*o) : check_table(*o); };
  return command;
}

const bool kRegistered = register_command(CommandGroup::kCheck, 10, make_check);

}  // namespace
}  // namespace harness

#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "harness/read/experiments.h"
#include "harness/workspace/workspace.h"

namespace harness {

/// A run of an experiment, with `arm`.
struct CheckedRun : StoredRun {
  std::filesystem::path place;  ///< where its files are now
  std::string name;             ///< "dual (seed 42)"
  const RowTraits& traits() const { return row_traits(method); }
  /// Of a row that is given.
  std::size_t given_checkpoints() const { return config.at(traits().given).size(); }
  bool has_only_one() const { return traits().is_start || (!traits().draws && given_checkpoints() == 1); }
};

struct CheckedEvaluation : StoredEvaluation {
  std::filesystem::path place;
  std::string name;  ///< "dual (seed 42) on test at 80"
};

/// What `harness db check` finds in a workspace's DB (check_database), asked once and only if a rule wants
/// it.
class WorkspaceCheck {
 public:
  explicit WorkspaceCheck(Workspace workspace) : workspace_(std::move(workspace)) {}
  const Json& result() const;

 private:
  Workspace workspace_;
  mutable Json result_;
};

/// One finished experiment with everything that rules look at. Reads the DB and the files; writes nothing.
class CheckedExperiment : public Experiment {
 public:
  CheckedExperiment(Store& store, Experiment experiment, const WorkspaceCheck& workspace);

  Store& store;
  const WorkspaceCheck& workspace;
  // In place of the record's ids of them:
  std::vector<CheckedRun> runs;                ///< base first, then the table's order; by seed
  std::vector<CheckedEvaluation> evaluations;  ///< of these runs, by run, split and checkpoint
  std::vector<std::string> missing;            ///< rows that the experiment names and the DB has not

  /// Evaluations of a run on a split, by checkpoint.
  std::vector<const CheckedEvaluation*> evaluations_of(const std::string& run,
                                                       const std::string& split) const;
};

/// What a check found. No problem: it holds, and `summary` states what was checked.
struct Findings {
  std::vector<std::string> problems = {};
  std::string summary = {}, hint = {};  ///< hint: what to do where it does not hold
  std::string warning = {};             ///< it holds, and the reader should know this
  bool has_subject = true;              ///< false: the rule does not apply, as `summary` states

  void add(std::string problem) { problems.push_back(std::move(problem)); }
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    problems.push_back(fmt::format(format, std::forward<Values>(values)...));
  }
  /// What was looked at, or that there was nothing.
  void sum_up(std::size_t count, std::string what, std::string nothing) {
    has_subject = count > 0;
    summary = has_subject ? std::move(what) : std::move(nothing);
  }
};

/// Looks at an experiment, and reads its own fields of the rule. What each promises stands in
/// harness/rules/README.md; the map in rules.cpp gives them their names.
using Check = Findings(const CheckedExperiment& experiment, Fields& rule);

Check check_database;                                                                    // records.cpp
Check check_builds, check_ids, check_pairing;                                            // identity.cpp
Check check_split;                                                                       // split.cpp
Check check_selection, check_test_once, check_spec, check_query;                         // protocol.cpp
Check check_tested_arms;                                                                 // tested_arms.cpp
Check check_directions;                                                                  // directions.cpp
Check check_metrics, check_alarms, check_comparisons, check_law_audit, check_on_policy;  // numbers.cpp
Check check_images, check_checkpoints, check_artifacts;                                  // files.cpp

struct RuleResult {
  std::string name;
  bool passed = false;   ///< true also where `applies` is false
  bool applies = false;  ///< there was something to check
  std::string message =
      {};  ///< on one line: what was looked at, or what does not hold, where, and what to do
  Findings findings = {};

  bool holds() const { return passed && applies; }
};

struct Rule {
  Json fields;        ///< {"name", "check", fields of that check}
  std::string where;  ///< "FILE: rules[N]"
};

struct RuleFile {
  std::string id;
  int version = 0;
  std::filesystem::path file;
  std::vector<Rule> rules = {};
  std::string note = {};  ///< why they are not the table's own
};

/// Reads FILE; with "extends": ID, the rules of rules/ID.json come first, and a rule of the same name takes
/// the place of theirs. Throws Error: an unknown check (with the nearest), a missing or unknown field.
RuleFile read_rule_file(const std::filesystem::path& file);

/// rules/TABLE.json of the data folders (find_data_file), unless they are for another split than the table's;
/// or without such rules/evaluation.json or rules/training.json.
RuleFile rules_of(const TableSpec& spec);

/// Applies every rule. A check that cannot go on has failed with the reason. Throws Error (status 2) for a
/// field that its check does not know. `workspace`: WorkspaceChoice::options, for commands that a hint names.
std::vector<RuleResult> apply_rules(const RuleFile& rules, const CheckedExperiment& experiment,
                                    const std::string& workspace);

}  // namespace harness

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "core/event_log.h"
#include "harness/checks/check.h"
#include "harness/plan/selection.h"
#include "harness/read/evaluated_checkpoints.h"
#include "harness/read/test_split.h"
#include "harness/run/plan_record.h"
#include "results/query/query.h"
#include "results/store/rows.h"

// The order of things: checkpoints compared on validation, one selected, that one tested, once.

namespace harness {
namespace fs = std::filesystem;
namespace {

std::vector<Candidate> scored_candidates(Store& store,
                                         const std::vector<const CheckedEvaluation*>& evaluations,
                                         const std::string& metric) {
  std::vector<Candidate> candidates;
  for (const auto* e : evaluations)
    candidates.push_back(
        {.step = e->step, .evaluation = e->id, .scores = store.metric_values(e->id, metric)});
  return candidates;
}

bool is_value(const std::optional<double>& recorded, const Choice& choice) {
  return recorded && choice.mean && std::abs(*recorded - *choice.mean) <= 1e-12;
}

void check_choice(const CheckedRun& run, const StoredSelection& selection,
                  const std::vector<Candidate>& candidates, Findings& findings) {
  const auto& name = run.name;
  const auto best = choose_checkpoint(candidates);
  const bool same = selection.step == best.step && selection.evaluation_id.value_or("") == best.evaluation;
  if (best.lacks_too_many()) findings.add("{}: {}", name, missing_text(best, selection.metric));
  if (!same) {
    findings.add("{}: checkpoint {} was selected, and {} has the highest mean {} on {}", name, selection.step,
                 best.step, selection.metric, selection.split);
  }
  if (!is_value(selection.value, best)) {
    findings.add("{}: the selection records a mean of {}, the rows have {}", name,
                 selection.value.value_or(NAN), best.mean.value_or(NAN));
  }
}

void check_selection_of(const CheckedExperiment& experiment, const CheckedRun& run, Findings& findings) {
  const auto& wanted = experiment.table.selection;
  const auto candidates = experiment.evaluations_of(run.id, wanted.split);
  std::vector<std::string> ids;
  for (const auto* candidate : candidates) ids.push_back(candidate->id);
  const auto kind = run.has_only_one() ? SelectionKind::kFixed : SelectionKind::kTable;
  const auto found = find_selections(experiment.store, run.id, kind, wanted, ids);
  if (found.size() != 1) {
    return findings.add("{}: {} selections by the table's rule over its {} checkpoints", run.name,
                        found.size(), candidates.size());
  }
  if (run.has_only_one()) return;
  const auto steps = run.traits().trains ? experiment.effective.checkpoints.size() : run.given_checkpoints();
  if (candidates.size() != steps)
    findings.add("{}: {} of {} checkpoints were compared", run.name, candidates.size(), steps);
  check_choice(run, found.front(), scored_candidates(experiment.store, candidates, wanted.metric), findings);
}

/// The selection of a run within a cut, made again.
void check_chosen_within(const CheckedExperiment& experiment, const std::string& run_id, double nfe_total,
                         Findings& findings) {
  const auto& wanted = experiment.table.selection;
  const auto run = std::ranges::find(experiment.runs, run_id, &CheckedRun::id);
  std::vector<const CheckedEvaluation*> candidates;
  std::vector<std::string> ids;
  for (const auto& budget : experiment.store.budgets(run_id)) {
    for (const auto* e : experiment.evaluations_of(run_id, wanted.split)) {
      if (e->step != budget.checkpoint || !budget.nfe_total || *budget.nfe_total > nfe_total) continue;
      candidates.push_back(e);
      ids.push_back(e->id);
    }
  }
  // An experiment of before there was a second view has none of these.
  const auto found =
      find_selections(experiment.store, run_id, SelectionKind::kAtEqualEvaluations, wanted, ids);
  for (const auto& selection : found)
    check_choice(*run, selection, scored_candidates(experiment.store, candidates, wanted.metric), findings);
  if (found.empty() && std::ranges::count(experiment.store.selections(run_id),
                                          SelectionKind::kAtEqualEvaluations, &StoredSelection::kind) > 0) {
    findings.add("{}: no selection over its {} checkpoints within {:.0f} evaluations", run->name, ids.size(),
                 nfe_total);
  }
}

/// The selections within equal evaluations.
void check_second_view(const CheckedExperiment& experiment, Findings& findings) {
  const auto checkpoints = evaluated_checkpoints(experiment.store, experiment);
  const auto view = second_view(experiment.store, experiment, checkpoints);
  std::set<std::pair<std::string, double>> checked;  // rows of equal cost share the baseline's cut
  for (const auto& [_, cut] : view.cuts) {
    for (const auto& run : cut.runs) {
      if (checked.emplace(run, cut.nfe_total).second)
        check_chosen_within(experiment, run, cut.nfe_total, findings);
    }
  }
}

/// Of a job's events of a type; of a damaged log those before the damage, which the rule "database" names.
std::vector<double> times_of(const CheckedEvaluation& job, const std::string& type) {
  std::vector<double> times;
  const auto log = job.place / kEventLog;
  if (!std::filesystem::exists(log)) return times;
  try {
    for (const auto& event : Events(log)) {
      if (event.value("type", "") == type) times.push_back(event.at("time"));
    }
  } catch (const Error&) {
    return times;
  }
  return times;
}

/// The log is the record of the order, which the times of DB rows are not: a DB can be made again.
void check_order(const CheckedExperiment& experiment, const CheckedRun& run, const CheckedEvaluation& test,
                 Findings& findings) {
  const auto begun = times_of(test, "job_started");
  if (begun.empty() || run.has_only_one()) return;
  for (const auto* candidate : experiment.evaluations_of(run.id, experiment.table.selection.split)) {
    const auto ended = times_of(*candidate, "job_completed");
    // Later ends are of scores that were asked for again.
    if (!ended.empty() && ended.front() > begun.front())
      findings.add("{}: began before {} was finished", test.name, candidate->name);
  }
}

void check_allowed(const CheckedExperiment& experiment, const CheckedEvaluation& test, Findings& findings) {
  const auto selection = test.selection_id ? experiment.store.selection(*test.selection_id) : std::nullopt;
  if (!selection) {
    findings.add("{}: no selection allowed it", test.name);
  } else if (formerly_selected(experiment.store, test.run_id) == test.step) {
    findings.add(
        "{}: {}", test.name,
        reselection_text(test.run_id, static_cast<int>(selection->step), static_cast<int>(test.step)));
  } else if (selection->run_id != test.run_id || selection->step != test.step) {
    findings.add("{}: the selection that it names chose checkpoint {} of run {}", test.name, selection->step,
                 selection->run_id);
  }
}

/// Test evaluations of the run on these prompts, whichever experiment asked for them.
void check_opened_once(const CheckedRun& run, const std::vector<OtherTest>& others, Findings& findings) {
  for (const auto& other : others) {
    if (other.run_id != run.id || !other.opens_again()) continue;
    findings.add("{} on test at {} (evaluation {}): the test split was opened {}", run.name, other.step,
                 other.evaluation_id, other.is_of_other_checkpoint ? "for a second checkpoint" : "twice");
  }
}

/// One; with a second view one more, and of the baseline one for each row's cut, as many as it has
/// checkpoints.
std::size_t most_tests(const CheckedExperiment& experiment, const CheckedRun& run) {
  if (!experiment.table.has_second_view() || !run.traits().trains) return 1;
  const auto checkpoints = experiment.effective.checkpoints.size();
  const bool is_baseline = run.arm == experiment.effective.baseline;
  return std::min(checkpoints, is_baseline ? experiment.methods.size() : 2);
}

/// Folders of test evaluations that the DB does not know.
void check_folders(const CheckedExperiment& experiment, const CheckedRun& run, Findings& findings) {
  if (!fs::is_directory(run.place)) return;
  std::set<std::string> known;
  for (const auto& e : experiment.store.evaluations(run.id))
    known.insert(fs::path(e.folder).filename().string());
  for (const auto& entry : fs::directory_iterator(run.place)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("eval-test-") && !known.contains(name))
      findings.add("{}: {} is a test evaluation that is not in the DB", run.name, entry.path().string());
  }
}

}  // namespace

Findings check_selection(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint =
                        "the tested checkpoint is not the one that the rule chooses: repeat with --fresh"};
  for (const auto& run : experiment.runs) check_selection_of(experiment, run, findings);
  if (experiment.table.has_second_view()) check_second_view(experiment, findings);
  const bool selects = !std::ranges::all_of(experiment.runs, &CheckedRun::has_only_one);
  const auto& selection = experiment.table.selection;
  findings.sum_up(selects ? 1 : 0,
                  fmt::format("{} of {} on {}, recomputed, chooses the same checkpoints", selection.rule,
                              selection.metric, selection.split),
                  "nothing was selected: every row has one checkpoint");
  return findings;
}

Findings check_test_once(const CheckedExperiment& experiment, Fields&) {
  Findings findings{.hint =
                        "a test split that was looked at more than once selects: report these numbers as "
                        "validation, or train with new seeds"};
  const auto others = other_tests(experiment.store, experiment);
  std::size_t tested = 0;
  for (const auto& run : experiment.runs) {
    const auto tests = experiment.evaluations_of(run.id, "test");
    const std::size_t most = most_tests(experiment, run);
    const bool is_right = experiment.table.tests() ? !tests.empty() && tests.size() <= most : tests.empty();
    if (!is_right) {
      findings.add("{}: {} test evaluations in the experiment", run.name, tests.size());
    }
    for (const auto* test : tests) {
      check_allowed(experiment, *test, findings);
      check_order(experiment, run, *test, findings);
    }
    check_opened_once(run, others, findings);
    check_folders(experiment, run, findings);
    tested += tests.size();
  }
  if (!experiment.table.tests()) {
    findings.summary = "a table of the validation split: nothing was tested for it";
    return findings;
  }
  const auto again = std::ranges::count(others, false, &OtherTest::opens_again);
  findings.summary = fmt::format("{} test evaluations, one per {}, each after its selection", tested,
                                 experiment.table.has_second_view() ? "selection"
                                 : again > 0                        ? "run and selection"
                                                                    : "run");
  if (again > 0)
    findings.summary += fmt::format("; {} more of the same checkpoints, in other metrics or settings", again);
  return findings;
}

Findings check_spec(const CheckedExperiment& experiment, Fields& rule) {
  Findings findings{.hint =
                        "the table was changed or is another one: rules of its own belong in rules/ID.json"};
  const auto scales = rule.optional<std::vector<std::string>>("scales", {});
  const Json& values = rule.get("values");
  if (!values.is_object()) throw Error("must be an object {JSON pointer: value}", rule.where() + ": values");
  if (!scales.empty() && std::ranges::find(scales, experiment.scale) == scales.end()) {
    findings.sum_up(0, "", fmt::format("not asked for at scale {}", experiment.scale));
    return findings;
  }
  for (const auto& [pointer, expected] : values.items()) {
    const auto place = Json::json_pointer(pointer);
    const Json found = experiment.spec.contains(place) ? experiment.spec.at(place) : Json();
    const bool is_any_of = expected.is_object() && expected.contains("any_of");
    if (is_any_of ? std::ranges::find(expected.at("any_of"), found) == expected.at("any_of").end()
                  : found != expected)
      findings.add("{} is {}, and the rule asks for {}", pointer, found.dump(), expected.dump());
  }
  findings.summary = fmt::format("{} values of the table are as the rule asks", values.size());
  return findings;
}

/// An error in the SQL is one of the rule, not of what is checked.
static ResultSet answer_to(const std::string& where, const std::filesystem::path& db,
                           const QueryRequest& request) {
  try {
    return run_query(db, request);
  } catch (const Error& error) {
    if (error.status() != Status::kUsage || error.where() == db.string()) throw;
    throw Error(error.problem(), where, error.hint());
  }
}

Findings check_query(const CheckedExperiment& experiment, Fields& rule) {
  const auto sql = rule.required<std::string>("sql");
  Findings findings{.summary = rule.optional<std::string>("passes", "no row"),
                    .hint = rule.optional<std::string>("hint", "")};
  QueryRequest request{.sql = sql};
  if (sql.find(":experiment") != std::string::npos)
    request.params = {{"experiment", std::to_string(experiment.id)}};
  const auto rows = answer_to(rule.where() + ": sql", experiment.store.path(), request);
  for (const auto& row : rows.rows) {
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto* name = std::get_if<std::string>(&row[i]);
      const auto* integer = std::get_if<std::int64_t>(&row[i]);
      const auto* real = std::get_if<double>(&row[i]);
      const auto value = name != nullptr      ? *name
                         : integer != nullptr ? std::to_string(*integer)
                         : real != nullptr    ? fmt::format("{}", *real)
                                              : "NULL";
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rows.columns[i], value);
    }
    findings.add(std::move(text));
  }
  return findings;
}

}  // namespace harness

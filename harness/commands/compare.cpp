#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/compare/across.h"
#include "harness/compare/effect.h"
#include "harness/compare/within.h"
#include "harness/terminal/output.h"
#include "results/query/experiments.h"

namespace harness {
namespace {

struct CompareOptions : CompareQuestion {
  DbOptions db;
  std::optional<std::string> with;
  std::string window;
  bool anyway = false, json = false;
};

void require_no_window(const std::string& window) {
  if (window.empty()) return;
  throw Error("--window has no meaning for compare, which takes a training table's own window",
              "harness compare",
              fmt::format("`harness table --window {}` shows a training table over another one", window));
}

/// What is typed before a colon is a row's place, unless a row of this workspace is called so.
void require_place(const RowName& name, Store& store) {
  const auto colon = name.text.find(':');
  if (!name.is_plain() || colon == std::string::npos) return;
  for (const auto& experiment : store.reproductions()) {
    if (holds(experiment.methods, name.row)) return;
  }
  throw Error(fmt::format("{} is neither the number of an experiment nor a workspace",
                          in_quotes(name.text.substr(0, colon))),
              name.text, "write EXPERIMENT:ROW, FOLDER:ROW or FOLDER:EXPERIMENT:ROW");
}

/// Options that choose an experiment for rows that name none.
void require_filter_used(const DbOptions& db) {
  const auto& filter = db.filter;
  const bool is_given = !filter.table.empty() || !filter.backbone.empty() || !filter.scale.empty() ||
                        !filter.prompts.empty() || filter.experiment || !db.seeds.empty();
  if (!is_given) return;
  throw Error("every row names its experiment, so that nothing is left to choose", "harness compare",
              "leave out --table, --backbone, --scale, --prompts, --experiment and --seeds");
}

void require_with_used(const CompareOptions& options, const std::vector<RowName>& names) {
  if (!options.with || std::ranges::count(names, kWithPlace, &RowName::place) > 0) return;
  throw Error("no row is of that database", "--with",
              "name one: with:ROW for its last experiment, or with:EXPERIMENT:ROW");
}

/// The experiment of the rows that name none.
Experiment experiment_of_options(Store& store, const CompareOptions& options,
                                 const std::vector<RowName>& names) {
  auto choice = options.db;
  for (const auto& name : names) {
    require_place(name, store);
    if (name.is_plain()) choice.filter.methods.push_back(name.row);
  }
  return chosen_experiment(store, choice);
}

/// Every row that is asked for, the baseline first. Tells which experiments they are of.
std::vector<ComparedRow> find_rows(RowSources& sources, const CompareOptions& options,
                                   const std::vector<RowName>& names) {
  std::optional<Experiment> chosen;
  if (std::ranges::any_of(names, &RowName::is_plain)) {
    chosen = experiment_of_options(sources.own(), options, names);
  } else {
    require_filter_used(options.db);
  }
  std::vector<ComparedRow> rows;
  for (const auto& name : names) {
    auto row = name.is_plain() ? sources.row_of(*chosen, name) : sources.find(name);
    const auto is_it = [&](const ComparedRow& other) { return are_of_one_experiment(row, other); };
    if (!name.is_plain() && std::ranges::none_of(rows, is_it))
      tell("{}: {}\n", row.side.name, in_words(*row.experiment));
    if (std::ranges::any_of(rows, [&](const auto& other) { return other.side.name == row.side.name; }))
      throw Error(fmt::format("{} is named twice", row.side.name), "harness compare", "name two rows");
    rows.push_back(std::move(row));
  }
  auto found = in_one_experiment(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (found[i].side.name == rows[i].side.name) continue;
    tell("{} is {}: the same evaluations of the same runs\n", rows[i].side.name, found[i].side.name);
    const auto is_it = [&](const ComparedRow& other) { return other.side.name == found[i].side.name; };
    if (std::ranges::count_if(found, is_it) > 1)
      throw Error(fmt::format("{} and {} are the same evaluations of the same runs", found[i].side.name,
                              rows[i].side.name),
                  "harness compare", "name two rows that differ");
  }
  return found;
}

bool are_of_one_experiment(const std::vector<ComparedRow>& rows) {
  return std::ranges::all_of(rows, [&](const auto& row) { return are_of_one_experiment(row, rows.front()); });
}

/// The rows by their own names, as `--experiment` would have them.
CompareQuestion in_their_experiment(CompareQuestion question, const std::vector<ComparedRow>& rows) {
  question.baseline = rows.front().side.row;
  for (std::size_t i = 1; i < rows.size(); ++i) question.methods[i - 1] = rows[i].side.row;
  return question;
}

ComparisonReport compared(const CompareOptions& options) {
  std::vector<RowName> names;
  for (const auto& row : options.rows()) names.push_back(read_row_name(row));
  require_with_used(options, names);
  RowSources sources(options.db.place, options.with);
  if (std::ranges::all_of(names, &RowName::is_plain)) {
    auto& store = sources.own();
    return compare_within(store, experiment_of_options(store, options, names), options);
  }
  const auto rows = find_rows(sources, options, names);
  if (!are_of_one_experiment(rows)) return compare_across(rows, options, options.anyway);
  return compare_within(*rows.front().store, *rows.front().experiment, in_their_experiment(options, rows));
}

int compare(const CompareOptions& options) {
  require_no_window(options.window);
  require_different(options);
  require_effect(options.effect);
  const auto report = compared(options);
  return print_answer(options.json, report_json(report), [&] { print_report(report); });
}

Command make_compare() {
  auto o = std::make_shared<CompareOptions>();
  Command command{"compare", "Compare methods with a baseline: paired differences and intervals", R"(
Compares the selected checkpoints, paired by prompt, sample and seed. With three or more training runs per
method the verdict is about the methods (better, worse), with fewer about these checkpoints. Holm's
adjustment is over all differences of the table, whatever is shown; for two rows whose difference it does
not show over all pairs of its rows, too. Exit status 0 whatever it finds.

Rows of other experiments: 5:dual is row dual of experiment 5, with:5:dual of the database of --with,
runs-b:5:dual of the workspace runs-b; with:dual and runs-b:dual are of the last experiment there that has
the row. They are paired by the text of their prompts, over those that both sides have, and whatever else
differs is listed. Scores that were drawn or measured in different ways are refused unless --anyway. A
verdict on methods needs trainings that differ in nothing but the method. Holm's adjustment is then over
the differences asked for.
Examples:
  harness compare ratio-norm lambda-controlled --metric ocr_reward --split test
  harness compare ratio-norm dual lambda-controlled --metric exact_match --interval bca
  harness compare base ratio-norm --metric all --effect 0.02 --json
  harness compare 2:dual 5:dual --metric ocr_reward
  harness compare dual with:dual --with ../machine-b/runs)"};
  command.add("baseline", &o->baseline, "a method, or base for the starting weights, or EXPERIMENT:ROW",
              {.required = true, .offers = method_names});
  command.add("methods", &o->methods, "methods to compare with it",
              {.required = true, .offers = method_names});
  command.add("--metric", &o->metrics,
              "metrics, or columns of a training table, or all (default: the table's first)",
              {.by_comma = true, .offers = metric_names});
  command.add("--split", &o->split, "validation, test or train (default: the table's)",
              {.offers = choices({"validation", "test", "train"})});
  command.add("--interval", &o->interval, "percentile, bca or studentised bootstrap",
              {.offers = choices({std::begin(kIntervalNames), std::end(kIntervalNames)})});
  command.add("--claim", &o->claim,
              "methods: fail without enough training runs; checkpoints: judge these alone (default: what the "
              "runs allow)",
              {.offers = choices(kClaims)});
  command.add(
      "--effect", &o->effect,
      "also give the prompts and training runs needed to find a difference of this size: a fraction for "
      "rates (0.02: two points), else in the metric's unit");
  command.add("--with", &o->with,
              "another workspace or results database, whose rows are with:ROW and with:EXPERIMENT:ROW",
              {.is_path = true, .value = "DIR"});
  command.add(
      "--anyway", &o->anyway,
      "across experiments: compare these checkpoints' scores although they were not drawn or scored alike");
  command.add("--window", &o->window, "", {.hidden = true});
  add_workspace_options(command, o->db.place);
  add_filter_options(command, o->db, true);
  return with_json(std::move(command), o, compare);
}

const bool kRegistered = register_command(CommandGroup::kLook, 20, make_compare);

}  // namespace
}  // namespace harness

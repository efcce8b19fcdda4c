#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/compare/comparison_report.h"
#include "harness/compare/effect.h"
#include "harness/compare/make_report.h"
#include "harness/terminal/output.h"
#include "results/query/experiments.h"

namespace harness {
namespace {

struct CompareOptions : CompareQuestion {
  DbOptions db;
  std::string window;
  bool json = false;
};

void require_no_window(const std::string& window) {
  if (window.empty()) return;
  throw Error("--window has no meaning for compare, which takes a training table's own window",
              "harness compare",
              fmt::format("`harness table --window {}` shows a training table over another one", window));
}

/// What is typed before a colon is the number of an experiment, unless a row of this workspace is called so.
void require_number(const RowName& name, Store& store) {
  const auto colon = name.row.find(':');
  if (name.experiment || colon == std::string::npos ||
      last_that_fits(store.reproductions(), {.rows = {name.row}}) != nullptr)
    return;
  throw Error(fmt::format("{} is not the number of an experiment", in_quotes(name.row.substr(0, colon))),
              name.text,
              "write EXPERIMENT:ROW; take rows of another workspace in with `harness import` first");
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

/// Every row that is asked for, the baseline first. Prints which experiments they are of.
std::vector<ComparedRow> find_rows(Store& store, const CompareOptions& options) {
  std::vector<RowName> names;
  auto choice = options.db;
  for (const auto& row : options.rows()) {
    names.push_back(read_row_name(row));
    require_number(names.back(), store);
    if (!names.back().experiment) choice.filter.rows.push_back(names.back().row);
  }
  std::map<std::int64_t, std::shared_ptr<const MeasuredExperiment>> experiments;
  const auto measured = [&](Experiment experiment) {
    auto& found = experiments[experiment.id];
    if (!found) found = std::make_shared<const MeasuredExperiment>(store, std::move(experiment));
    return found;
  };
  std::shared_ptr<const MeasuredExperiment> chosen;
  if (choice.filter.rows.empty())
    require_filter_used(options.db);
  else
    chosen = measured(chosen_experiment(store, choice));
  std::vector<ComparedRow> rows;
  for (const auto& name : names) {
    if (!name.experiment) {
      rows.push_back(compared_row(store, chosen, name, choice.filter.rows));
      continue;
    }
    const bool is_new = !experiments.contains(*name.experiment);
    rows.push_back(
        compared_row(store, measured(find_experiment(store, {.experiment = name.experiment})), name));
    if (is_new) tell("{}: {}\n", rows.back().name, in_words(rows.back().experiment()));
  }
  return rows;
}

/// As rows of one experiment where it has them. Throws Error for two that are the same.
std::vector<ComparedRow> different_rows(Store& store, const std::vector<ComparedRow>& rows) {
  auto found = in_one_experiment(store, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (found[i].name != rows[i].name)
      tell("{} is {}: the same evaluations of the same runs\n", rows[i].name, found[i].name);
    if (std::ranges::count(found, found[i].name, &ComparedRow::name) > 1)
      throw Error(fmt::format("{} is named twice", found[i].name), "harness compare",
                  "name two rows that differ");
  }
  return found;
}

int compare(const CompareOptions& options) {
  require_no_window(options.window);
  require_different(options);
  require_effect(options.effect);
  Store store(find_workspace(options.db.place).db, OpenMode::kReadOnly);
  const auto report = make_report(store, different_rows(store, find_rows(store, options)), options);
  return print_answer(options.json, report_json(report), [&] { print_report(report); });
}

Command make_compare() {
  auto o = std::make_shared<CompareOptions>();
  Command command{"compare", "Compare methods with a baseline: paired differences and intervals", R"(
Compares the selected checkpoints, paired by prompt, sample and seed, with confidence intervals. With
three or more training runs per method the verdict is about the methods (better, worse), with fewer about these
checkpoints. Verdicts match the table, whose differences are one family, shown here or not. What the
table does not ask is exploratory: an estimate and its interval. Exit status 0 whatever the result.

Rows of other experiments: 5:dual is row dual of experiment 5. It must differ from the baseline in nothing but
the method, or the comparison is refused with the reasons, and it is exploratory. Import rows of another
workspace with `harness import` first.
Examples:
  harness compare ratio-norm lambda-controlled --metric ocr_reward --split test
  harness compare ratio-norm dual lambda-controlled --metric exact_match --interval bca
  harness compare base ratio-norm --metric all --effect 0.02 --json
  harness compare 2:ratio-norm 5:dual --metric ocr_reward)"};
  command.add("baseline", &o->baseline, "a method, or base for the base model, or EXPERIMENT:ROW",
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
  command.add("--window", &o->window, "", {.hidden = true});
  add_workspace_options(command, o->db.place);
  add_filter_options(command, o->db, true);
  return with_json(std::move(command), o, compare);
}

const bool kRegistered = register_command(CommandGroup::kLook, 20, make_compare);

}  // namespace
}  // namespace harness

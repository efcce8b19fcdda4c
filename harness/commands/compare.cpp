#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "core/error.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/plan/plan.h"
#include "harness/plan/registry.h"
#include "harness/plan/worker_request.h"
#include "harness/run/estimate.h"
#include "harness/show/comparison_report.h"
#include "harness/show/comparisons.h"
#include "harness/show/table_model.h"
#include "harness/show/training_table.h"
#include "harness/show/yardstick.h"
#include "harness/terminal/output.h"
#include "harness/terminal/progress.h"
#include "results/statistics/crossed.h"
#include "results/table/table_view.h"

namespace harness {
namespace {

const std::vector<std::string> kClaims = {"checkpoints", "methods"};

struct CompareOptions {
  DbOptions db;
  std::string baseline, split, window;
  std::string interval = std::string(kIntervalNames[0]);
  std::string claim;
  std::vector<std::string> methods, metrics;
  std::optional<double> effect;
  bool json = false;
};

/// The columns of a training table that it compares: those with a good direction.
std::vector<std::string> directed_columns(const Experiment& experiment) {
  auto names = names_of(experiment.table.columns);
  std::erase_if(names, [&](const std::string& name) { return experiment.better(name) == Better::kNone; });
  return names;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::count(names, name) > 0;
}

/// What an experiment can compare: its rows, and the starting weights.
std::vector<std::string> compared_methods(const StoredReproduction& experiment) {
  auto known = experiment.methods;
  if (experiment.spec.value("kind", "") != "training") known.insert(known.begin(), "base");
  return known;
}

/// The last other experiment that has every method asked for, or how else to go on.
std::string where_else(Store& store, const Experiment& experiment, const std::string& method,
                       const std::vector<std::string>& wanted) {
  for (const auto& other : store.reproductions()) {
    const auto has = [known = compared_methods(other)](const std::string& name) {
      return holds(known, name);
    };
    if (other.id != experiment.id && std::ranges::all_of(wanted, has))
      return fmt::format("experiment {} has {}: --experiment {}", other.id,
                         wanted.size() == 2 ? "both" : "all", other.id);
  }
  const auto known = compared_methods(experiment);
  return suggestion(method, known) + (meant_by(method, known).empty() ? "; " : " ") +
         "`harness list experiments` shows the other experiments";
}

/// Every method asked for is one of the experiment's.
void require_methods(Store& store, const CompareOptions& options, const Experiment& experiment) {
  std::vector<std::string> wanted = {options.baseline};
  wanted.insert(wanted.end(), options.methods.begin(), options.methods.end());
  const auto known = compared_methods(experiment);
  for (const auto& method : wanted) {
    if (holds(known, method)) continue;
    throw Error(fmt::format("experiment {} has no method {}", experiment.id, in_quotes(method)),
                "harness compare", where_else(store, experiment, method, wanted));
  }
}

/// One that is named twice is a slip: another one was meant.
void require_different(const CompareOptions& options) {
  if (holds(options.methods, options.baseline)) {
    throw Error(fmt::format("{} is the baseline and the method: the same twice", options.baseline),
                "harness compare", "name two methods, or base for the starting weights");
  }
  for (const auto& method : options.methods) {
    if (std::ranges::count(options.methods, method) > 1)
      throw Error(fmt::format("method {} is named twice", method), "harness compare", "name it once");
  }
}

/// A metric that another one stands in for.
void require_measured(const Experiment& experiment, const std::string& metric) {
  for (const auto& column : experiment.table.columns) {
    if (column.stands_for != metric) continue;
    throw Error(fmt::format("{} replaces {} in experiment {} (backbone {})", column.name, metric,
                            experiment.id, experiment.backbone),
                "--metric", fmt::format("give --metric {}", column.name));
  }
}

/// A metric that the table asks for and that was not run has a reason, and says it.
void require_metric(Store& store, const Experiment& experiment,
                    const std::vector<EvaluatedCheckpoint>& checkpoints, const std::string& metric,
                    const std::vector<std::string>& known) {
  if (!holds(known, metric)) require_measured(experiment, metric);
  for (const auto& checkpoint : checkpoints) {
    const Json not_run = store.evaluation(checkpoint.evaluation_id)->not_run;
    if (not_run.contains(metric)) {
      throw Error(fmt::format("{} was not run: {}", metric, not_run.at(metric).get<std::string>()),
                  "--metric", "there are " + join(known, ", "));
    }
  }
  require_choice(metric, known, "metric", "--metric");
}

void require_no_window(const std::string& window) {
  if (window.empty()) return;
  throw Error("--window has no meaning for compare, which takes a training table's own window",
              "harness compare",
              fmt::format("`harness table --window {}` shows a training table over another one", window));
}

std::vector<std::string> chosen_metrics(Store& store, const Experiment& experiment,
                                        const CompareOptions& options,
                                        const std::vector<EvaluatedCheckpoint>& checkpoints,
                                        const std::vector<std::string>& named,
                                        const std::vector<std::string>& known) {
  if (options.metrics.empty()) return {known.at(0)};
  if (options.metrics == std::vector<std::string>{"all"}) return named;
  for (const auto& metric : options.metrics) require_metric(store, experiment, checkpoints, metric, known);
  return distinct_of(options.metrics, std::identity());
}

/// --split, or unset the one that the table shows.
std::string chosen_split(const CompareOptions& options, const Experiment& experiment,
                         const std::vector<EvaluatedCheckpoint>& checkpoints) {
  std::vector<std::string> known;
  for (const auto& checkpoint : checkpoints) known.push_back(checkpoint.split);
  if (experiment.is_training()) known = {kTrainingSplit};
  const auto split = !options.split.empty() ? options.split : experiment.shown_split();
  require_choice(split, distinct_of(known, std::identity()), "split", "--split");
  return split;
}

std::vector<std::string> warnings_of(const Experiment& experiment, const std::string& split) {
  std::vector<std::string> warnings;
  if (chooses_on(experiment, split)) warnings.emplace_back(kChosenHere);
  if (auto scale = scale_warning_of(experiment); !scale.empty()) warnings.push_back(std::move(scale));
  return warnings;
}

/// Every difference of the table, in its order. What Holm's family needs is their p-values: no bootstrap.
std::vector<ComparisonRecord> table_comparisons(ScoreReader& scores, const Experiment& experiment,
                                                const std::vector<EvaluatedCheckpoint>& checkpoints,
                                                const std::string& split,
                                                const std::vector<std::string>& metrics) {
  std::vector<ComparisonRecord> records;
  for (const auto& [baseline, method] : compared_arms(experiment)) {
    std::ranges::move(
        compare_methods(scores, experiment, checkpoints, baseline, method, split, metrics, {.resamples = 0}),
        std::back_inserter(records));
  }
  return records;
}

std::vector<TableQuestion> questions_of(const std::vector<ComparisonRecord>& records) {
  std::vector<TableQuestion> questions;
  for (const auto& c : records)
    questions.push_back({c.baseline, c.method, c.metric, p_value_of(c.result), restated_by(c.metric)});
  return questions;
}

std::int64_t fewest_runs(const std::vector<ComparisonRecord>& records) {
  std::int64_t fewest = kFewestRuns;
  for (const auto& c : records) fewest = std::min(fewest, std::max<std::int64_t>(1, c.result.seeds));
  return fewest;
}

/// Those of the experiment, and the numbers after its last one.
std::vector<std::int64_t> enough_seeds(std::vector<std::int64_t> seeds) {
  while (static_cast<std::int64_t>(seeds.size()) < kFewestRuns)
    seeds.push_back(seeds.empty() ? 42 : *std::ranges::max_element(seeds) + 1);
  return seeds;
}

/// Seconds of one training run with its evaluations, on one worker after another.
double seconds_of_a_run(Store& store, const Experiment& experiment) {
  const auto rates = measured_rates(&store, experiment.backbone, {.threads = core_count()}, Json::object());
  const auto& effective = experiment.effective;
  double images = 0;
  if (!experiment.is_training()) {
    const auto validation = static_cast<double>(effective.split_sizes.at(0));
    images = validation * static_cast<double>(effective.checkpoints.size()) +
             static_cast<double>(effective.split_sizes.at(1));
  }
  return training_images(effective.settings) / rates.train_images_per_second +
         images / rates.evaluate_images_per_second;
}

/// Another experiment of the same table, rows and settings that has enough runs.
std::optional<Experiment> larger_experiment(Store& store, const Experiment& experiment) {
  const auto conditions = conditions_of(experiment);
  for (auto& record : store.reproductions()) {
    if (record.id == experiment.id || record.table_id != experiment.table_id ||
        record.methods != experiment.methods || static_cast<std::int64_t>(record.seeds.size()) < kFewestRuns)
      continue;
    Experiment other(std::move(record));
    if (other.effective.method_settings == experiment.effective.method_settings &&
        conditions_of(other) == conditions)
      return other;
  }
  return std::nullopt;
}

/// What an experiment with `runs` training runs per method lacks for a claim about methods: the command that
/// makes them and how long it takes, or which experiment has them.
std::string missing_runs(Store& store, const Experiment& experiment, std::int64_t runs) {
  if (const auto larger = larger_experiment(store, experiment)) {
    return fmt::format("experiment {} of this table has {}: --experiment {}", larger->id,
                       counted(static_cast<std::int64_t>(larger->seeds.size()), "training run"), larger->id);
  }
  const auto seeds = enough_seeds(experiment.seeds);
  const auto trainings = (kFewestRuns - runs) * static_cast<std::int64_t>(experiment.methods.size());
  auto command =
      fmt::format("harness reproduce --table {} --seeds {}", experiment.table_id, fmt::join(seeds, ","));
  if (experiment.scale != "default") command += " --scale " + experiment.scale;
  if (experiment.backbone != experiment.table.backbone) command += " --backbone " + experiment.backbone;
  return fmt::format(
      "`{}` makes what is missing: {} with their evaluations, about {} at the pace of this machine's runs",
      command, counted(trainings, "training run"),
      duration_text(static_cast<double>(trainings) * seconds_of_a_run(store, experiment)));
}

/// --claim methods of too few training runs says what is missing.
void require_claim(Store& store, const Experiment& experiment, const CompareOptions& options,
                   const std::vector<ComparisonRecord>& asked) {
  if (options.claim.empty()) return;
  require_choice(options.claim, kClaims, "claim", "--claim");
  if (options.claim != claim_name(Claim::kMethods)) return;
  if (!experiment.judges_methods())
    throw Error(fmt::format("scale {} allows no statement about methods", experiment.scale), "--claim",
                "leave it out, or repeat the table at another scale");
  const auto runs = fewest_runs(asked);
  if (runs >= kFewestRuns) return;
  throw Error(
      fmt::format("a statement about methods needs {} training runs of each, and experiment {} has {}",
                  kFewestRuns, experiment.id, runs),
      "--claim", missing_runs(store, experiment, runs));
}

/// What two or more runs allow is taken back to these checkpoints.
void claim_checkpoints_only(std::vector<ComparisonRecord>& records) {
  for (auto& record : records) record.result.crossed.reset();
}

int compare(const CompareOptions& options) {
  require_no_window(options.window);
  require_different(options);
  require_effect(options.effect);
  ComparisonReport report{.baseline = options.baseline, .split = {}, .effect = options.effect};
  report.bootstrap.interval = interval_from_name(options.interval, "--interval");
  Store store(find_workspace(options.db.place).db, OpenMode::kReadOnly);
  auto choice = options.db;
  choice.filter.methods = options.methods;
  choice.filter.methods.push_back(options.baseline);
  const auto experiment = chosen_experiment(store, choice);
  const auto checkpoints = evaluated_checkpoints(store, experiment);
  const bool over_training = experiment.is_training();
  require_methods(store, options, experiment);
  const auto known = over_training ? names_of(experiment.table.columns) : metrics_of(store, checkpoints);
  const auto named = over_training ? known : named_by_table(experiment.table, known);
  report.metrics = chosen_metrics(store, experiment, options, checkpoints, named, known);
  require_sensible_effect(options.effect, experiment.table, report.metrics);
  report.split = chosen_split(options, experiment, checkpoints);
  report.warnings = warnings_of(experiment, report.split);
  if (over_training) report.unit = "seeds";
  report.table = experiment.table_id;
  report.experiment = experiment.id;
  ScoreReader scores(store);
  auto family = table_comparisons(scores, experiment, checkpoints, report.split,
                                  over_training ? directed_columns(experiment) : named);
  std::vector<ComparisonRecord> asked;
  std::vector<Better> better;
  for (const auto& method : options.methods) {
    std::ranges::move(compare_methods(scores, experiment, checkpoints, options.baseline, method, report.split,
                                      report.metrics, report.bootstrap),
                      std::back_inserter(asked));
  }
  require_claim(store, experiment, options, asked);
  if (options.claim == claim_name(Claim::kCheckpoints)) {
    claim_checkpoints_only(family);
    claim_checkpoints_only(asked);
  }
  for (const auto& record : asked) better.push_back(experiment.better(record.metric));
  report.family = questions_of(family);
  if (!over_training && report.split != "validation")
    report.validation = records_of(stored_comparisons(store, experiment, "validation"), "validation");
  if (fewest_runs(asked) == 1) report.yardstick = yardstick_for(store, experiment, report.split);
  add_comparisons(asked, better, report);
  return print_answer(options.json, report_json(report), [&] { print_report(report); });
}

Command make_compare() {
  auto o = std::make_shared<CompareOptions>();
  Command command{"compare", "Compare methods with a baseline: paired differences and intervals", R"(
Compares the selected checkpoints, paired by prompt, sample and seed. With three or more training runs per
method the verdict is about the methods (better, worse), with fewer about these checkpoints. Holm's
adjustment is over all differences of the table, whatever is shown. Exit status 0 whatever it finds.
Examples:
  harness compare ratio-norm lambda-controlled --metric ocr_reward --split test
  harness compare ratio-norm dual lambda-controlled --metric exact_match --interval bca
  harness compare base ratio-norm --metric all --effect 0.02 --json)"};
  command.add("baseline", &o->baseline, "a method, or base for the starting weights",
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

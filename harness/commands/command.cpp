#include "harness/commands/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/spec/metric_catalogue.h"
#include "harness/spec/registry.h"
#include "harness/spec/table_spec.h"
#include "harness/terminal/output.h"
#include "harness/terminal/seeds.h"
#include "harness/work/plan_work.h"
#include "results/query/experiments.h"

namespace harness {
namespace {

constexpr const char* kWhich = "Which experiment (default: the last completed one)";

constexpr const char* kTitles[] = {"Run", "Look", "Check", "Manage"};  // of CommandGroup

/// Nothing where opening it could block completion on another process.
std::optional<Store> store_at_once(const WorkspaceChoice& choice) {
  const auto db = find_workspace(choice).db;
  if (network_file_system_of(db)) return std::nullopt;
  return std::make_optional<Store>(db, OpenMode::kReadOnly);
}

/// What the DB has an experiment of is a table, and needs no file.
std::optional<Collection> collection_named(Store& store, const std::string& table) {
  const auto records = store.reproductions();
  const bool is_recorded = std::ranges::count(records, table, &StoredReproduction::table_id) > 0;
  if (table.empty() || is_recorded) return std::nullopt;
  if (auto collection = find_collection(table)) return collection;
  if (is_table_file(table)) return std::nullopt;
  return kept_collection(store.path().parent_path() / table);
}

/// A number where a table may stand is that of an experiment, unless a table is called so.
ExperimentFilter with_number(ExperimentFilter filter, Store& store) {
  const auto number = whole_number(filter.table);
  const auto records = number ? store.reproductions() : std::vector<StoredReproduction>();
  if (!number || std::ranges::count(records, filter.table, &StoredReproduction::table_id) > 0) return filter;
  refuse_unless(
      !filter.experiment || filter.experiment == number,
      fmt::format("{} and --experiment {} are two experiments", *number, filter.experiment.value_or(0)),
      "--experiment", "give one of them");
  filter.experiment = number;
  filter.table.clear();
  return filter;
}

}  // namespace

std::optional<std::int64_t> whole_number(const std::string& text) {
  const auto number = parse_number<std::int64_t>(text);
  return number.value_or(-1) >= 0 ? number : std::nullopt;
}

std::vector<Command> registered_commands() {
  std::vector<Command> commands;
  for (const auto& [place, make] : command_makers())
    commands.emplace_back(make()).group = kTitles[static_cast<int>(place.first)];
  return commands;
}

void add_workspace_options(Command& command, WorkspaceChoice& choice, const std::string& help) {
  add_place_options(command, choice, "-o,--out", help);
  command.mistaken["--output"] = "-o/--out DIR names the workspace";
}

void add_place_options(Command& command, WorkspaceChoice& choice, const std::string& out,
                       const std::string& help) {
  command.add(out, &choice.out, help + " (default: the folder of --db, or runs)", kFolder);
  command.add("--db", &choice.db, "results database (default: OUT/results.sqlite)", kFile);
}

void add_work_options(Command& command, WorkOptions& options) {
  add_workspace_options(command, options.place);
  auto& dealing = options.dealing;
  command.add("--jobs", &dealing.jobs, "jobs at a time, which share the cores (default: by backbone)");
  command.add("--ranks", &dealing.ranks_text,
              "processes per job, which share its shards; their number changes no result (auto: FLUX takes "
              "the GPUs of a node, other backbones 1)",
              {.value = "N|auto"});
  std::string executors = "launcher of the processes: local";
  for (const auto& batch : batches()) {
    const auto& names = batch->names;
    if (const auto* launcher = batch->launcher())
      executors += fmt::format(", {} inside an allocation of {}", launcher->name, names.name);
    executors += fmt::format(", or {}, which asks for a batch job per run and evaluation", names.executor);
  }
  command.add("--executor", &dealing.executor, executors, {.offers = executor_names, .value = "NAME"});
  command.add("--plan-only", &options.design.only, "record the plan (`harness plan`) and stop");
  command.add(
      "--detach", &options.detach,
      fmt::format(
          "with --executor {}: submit all ready jobs to {}, with a job that continues the table, and exit",
          batch_executors(), batch_names()));
  add_batch_options(command, dealing.typed, "each job", 2);
}

void add_batch_options(Command& command, std::map<std::string, std::vector<std::string>>& typed,
                       const std::string& jobs, std::size_t examples) {
  for (const auto& batch : batches()) {
    const auto& all = batch->names.examples;
    const auto shown = std::span(all).first(std::min(examples, all.size()));
    command.add(batch->option(), &typed[batch->names.executor],
                fmt::format("options of {} for {}: '{}'", batch->names.submit, jobs, join(shown, " ")),
                {.one_each = true, .value = "OPTIONS"});
  }
}

void add_fresh_options(Command& command, WorkOptions& options) {
  command.add("--force", &options.force,
              "with --fresh: remove also experiments of other commands that use these runs");
  command.add("--yes", &options.yes, "with --fresh --force: do not ask");
}

void add_json_option(Command& command, bool& json) {
  command.add("--json", &json, "print one JSON document");
}

void add_table_argument(Command& command, DbOptions& options) {
  command.add("id", &options.filter.table,
              "table, or number of an experiment (default: the last completed experiment)",
              {.offers = known_tables});
}

void add_table_option(Command& command, NamedTable& table, const std::string& help,
                      const std::string& value) {
  command.add("id", &table.argument, help, {.is_path = true, .offers = known_tables, .value = value});
  command.add("--table", &table.option, "the same, as an option",
              {.is_path = true, .offers = known_tables, .value = value});
}

std::string checked_table(const NamedTable& table, const std::string& command) {
  refuse_unless(!table.option.empty() || !table.argument.empty(), "a table is required", command,
                "name one (`harness list tables`): `" + command + " sd35-ocr`");
  refuse_unless(table.option.empty() || table.argument.empty() || table.option == table.argument,
                fmt::format("{} and --table {} are two tables", table.argument, table.option), command,
                "name one of them");
  return table.option.empty() ? table.argument : table.option;
}

void add_filter_options(Command& command, DbOptions& options, bool with_table) {
  auto& filter = options.filter;
  if (with_table)
    command.add("--table", &filter.table, "of this table",
                {.offers = known_tables, .value = "ID", .group = kWhich});
  command.add("--backbone", &filter.backbone, "with this backbone",
              {.offers = backbone_names, .group = kWhich});
  command.add("--scale", &filter.scale, "at this scale", {.offers = scale_names, .group = kWhich});
  command.add("--prompts", &filter.prompts, "on this prompt set", {.group = kWhich});
  command.add("--experiment", &filter.experiment, "with this number (`harness list experiments`)",
              {.offers = [&options] { return experiment_numbers(options.place); }, .group = kWhich});
  command.add("--seeds", &options.seeds, "with exactly these seeds: 42,43 or 42..46",
              {.by_comma = true, .group = kWhich});
}

ChosenExperiments chosen_experiments(Store& store, const DbOptions& options) {
  auto filter = with_number(options.filter, store);
  filter.seeds = parse_seeds(options.seeds);
  ChosenExperiments chosen{.collection = collection_named(store, filter.table)};
  if (chosen.collection) {
    chosen.experiments = find_collected(store, *chosen.collection, filter);
  } else {
    chosen.experiments.push_back(find_experiment(store, filter));
  }
  for (const auto& experiment : chosen.experiments) tell("{}\n", in_words(experiment));
  return chosen;
}

Experiment chosen_experiment(Store& store, const DbOptions& options) {
  auto chosen = chosen_experiments(store, options);
  if (chosen.collection) {
    throw Error(fmt::format("{} joins several tables, but this command takes one", chosen.name()), "--table",
                "name one of them: " + join(chosen.collection->table_ids(), ", "));
  }
  return std::move(chosen.experiments.front());
}

std::string ChosenExperiments::name() const {
  return collection ? collection->id : experiments.front().table_id;
}

std::filesystem::path output_folder(const Store& store, const Experiment& experiment, const std::string& out,
                                    bool is_one_of_several) {
  if (out.empty()) return experiment_folder(store, experiment);
  return is_one_of_several ? std::filesystem::path(out) / experiment.table_id : std::filesystem::path(out);
}

PicturePlace picture_place(Store& store, const ChosenExperiments& chosen, const Experiment& experiment,
                           const std::string& out, const std::string& stem, bool is_usual) {
  if (out.empty()) return picture_place(store, experiment, stem, is_usual);
  return {.folder = output_folder(store, experiment, out, chosen.collection.has_value())};
}

void tell_unknown_names(const DisplayNames& names, const std::string& file, const ChosenExperiments& chosen) {
  auto known = built_in_catalogue().names();
  for (const auto& experiment : chosen.experiments) {
    std::ranges::copy(experiment.methods, std::back_inserter(known));
    for (const auto& column : experiment.table.columns) {
      known.push_back(column.name);
      known.push_back(column.title);
    }
  }
  for (const auto& name : names.unknown_among(known)) {
    tell("note: {}: \"{}\" is not a method, metric or heading of {}: {}\n", file, name, chosen.name(),
         suggestion(name, known));
  }
}

int write_for_each(const ChosenExperiments& chosen, bool json,
                   const std::function<std::map<std::string, std::string>(const Experiment&)>& write) {
  std::map<std::string, std::string> all;
  for (const auto& experiment : chosen.experiments) {
    for (const auto& [name, path] : write(experiment))
      all[chosen.collection ? experiment.table_id + "/" + name : name] = path;
  }
  return print_answer(json, {{"table", chosen.name()}, {"artifacts", all}}, [&] {
    for (const auto& [name, path] : all) put("{}\n", path);
  });
}

std::vector<std::string> experiment_numbers(const WorkspaceChoice& choice) {
  auto store = store_at_once(choice);
  std::vector<std::string> numbers;
  for (const auto& experiment : store ? store->reproductions() : std::vector<StoredReproduction>{})
    numbers.push_back(fmt::format("{}", experiment.id));
  return numbers;
}

std::vector<std::string> backbone_names() {
  return names_of(load_registry().backbones);
}

std::vector<std::string> method_names() {
  return names_of(load_registry().methods);
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const auto& evaluator : load_registry().evaluators) {
    for (const auto& metric : evaluator.metrics) names.push_back(metric.name);
  }
  return names;
}

std::vector<std::string> scale_names() {
  std::set<std::string> names;
  for (const auto& table : known_tables()) {
    if (find_collection(table)) continue;  // its tables have them
    for (const auto& [name, scale] : load_table_spec(table).scales) names.insert(name);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> run_ids(const WorkspaceChoice& choice) {
  auto store = store_at_once(choice);
  std::vector<std::string> ids;
  for (const auto& run : store ? store->runs() : std::vector<StoredRun>{}) ids.push_back(run.id);
  return ids;
}

}  // namespace harness

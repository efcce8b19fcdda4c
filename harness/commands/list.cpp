#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <ranges>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/plan/scorers.h"
#include "harness/plan/settings.h"
#include "harness/read/experiments.h"
#include "harness/read/known_runs.h"
#include "harness/show/figures.h"
#include "harness/show/run_status.h"
#include "harness/spec/collection.h"
#include "harness/spec/external_scorers.h"
#include "harness/spec/registry.h"
#include "harness/spec/table_spec.h"
#include "harness/terminal/output.h"
#include "harness/terminal/seeds.h"
#include "results/store/journal.h"
#include "results/store/rows.h"
#include "results/store/store.h"

namespace harness {
namespace {

struct ListOptions {
  std::string what, table, scale, backbone, scorers;
  std::vector<std::string> methods;
  WorkspaceChoice place;
  bool json = false;
};

using Rows = std::vector<Json>;

/// Each element as what `row` makes of it.
template <class Range, class Row>
Rows rows_of(const Range& range, const Row& row) {
  Rows rows;
  for (const auto& element : range) rows.push_back(row(element));
  return rows;
}

/// The scales that all its tables have.
Json collection_row(const Collection& collection) {
  const auto& first = collection.tables.front();
  std::vector<std::string> scales, tasks, papers;
  for (const auto& [name, _] : first.scales) {
    if (std::ranges::all_of(collection.tables,
                            [&](const auto& table) { return table.scales.contains(name); }))
      scales.push_back(name);
  }
  for (const auto& table : collection.tables) {
    tasks.push_back(table.task);
    if (std::ranges::count(papers, table.reproduces) == 0) papers.push_back(table.reproduces);
  }
  return {{"name", collection.id},
          {"title", collection.title},
          {"version", collection.version},
          {"task", join(tasks, ", ")},
          {"backbone", join(collection.backbones(), ", ")},
          {"methods", join(first.methods, ", ")},
          {"scales", scales},
          {"reproduces", join(papers, ", ")},
          {"tables", collection.table_ids()},
          {"file", collection.file.string()}};
}

Rows list_tables(const ListOptions&) {
  return rows_of(known_tables(), [](const std::string& id) -> Json {
    if (const auto collection = find_collection(id)) return collection_row(*collection);
    const auto spec = load_table_spec(id);
    const auto scales = std::views::keys(spec.scales);
    return {{"name", spec.id},
            {"title", spec.title},
            {"version", spec.version},
            {"task", spec.task},
            {"backbone", spec.backbone},
            {"methods", join(spec.methods, ", ")},
            {"scales", std::vector<std::string>(scales.begin(), scales.end())},
            {"reproduces", spec.reproduces},
            {"file", spec.file.string()}};
  });
}

Rows list_methods(const ListOptions&) {
  return rows_of(load_registry().methods, [](const RegisteredMethod& method) -> Json {
    return {{"name", method.name},
            {"summary", method.summary},
            {"equations", method.equations},
            {"settings", names_of(method.settings)},
            {"sources", method.source.files}};
  });
}

/// What this build knows, with the external scorers of --scorers.
Registry registry_with_scorers(const ListOptions& options) {
  auto registry = load_registry();
  ScorerFolders(registry, options.scorers);  // throws what is wrong with the folder
  add_to_registry(find_external_scorers(options.scorers), registry);
  return registry;
}

Rows list_tasks(const ListOptions& options) {
  return rows_of(registry_with_scorers(options).tasks, [](const TaskInfo& task) -> Json {
    return {{"name", task.name}, {"summary", task.summary}};
  });
}

/// "fp32", or "cpu fp32, cuda bf16"
std::string precision_text(const BackboneInfo& backbone) {
  std::vector<std::string> parts;
  for (const auto& [device, precision] : backbone.precisions)
    parts.push_back(device.empty() ? precision : device + " " + precision);
  return join(parts, ", ");
}

Rows list_backbones(const ListOptions&) {
  return rows_of(load_registry().backbones, [](const BackboneInfo& backbone) -> Json {
    return {{"name", backbone.name},
            {"precision", precision_text(backbone)},
            {"default_weights", backbone.default_weights}};
  });
}

/// Where an evaluator's files are from.
std::string files_text(const EvaluatorInfo& evaluator) {
  if (evaluator.identity.value("profile", "") == kExternalProfile)
    return fmt::format("--scorers DIR: DIR/{} (external)", evaluator.name);
  if (evaluator.folder_class.empty()) return "built in";
  return fmt::format("--scorers DIR: DIR/{} ({})", evaluator.name,
                     evaluator.folder_model.empty() ? evaluator.folder_class : evaluator.folder_model);
}

/// "ocr_reward (higher is better, fraction), ..."
std::string metrics_text(const EvaluatorInfo& evaluator) {
  std::vector<std::string> texts;
  for (const auto& metric : evaluator.metrics)
    texts.push_back(fmt::format("{} ({}, {})", metric.name, direction_text(metric.better), metric.unit));
  return join(texts, ", ");
}

Rows list_evaluators(const ListOptions& options) {
  return rows_of(registry_with_scorers(options).evaluators, [](const EvaluatorInfo& evaluator) -> Json {
    return {{"name", evaluator.name},
            {"metrics", metrics_text(evaluator)},
            {"metric_info", metrics_json(evaluator.metrics)},
            {"files", files_text(evaluator)},
            {"summary", evaluator.summary},
            {"identity", evaluator.identity},
            {"sources", evaluator.source.files}};
  });
}

Json setting_row(const std::string& method, const Setting& spec, const SettingValue& value) {
  return {{"name", method.empty() ? spec.name : method + "." + spec.name},
          {"value", value.effective.is_null() ? Json("not set") : value.effective},
          {"origin", value.origin},
          {"default", spec.default_value},
          {"minimum", or_null(spec.minimum)},
          {"maximum", or_null(spec.maximum)},
          {"choices", spec.choices},
          {"help", spec.help},
          {"equation", spec.equation}};
}

Rows list_metrics(const ListOptions& options) {
  Rows rows;
  for (const auto& evaluator : registry_with_scorers(options).evaluators) {
    for (const auto& metric : evaluator.metrics)
      rows.push_back({{"name", metric.name},
                      {"title", metric.title},
                      {"better", metric.better},
                      {"unit", metric.unit},
                      {"decimals", metric.decimals},
                      {"evaluator", evaluator.name},
                      {"summary", metric.help.empty() ? evaluator.summary : metric.help}});
  }
  return rows;
}

Rows list_settings(const ListOptions& options) {
  const auto registry = load_registry();
  ResolvedSettings settings = default_settings(registry);
  std::string backbone = options.backbone;  // empty: settings of all
  if (!backbone.empty()) registry.backbone(backbone, "--backbone");
  std::vector<ArmSpec> arms;
  if (options.table.empty()) {
    if (!options.scale.empty()) {
      throw Error("needs a table: scales belong to a table", "--scale " + options.scale,
                  "add --table ID; `harness list tables` names them");
    }
    for (const auto& method : registry.methods) arms.push_back({.name = method.name, .method = method.name});
  } else {
    const auto whole = load_table_spec(options.table);
    if (backbone.empty()) backbone = whole.backbone;
    const auto spec = for_backbone(whole, backbone);
    check_against_registry(spec, registry);
    settings = resolve_settings(registry, spec, registry.backbone(backbone, "--backbone").name,
                                options.scale.empty() ? "default" : options.scale, spec.methods, {});
    for (const auto& name : spec.methods) arms.push_back(spec.arm(name));
  }
  if (!options.methods.empty()) {
    for (const auto& name : comma_list(options.methods, "--methods"))
      require_choice(name, names_of(arms), "method", "--methods");
    std::erase_if(arms,
                  [&](const ArmSpec& arm) { return std::ranges::count(options.methods, arm.name) == 0; });
  }
  Rows rows;
  for (const auto& spec : registry.settings) {
    if (!options.methods.empty()) break;  // theirs alone
    if (!backbone.empty() && !spec.belongs_to(backbone)) continue;
    // Two backbones may have a setting of one name with a default each.
    const SettingValue usual{
        .requested = {}, .effective = spec.default_value, .origin = "default", .is_silent = false};
    rows.push_back(setting_row("", spec, options.table.empty() ? usual : settings.loop.at(spec.name)));
  }
  for (const auto& arm : arms) {
    if (!arm.traits().trains) continue;
    for (const auto& spec : registry.method(arm.method, "methods").settings)
      rows.push_back(setting_row(arm.name, spec, settings.methods.at(arm.name).at(spec.name)));
    const auto own = settings.row_loop.find(arm.name);
    if (own == settings.row_loop.end()) continue;
    for (const auto& spec : registry.settings) {
      if (own->second.contains(spec.name))
        rows.push_back(setting_row(arm.name, spec, own->second.at(spec.name)));
    }
  }
  return rows;
}

/// The workspace's DB; nothing if neither it nor anything that it is made from is at the default place yet.
/// Throws Error (status 2) if there is none at --out or --db, or it is gone.
std::optional<Store> open_workspace(const ListOptions& options) {
  const auto workspace = find_workspace(options.place);
  if (!options.place.db && !std::filesystem::exists(workspace.db) && !has_records(workspace)) {
    if (!options.place.out) return std::nullopt;
    throw Error("there is no workspace at " + *options.place.out, "--out",
                "name the folder that `harness reproduce --out` was given");
  }
  return std::optional<Store>(std::in_place, workspace.db, OpenMode::kReadOnly);
}

/// A name that neither this build nor the workspace's records know is a typing error, not an empty list.
void require_known(const std::string& name, const std::vector<std::string>& built_in,
                   std::set<std::string> recorded, const std::string& what, const std::string& option) {
  recorded.insert(built_in.begin(), built_in.end());
  require_choice(name, {recorded.begin(), recorded.end()}, what, option);
}

/// Table and scale of every use of a run or experiment.
using Uses = std::vector<std::pair<std::string, std::string>>;

/// Those of a workspace's records that --table, --backbone and --scale ask for. uses_of: of a record, one or
/// more.
template <class Record, class UsesOf>
std::vector<Record> chosen(std::vector<Record> records, const ListOptions& options, const UsesOf& uses_of) {
  std::set<std::string> backbones, tables;
  for (const auto& record : records) {
    backbones.insert(record.backbone);
    for (const auto& use : uses_of(record)) tables.insert(use.first);
  }
  if (!options.backbone.empty())
    require_known(options.backbone, backbone_names(), backbones, "backbone", "--backbone");
  std::optional<Collection> collection;
  if (!options.table.empty()) collection = find_collection(options.table);
  if (!options.table.empty() && !collection)
    require_known(options.table, known_tables(), tables, "table", "--table");
  const auto wanted = collection ? collection->table_ids() : std::vector{options.table};
  const auto fits = [&](const auto& use) {
    return (options.table.empty() || std::ranges::count(wanted, use.first) > 0) &&
           (options.scale.empty() || use.second == options.scale);
  };
  std::erase_if(records, [&](const Record& record) {
    return (!options.backbone.empty() && record.backbone != options.backbone) ||
           std::ranges::none_of(uses_of(record), fits);
  });
  return records;
}

/// By run; one that was taken in and no table uses is not among them.
std::map<std::string, Uses> uses_of_runs(Store& store) {
  std::map<std::string, Uses> uses;
  constexpr auto kSql = "SELECT run_id, table_id, scale FROM table_runs";
  for (const auto& [run, table, scale] : rows_of<std::string, std::string, std::string>(store, kSql))
    uses[run].emplace_back(table, scale);
  return uses;
}

Rows list_experiments(const ListOptions& options) {
  auto store = open_workspace(options);
  const auto uses_of = [](const StoredReproduction& experiment) {
    return Uses{std::pair(experiment.table_id, experiment.scale)};
  };
  const auto experiments =
      chosen(store ? store->reproductions() : std::vector<StoredReproduction>{}, options, uses_of);
  return rows_of(experiments, [](const StoredReproduction& experiment) -> Json {
    const auto effective = Effective::from_json(experiment.spec.at("effective"));
    return {{"name", fmt::format("{}", experiment.id)},
            {"table", experiment.table_id},
            {"backbone", experiment.backbone},
            {"scale", experiment.scale},
            {"prompts", effective.prompt_set},
            {"methods", experiment.methods},
            {"seeds", experiment.seeds},
            {"set", assignments(effective.set)},
            {"weights", effective.weights_sha256.substr(0, 12)},
            {"finished", experiment.finished},
            {"signature", experiment.signature}};
  });
}

Rows list_runs(const ListOptions& options) {
  auto store = open_workspace(options);
  const auto uses = store ? uses_of_runs(*store) : std::map<std::string, Uses>{};
  const auto uses_of = [&](const StoredRun& run) {
    const auto found = uses.find(run.id);
    return found == uses.end() ? Uses{std::pair(run.table_id, run.scale)} : found->second;
  };
  const auto is_of_asked_table = [&](const StoredRun& run) {
    return std::ranges::any_of(uses_of(run), [&](const auto& use) { return use.first == options.table; });
  };
  const auto runs = chosen(store ? store->runs() : std::vector<StoredRun>{}, options, uses_of);
  const auto states = run_states(find_workspace(options.place));
  // The base model is that of every scale.
  std::map<std::string, std::string> scales, rows;
  if (store) {
    constexpr auto kNames =
        "SELECT run_id, replace(group_concat(DISTINCT scale), ',', ', '), replace(group_concat(DISTINCT arm), ',', ', ') "
        "FROM table_runs GROUP BY run_id";
    for (const auto& [run, of_run, arms] : rows_of<std::string, std::string, std::string>(*store, kNames)) {
      scales[run] = of_run;
      rows[run] = arms;
    }
  }
  return rows_of(runs, [&](const StoredRun& run) -> Json {
    const auto state = live_state(*store, run, states);
    const auto named = rows.find(run.id);
    const auto& row = named == rows.end() || named->second.empty() ? run.method : named->second;
    // The base model is there at once, and done when it is tested.
    const auto& traits = row_traits(run.method);
    const bool is_done = !traits.is_start || state == run_state_name(RunState::kDone);
    return {{"name", run.id},
            {"table", is_of_asked_table(run) ? options.table : run.table_id},
            {"method", traits.is_given() ? row : run.method},
            {"row", row},
            {"seed", run.seed},
            {"backbone", run.backbone},
            {"task", run.task},
            {"scale", scales.contains(run.id) ? scales.at(run.id) : run.scale},
            {"state", state},
            {"folder", folder_of(*store, run).string()},
            {"created", run.created},
            {"finished", is_done ? or_null(run.finished) : Json()}};
  });
}

struct List {
  const char* name;
  Rows (*rows)(const ListOptions& options);
  std::vector<std::string> columns;     ///< for reading; --json shows all fields
  std::vector<std::string> reads = {};  ///< options that choose among its rows
  std::map<std::string, ColumnText> texts = {};
};

const std::vector<List> kLists = {
    {"tables", list_tables, {"name", "task", "backbone", "title"}},
    {"methods", list_methods, {"name", "summary", "equations"}},
    {"tasks", list_tasks, {"name", "summary"}, {"--scorers"}},
    {"backbones", list_backbones, {"name", "precision", "default_weights"}},
    {"evaluators", list_evaluators, {"name", "metrics", "files", "summary"}, {"--scorers"}},
    {"metrics", list_metrics, {"name", "better", "unit", "evaluator", "summary"}, {"--scorers"}},
    {"figures", [](const ListOptions&) { return figure_rows(); }, {"name", "summary"}},
    {"settings",
     list_settings,
     {"name", "value", "origin", "help"},
     {"--table", "--backbone", "--scale", "--methods"}},
    // A run is without a table until a reproduce asks for it: its folder was taken in.
    {"runs",
     list_runs,
     {"name", "table", "row", "seed", "backbone", "scale", "state", "finished"},
     {"--table", "--backbone", "--scale"},
     {{"name", {.heading = "id"}},
      {"table", {.blank = "(imported)"}},
      {"finished", {.made = readable_time}}}},
    {"experiments",
     list_experiments,
     {"name", "table", "backbone", "scale", "prompts", "methods", "seeds", "set", "weights", "finished"},
     {"--table", "--backbone", "--scale"},
     {{"name", {.heading = "number"}}, {"finished", {.made = readable_time}}}}};

/// An option that the list does not read would seem to choose among its rows.
void require_options_read(const List& list, const ListOptions& options) {
  const auto methods = join(options.methods, ",");
  const std::vector<std::pair<const char*, const std::string&>> given = {{"--table", options.table},
                                                                         {"--backbone", options.backbone},
                                                                         {"--scale", options.scale},
                                                                         {"--scorers", options.scorers},
                                                                         {"--methods", methods}};
  for (const auto& [option, value] : given) {
    if (value.empty() || std::ranges::count(list.reads, option) > 0) continue;
    throw Error(fmt::format("{} has no meaning for this list", option),
                fmt::format("harness list {}", list.name), "leave it out");
  }
}

int list(const ListOptions& options) {
  require_choice(options.what, names_of(kLists), "list", "harness list");
  const auto& asked = *std::ranges::find(kLists, options.what, &List::name);
  require_options_read(asked, options);
  return print_list(options.json, asked.rows(options), asked.columns, asked.texts);
}

Command make_list() {
  auto o = std::make_shared<ListOptions>();
  Command command{"list", "List tables, methods, metrics, settings, runs and experiments", R"(
Examples:
  harness list tables
  harness list evaluators                      # scorers, their metrics and their files
  harness list metrics --scorers my-scorers    # with those of your own programs
  harness list settings --table sd35-ocr       # every value, and where it comes from
  harness list runs --json)"};
  command.add("what", &o->what,
              "tables, methods, tasks, backbones, evaluators, metrics, figures, settings, runs or "
              "experiments",
              {.required = true, .offers = choices(names_of(kLists))});
  command.add("--table", &o->table, "settings, runs or experiments of this table",
              {.offers = known_tables, .value = "ID"});
  command.add("--backbone", &o->backbone, "settings, runs or experiments of this backbone",
              {.offers = backbone_names});
  command.add("--scale", &o->scale, "settings (with --table), runs or experiments at this scale",
              {.offers = scale_names});
  command.add("--methods", &o->methods, "settings of these methods alone: dual,ratio-norm",
              {.by_comma = true, .offers = method_names});
  command.add("--scorers", &o->scorers, "evaluators, metrics and tasks: with your scorers in this folder",
              kFolder);
  add_workspace_options(command, o->place, "workspace with the runs and experiments");
  return with_json(std::move(command), o, list);
}

const bool kRegistered = register_command(CommandGroup::kManage, 10, make_list);

}  // namespace
}  // namespace harness

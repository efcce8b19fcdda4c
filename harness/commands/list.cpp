#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/commands/db_options.h"
#include "harness/commands/offers.h"
#include "harness/plan/external_scorers.h"
#include "harness/plan/registry.h"
#include "harness/plan/scorers.h"
#include "harness/plan/settings.h"
#include "harness/plan/table_spec.h"
#include "harness/show/experiments.h"
#include "harness/show/figures.h"
#include "harness/show/run_report.h"
#include "harness/terminal/output.h"
#include "results/store/store.h"

namespace harness {
namespace {

struct ListOptions {
  std::string what, table, scale, backbone, scorers;
  WorkspaceChoice place;
  bool json = false;
};

struct Listing {
  std::vector<Json> rows;
  std::vector<std::string> columns;  ///< for reading; --json shows all fields
  std::map<std::string, ColumnText> texts = {};
};

Listing list_tables() {
  Listing listing{{}, {"name", "title", "task", "backbone", "methods"}};
  for (const auto& id : known_tables()) {
    const auto spec = load_table_spec(id);
    std::vector<std::string> scales;
    for (const auto& [name, _] : spec.scales) scales.push_back(name);
    listing.rows.push_back({{"name", spec.id},
                            {"title", spec.title},
                            {"version", spec.version},
                            {"task", spec.task},
                            {"backbone", spec.backbone},
                            {"methods", join(spec.methods, ", ")},
                            {"scales", scales},
                            {"reproduces", spec.reproduces},
                            {"file", spec.file.string()}});
  }
  return listing;
}

Listing list_methods() {
  Listing listing{{}, {"name", "summary", "equations"}};
  for (const auto& method : load_registry().methods) {
    listing.rows.push_back({{"name", method.name},
                            {"summary", method.summary},
                            {"equations", method.equations},
                            {"settings", names_of(method.settings)},
                            {"sources", method.source.files}});
  }
  return listing;
}

/// What this build knows, with the external scorers of --scorers.
Registry registry_with_scorers(const ListOptions& options) {
  auto registry = load_registry();
  ScorerFolders(registry, options.scorers);  // says what is wrong with the folder
  add_to_registry(find_external_scorers(options.scorers), registry);
  return registry;
}

Listing list_tasks(const ListOptions& options) {
  Listing listing{{}, {"name", "summary"}};
  for (const auto& task : registry_with_scorers(options).tasks)
    listing.rows.push_back({{"name", task.name}, {"summary", task.summary}});
  return listing;
}

/// "fp32", or "cpu fp32, cuda bf16"
std::string precision_text(const BackboneInfo& backbone) {
  std::vector<std::string> parts;
  for (const auto& [device, precision] : backbone.precisions)
    parts.push_back(device.empty() ? precision : device + " " + precision);
  return join(parts, ", ");
}

Listing list_backbones() {
  Listing listing{{}, {"name", "precision", "default_weights"}};
  for (const auto& backbone : load_registry().backbones) {
    listing.rows.push_back({{"name", backbone.name},
                            {"precision", precision_text(backbone)},
                            {"default_weights", backbone.default_weights}});
  }
  return listing;
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

Listing list_evaluators(const ListOptions& options) {
  Listing listing{{}, {"name", "metrics", "files", "summary"}};
  for (const auto& evaluator : registry_with_scorers(options).evaluators) {
    listing.rows.push_back({{"name", evaluator.name},
                            {"metrics", metrics_text(evaluator)},
                            {"metric_info", metrics_json(evaluator.metrics)},
                            {"files", files_text(evaluator)},
                            {"summary", evaluator.summary},
                            {"identity", evaluator.identity},
                            {"sources", evaluator.source.files}});
  }
  return listing;
}

Json setting_row(const std::string& method, const Setting& spec, const SettingValue& value) {
  const auto optional_number = [](const std::optional<double>& number) {
    return number ? Json(*number) : Json();
  };
  return {{"name", method.empty() ? spec.name : method + "." + spec.name},
          {"value", value.effective.is_null() ? Json("by task") : value.effective},
          {"origin", value.origin},
          {"default", spec.default_value},
          {"minimum", optional_number(spec.minimum)},
          {"maximum", optional_number(spec.maximum)},
          {"choices", spec.choices},
          {"help", spec.help},
          {"equation", spec.equation}};
}

Listing list_metrics(const ListOptions& options) {
  Listing listing{{}, {"name", "better", "unit", "evaluator", "summary"}};
  for (const auto& evaluator : registry_with_scorers(options).evaluators) {
    for (const auto& metric : evaluator.metrics)
      listing.rows.push_back({{"name", metric.name},
                              {"title", metric.title},
                              {"better", metric.better},
                              {"unit", metric.unit},
                              {"decimals", metric.decimals},
                              {"evaluator", evaluator.name},
                              {"summary", metric.help.empty() ? evaluator.summary : metric.help}});
  }
  return listing;
}

Listing list_settings(const ListOptions& options) {
  const auto registry = load_registry();
  ResolvedSettings settings = default_settings(registry);
  std::string backbone = options.backbone;  // empty: settings of all
  if (!backbone.empty()) registry.backbone(backbone, "--backbone");
  std::vector<ArmSpec> rows;
  for (const auto& method : registry.methods) rows.push_back({.name = method.name, .method = method.name});
  if (options.table.empty() && !options.scale.empty()) {
    throw Error("needs a table: scales are a table's", "--scale " + options.scale,
                "add --table ID; `harness list tables` names them");
  }
  if (!options.table.empty()) {
    const auto whole = load_table_spec(options.table);
    const auto spec = for_backbone(whole, options.backbone.empty() ? whole.backbone : options.backbone);
    check_against_registry(spec, registry);
    backbone =
        registry.backbone(options.backbone.empty() ? spec.backbone : options.backbone, "--backbone").name;
    settings = resolve_settings(registry, spec, backbone, options.scale.empty() ? "default" : options.scale,
                                spec.methods, {});
    rows.clear();
    for (const auto& name : spec.methods) rows.push_back(spec.arm(name));
  }
  Listing listing{{}, {"name", "value", "origin", "help"}};
  for (const auto& spec : registry.settings) {
    if (backbone.empty() || spec.belongs_to(backbone))
      listing.rows.push_back(setting_row("", spec, settings.loop.at(spec.name)));
  }
  for (const auto& row : rows) {
    for (const auto& spec : registry.method(row.method, "methods").settings)
      listing.rows.push_back(setting_row(row.name, spec, settings.methods.at(row.name).at(spec.name)));
    const auto own = settings.row_loop.find(row.name);
    if (own == settings.row_loop.end()) continue;
    for (const auto& spec : registry.settings) {
      if (own->second.contains(spec.name))
        listing.rows.push_back(setting_row(row.name, spec, own->second.at(spec.name)));
    }
  }
  return listing;
}

/// The workspace's DB; nothing if neither it nor anything that it is made from is at the default place yet.
/// Throws Error (status 2) if there is none where --out or --db says, or it is gone.
std::optional<Store> open_workspace(const ListOptions& options) {
  const auto workspace = find_workspace(options.place);
  if (!options.place.db && !std::filesystem::exists(workspace.db) && !has_records(workspace)) {
    if (!options.place.out) return std::nullopt;
    throw Error("there is no workspace at " + *options.place.out, "--out",
                "name the folder that `harness reproduce --out` was given");
  }
  return std::optional<Store>(std::in_place, workspace.db, OpenMode::kReadOnly);
}

/// A table that neither the workspace nor this build knows is a typing error, not an empty list.
void require_table(const ListOptions& options, std::vector<std::string> stored) {
  if (options.table.empty()) return;
  for (const auto& id : known_tables()) stored.push_back(id);
  std::sort(stored.begin(), stored.end());
  stored.erase(std::unique(stored.begin(), stored.end()), stored.end());
  require_choice(options.table, stored, "table", "--table");
}

Listing list_experiments(const ListOptions& options) {
  Listing listing{
      {},
      {"name", "table", "backbone", "scale", "prompts", "methods", "seeds", "set", "weights", "finished"},
      {{"name", {.heading = "number"}}}};
  auto store = open_workspace(options);
  const auto experiments = store ? store->reproductions() : std::vector<StoredReproduction>{};
  std::vector<std::string> tables;
  for (const auto& experiment : experiments) tables.push_back(experiment.table_id);
  require_table(options, std::move(tables));
  for (const auto& experiment : experiments) {
    if (!options.table.empty() && experiment.table_id != options.table) continue;
    if (!options.scale.empty() && experiment.scale != options.scale) continue;
    const auto effective = Effective::from_json(experiment.spec.at("effective"));
    listing.rows.push_back({{"name", fmt::format("{}", experiment.id)},
                            {"table", experiment.table_id},
                            {"backbone", experiment.backbone},
                            {"scale", experiment.scale},
                            {"prompts", effective.prompt_set},
                            {"methods", experiment.methods},
                            {"seeds", experiment.seeds},
                            {"set", assignments(effective.set)},
                            {"weights", effective.weights_sha256.substr(0, 12)},
                            {"finished", experiment.finished},
                            {"signature", experiment.signature}});
  }
  return listing;
}

Listing list_runs(const ListOptions& options) {
  // A run is without a table until a reproduce asks for it: its folder was taken in.
  Listing listing{{},
                  {"name", "table", "method", "seed", "backbone", "scale", "state", "finished"},
                  {{"name", {.heading = "id"}}, {"table", {.blank = "(adopted)"}}}};
  auto store = open_workspace(options);
  const auto runs = store ? store->runs() : std::vector<StoredRun>{};
  std::vector<std::string> tables;
  for (const auto& run : runs) tables.push_back(run.table_id);
  require_table(options, std::move(tables));
  for (const auto& run : runs) {
    if (!options.table.empty() && run.table_id != options.table) continue;
    listing.rows.push_back({{"name", run.id},
                            {"table", run.table_id},
                            {"method", run.method},
                            {"seed", run.seed},
                            {"backbone", run.backbone},
                            {"task", run.task},
                            {"scale", run.scale},
                            {"state", live_state(*store, run)},
                            {"folder", run.folder},
                            {"created", run.created},
                            {"finished", run.finished ? Json(*run.finished) : Json()}});
  }
  return listing;
}

Listing list_figures() {
  Listing listing{{}, {"name", "summary"}};
  for (const auto& figure : known_figures())
    listing.rows.push_back({{"name", figure.name}, {"summary", figure.summary}, {"table", figure.table}});
  return listing;
}

const std::vector<std::string> kLists = {"tables",  "methods", "tasks",    "backbones", "evaluators",
                                         "metrics", "figures", "settings", "runs",      "experiments"};

Listing make_listing(const ListOptions& options) {
  if (options.what == "tables") return list_tables();
  if (options.what == "methods") return list_methods();
  if (options.what == "tasks") return list_tasks(options);
  if (options.what == "backbones") return list_backbones();
  if (options.what == "evaluators") return list_evaluators(options);
  if (options.what == "runs") return list_runs(options);
  if (options.what == "experiments") return list_experiments(options);
  if (options.what == "metrics") return list_metrics(options);
  if (options.what == "figures") return list_figures();
  return list_settings(options);
}

int list(const ListOptions& options) {
  require_choice(options.what, kLists, "list", "harness list");
  const auto listing = make_listing(options);
  if (options.json) {
    print_json(listing.rows);
  } else {
    print_rows(listing.rows, listing.columns, listing.texts);
  }
  return 0;
}

Command make_list() {
  auto o = std::make_shared<ListOptions>();
  Command command{"list", "What this build knows and what a workspace holds", R"(
Examples:
  harness list tables
  harness list evaluators                       scorers, their metrics, and which need a folder (--scorers)
  harness list metrics --scorers my-scorers     with those of your own programs
  harness list settings --table sd35-ocr        every value with where it comes from
  harness list runs --json)"};
  command.add("what", &o->what,
              "tables, methods, tasks, backbones, evaluators, metrics, figures, settings, runs or "
              "experiments",
              {.required = true, .offers = choices(kLists)});
  command.add("--table", &o->table, "settings, runs and experiments of this table", {.offers = known_tables});
  command.add("--backbone", &o->backbone, "settings: with those of a backbone; unset: the table's",
              {.offers = backbone_names});
  command.add("--scale", &o->scale, "settings or experiments at this scale; settings need --table with it",
              {.offers = scale_names});
  command.add("--scorers", &o->scorers,
              "evaluators, metrics and tasks: with the external scorers of this folder", {.is_path = true});
  add_workspace_options(command, o->place, "workspace whose runs and experiments are listed");
  add_json_option(command, o->json);
  command.run = [o] { return list(*o); };
  return command;
}

const bool kRegistered = register_command(20, make_list);

}  // namespace
}  // namespace harness

#include "harness/commands/db_options.h"

#include <fmt/format.h>

#include "core/streams.h"
#include "harness/commands/offers.h"
#include "harness/terminal/output.h"
#include "harness/terminal/seeds.h"
#include "results/query/experiments.h"

namespace harness {
namespace {

constexpr const char* kLast = "; unset: that of the last completed reproduce";

}  // namespace

void add_workspace_options(Command& command, WorkspaceChoice& choice, const std::string& help) {
  command.add("-o,--out", &choice.out, help + " (default: the folder of --db, or runs)", {.is_path = true});
  command.add("--db", &choice.db, "results DB (default: OUT/results.sqlite)", {.is_path = true});
}

void add_json_option(Command& command, bool& json) {
  command.add("--json", &json, "one JSON document on standard output");
}

void add_db_option(Command& command, DbOptions& options) {
  command.add("--db", &options.place.db, "results DB, in the folder of its workspace",
              {.default_text = "runs/results.sqlite", .is_path = true});
}

std::filesystem::path database_of(const DbOptions& options) {
  return find_workspace(options.place).db;
}

void add_table_argument(Command& command, DbOptions& options) {
  command.add("id", &options.filter.table, std::string("table") + kLast, {.offers = known_tables});
}

void add_filter_options(Command& command, DbOptions& options, bool with_table) {
  auto& filter = options.filter;
  if (with_table)
    command.add("--table", &filter.table, std::string("table") + kLast, {.offers = known_tables});
  command.add("--backbone", &filter.backbone, std::string("backbone") + kLast, {.offers = backbone_names});
  command.add("--scale", &filter.scale, std::string("scale") + kLast, {.offers = scale_names});
  command.add("--prompts", &filter.prompts, std::string("name of the prompt set") + kLast);
  command.add("--experiment", &filter.experiment, std::string("number in `harness list experiments`") + kLast,
              {.offers = [&options] { return experiment_numbers(options.place); }});
  command.add("--seeds", &options.seeds, std::string("seeds, comma-separated, or a range (42..44)") + kLast,
              {.by_comma = true});
}

Experiment chosen_experiment(Store& store, const DbOptions& options) {
  auto filter = options.filter;
  filter.seeds = parse_seeds(options.seeds);
  auto experiment = find_experiment(store, filter);
  tell("{}\n", in_words(experiment));
  return experiment;
}

std::filesystem::path output_folder(const Store& store, const Experiment& experiment,
                                    const std::string& out) {
  return out.empty() ? store.path().parent_path() / experiment.table_id : std::filesystem::path(out);
}

void print_artifacts(const Experiment& experiment, const std::map<std::string, std::string>& paths,
                     bool json) {
  print_answer(json, {{"table", experiment.table_id}, {"artifacts", paths}}, [&] {
    for (const auto& [name, path] : paths) put("{}\n", path);
  });
}

}  // namespace harness

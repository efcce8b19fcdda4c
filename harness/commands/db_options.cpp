#include "harness/commands/db_options.h"

#include <fmt/format.h>

#include "core/streams.h"
#include "harness/output.h"
#include "harness/seeds.h"

namespace harness {

namespace {

/// An option that may be given as an empty text, which CLI11 takes for none in a std::optional.
CLI::Option* add_text(CLI::App& command, const std::string& name, std::optional<std::string>& value,
                      const std::string& help) {
  return command.add_option_function<std::string>(
      name, [&value](const std::string& text) { value = text; }, help);
}

}  // namespace

void add_workspace_options(CLI::App& command, WorkspaceChoice& choice, const std::string& help) {
  add_text(command, "-o,--out", choice.out, help + " (default: the folder of --db, or runs)");
  add_text(command, "--db", choice.db, "results DB (default: OUT/results.sqlite)");
}

WorkspaceChoice place_of(const CLI::App& command) {
  const auto typed = [&](const char* name) -> std::optional<std::string> {
    const auto* option = command.get_option_no_throw(name);
    if (option == nullptr || option->empty()) return std::nullopt;
    return option->results().back();
  };
  return {.out = typed("--out"), .db = typed("--db")};
}

void add_db_option(CLI::App& command, DbOptions& options) {
  add_text(command, "--db", options.place.db, "results DB, in the folder of its workspace")
      ->default_str("runs/results.sqlite");
}

std::filesystem::path database_of(const DbOptions& options) {
  return find_workspace(options.place).db;
}

void add_filter_options(CLI::App& command, DbOptions& options, bool with_table) {
  const char* last = "; unset: that of the last completed reproduce";
  if (with_table) command.add_option("--table", options.filter.table, std::string("table") + last);
  command.add_option("--backbone", options.filter.backbone, std::string("backbone") + last);
  command.add_option("--scale", options.filter.scale, std::string("scale") + last);
  command.add_option("--prompts", options.filter.prompts, std::string("name of the prompt set") + last);
  command.add_option("--experiment", options.filter.experiment,
                     std::string("number in `harness list experiments`") + last);
  command
      .add_option("--seeds", options.seeds, std::string("seeds, comma-separated, or a range (42..44)") + last)
      ->delimiter(',');
}

StoredReproduction chosen_reproduction(Store& store, const DbOptions& options) {
  auto filter = options.filter;
  filter.seeds = parse_seeds(options.seeds);
  auto reproduction = find_reproduction(store, filter);
  tell("experiment {}: table {}, backbone {}, scale {}, prompts {}, seeds {}, finished {}\n", reproduction.id,
       reproduction.table_id, reproduction.backbone, reproduction.scale, prompt_set_of(reproduction),
       fmt::join(reproduction.seeds, ","), reproduction.finished);
  return reproduction;
}

std::filesystem::path output_folder(const Store& store, const StoredReproduction& reproduction,
                                    const std::string& out) {
  return out.empty() ? store.path().parent_path() / reproduction.table_id : std::filesystem::path(out);
}

void print_artifacts(const StoredReproduction& reproduction, const std::map<std::string, std::string>& paths,
                     bool json) {
  if (json) {
    print_json({{"table", reproduction.table_id}, {"artifacts", paths}});
  } else {
    for (const auto& [name, path] : paths) put("{}\n", path);
  }
}

}  // namespace harness

#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/command_line/command_line.h"
#include "harness/plan/workspace.h"
#include "harness/show/experiments.h"

namespace harness {

/// Adds --out and --db of the commands that work in a workspace; find_workspace says what they mean.
void add_workspace_options(Command& command, WorkspaceChoice& choice, const std::string& help = "workspace");

void add_json_option(Command& command, bool& json);

/// The command with --json, which `run` carries out with the options that it keeps.
template <class Options>
Command with_json(Command command, const std::shared_ptr<Options>& options, int (*run)(const Options&)) {
  add_json_option(command, options->json);
  command.run = [options, run] { return run(*options); };
  return command;
}

/// --out, --db and the choice of an experiment, shared by the commands that work from the DB alone.
struct DbOptions {
  WorkspaceChoice place;
  ExperimentFilter filter;
  std::vector<std::string> seeds;  ///< as typed
};

/// The DB that --out and --db mean.
std::filesystem::path database_of(const DbOptions& options);

/// Adds --db alone, for commands whose -o is a file or folder to write.
void add_db_option(Command& command, DbOptions& options);

/// Adds the table as the command's argument.
void add_table_argument(Command& command, DbOptions& options);

/// Adds --backbone, --scale, --prompts, --experiment and --seeds, and --table unless it is the command's own
/// argument.
void add_filter_options(Command& command, DbOptions& options, bool with_table);

/// Opens the DB for reading and takes the last experiment that fits; names it on standard error.
Experiment chosen_experiment(Store& store, const DbOptions& options);

/// Where pictures of an experiment go: -o DIR, or unset the table's folder beside the DB.
std::filesystem::path output_folder(const Store& store, const Experiment& experiment, const std::string& out);

/// Prints what was written: one path a line, or the document of --json.
void print_artifacts(const Experiment& experiment, const std::map<std::string, std::string>& paths,
                     bool json);

}  // namespace harness

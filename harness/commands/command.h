#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/command_line/command_line.h"
#include "core/json.h"
#include "harness/read/experiments.h"
#include "harness/show/artifacts.h"
#include "harness/workspace/workspace.h"
#include "results/table/notation.h"

namespace harness {

struct WorkOptions;

/// What commands are for: the headings of the help, in its order.
enum class CommandGroup { kRun, kLook, kCheck, kManage };

/// What makes each command, with targets of its own, by its group and its place in it. A command is one file
/// of this folder, which ends with `const bool kRegistered = register_command(GROUP, PLACE, make_command);`
using CommandMakers = std::multimap<std::pair<CommandGroup, int>, Command (*)()>;
inline CommandMakers& command_makers() {
  static CommandMakers makers;
  return makers;
}

inline bool register_command(CommandGroup group, int place, Command (*make)()) {
  command_makers().emplace(std::pair(group, place), make);
  return true;
}

/// All commands, in the order of the help.
std::vector<Command> registered_commands();

/// Adds --out and --db of the commands that work in a workspace; find_workspace resolves them.
void add_workspace_options(Command& command, WorkspaceChoice& choice, const std::string& help = "workspace");
/// The same two of commands whose -o is a file or folder to write.
void add_place_options(Command& command, WorkspaceChoice& choice, const std::string& out = "--out",
                       const std::string& help = "workspace");

/// Adds these, and how work is dealt to processes and machines.
void add_work_options(Command& command, WorkOptions& options);

/// Adds for each batch system the option that takes the user's own ones, by the system's executor. Its help
/// says for which jobs, with so many examples.
void add_batch_options(Command& command, std::map<std::string, std::vector<std::string>>& typed,
                       const std::string& jobs, std::size_t examples);

void add_fresh_options(Command& command, WorkOptions& options);

void add_json_option(Command& command, bool& json);

/// What the value of an option is.
inline const OptionDetails kFolder{.is_path = true, .value = "DIR"}, kFile{.is_path = true, .value = "FILE"},
    kFolderOrFile{.is_path = true, .value = "DIR|FILE"};

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

/// Adds the table as the command's argument; a number is that of an experiment.
void add_table_argument(Command& command, DbOptions& options);

/// Adds --table, and the same as the command's argument; checked_table returns the one that was given.
struct NamedTable {
  std::string option, argument;
};
void add_table_option(Command& command, NamedTable& table, const std::string& help, const std::string& value);
/// Throws Error (where: `command`) for none, and for two different ones.
std::string checked_table(const NamedTable& table, const std::string& command);

/// Adds --backbone, --scale, --prompts, --experiment and --seeds, and --table unless it is the command's own
/// argument, under a heading of their own.
void add_filter_options(Command& command, DbOptions& options, bool with_table);

/// Of a text that is nothing else, as the number of an experiment is typed.
std::optional<std::int64_t> whole_number(const std::string& text);

/// Takes the last experiment that fits and names it on standard error. Throws Error for a collection.
Experiment chosen_experiment(Store& store, const DbOptions& options);

/// What a command looks at: one experiment, or one of each table of a collection.
struct ChosenExperiments {
  std::optional<Collection> collection = {};
  std::vector<Experiment> experiments = {};

  std::string name() const;  ///< of the table, or the collection
};
ChosenExperiments chosen_experiments(Store& store, const DbOptions& options);

/// Where something of an experiment goes: its own folder, or -o DIR, in it the table's folder if it is one of
/// a collection.
std::filesystem::path output_folder(const Store& store, const Experiment& experiment, const std::string& out,
                                    bool is_one_of_several = false);

/// Where a picture of one of the chosen experiments goes: output_folder of -o DIR, else its own place.
PicturePlace picture_place(Store& store, const ChosenExperiments& chosen, const Experiment& experiment,
                           const std::string& out, const std::string& stem, bool is_usual);

/// Notes on standard error which names in `file` (--names) are unknown to these experiments.
void tell_unknown_names(const DisplayNames& names, const std::string& file, const ChosenExperiments& chosen);

/// Writes files for each of the chosen experiments, which gives their paths by name, and prints them: one
/// path a line, or the document of --json. Gives the exit status.
int write_for_each(const ChosenExperiments& chosen, bool json,
                   const std::function<std::map<std::string, std::string>(const Experiment&)>& write);

/// Numbers of the workspace's experiments.
std::vector<std::string> experiment_numbers(const WorkspaceChoice& choice);

// Names that a shell offers as values (Offers), out of the tables and the registry of this build.
std::vector<std::string> backbone_names();
std::vector<std::string> method_names();
std::vector<std::string> metric_names();
std::vector<std::string> scale_names();

/// Out of a workspace. Throws Error if it has no readable DB.
std::vector<std::string> run_ids(const WorkspaceChoice& choice);

}  // namespace harness

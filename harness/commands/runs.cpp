#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <memory>

#include "core/error.h"
#include "core/streams.h"
#include "harness/commands/commands.h"
#include "harness/output.h"
#include "harness/rebuild.h"
#include "harness/run_removal.h"
#include "harness/run_report.h"
#include "harness/workspace.h"

namespace harness {
namespace {

struct Options {
  std::string out = "runs", db;
  std::vector<std::string> ids;
  bool yes = false, force = false, json = false;

  Workspace workspace() const { return make_workspace(out, db); }
};

void add_place(CLI::App& command, Options& options) {
  command.add_option("-o,--out", options.out, "workspace")->capture_default_str();
  command.add_option("--db", options.db, "results DB; unset: OUT/results.sqlite");
  command.add_flag("--json", options.json, "one JSON document on standard output");
}

int show(const Options& options) {
  Store store(options.workspace().db, OpenMode::kReadOnly);
  const auto report = run_report(store, find_run(store, options.ids.front()));
  if (options.json) {
    print_json(report);
  } else {
    print_run_report(report);
  }
  return 0;
}

/// Asks on the terminal. Throws Error (status 2) where nobody can answer.
bool is_agreed(const std::vector<Removal>& removals) {
  if (::isatty(STDIN_FILENO) != 1)
    throw Error("asks before it deletes, and nobody is there to answer", "harness runs rm", "add --yes");
  for (const auto& removal : removals) {
    tell("run {} with {}\n", removal.text(), removal.folder.string());
    for (const auto& e : removal.experiments)
      tell("  and experiment {} ({})\n", e.at("experiment").get<int>(), e.at("table").get<std::string>());
  }
  tell("Delete {}? [y/N] ", removals.size() == 1 ? "it" : "them");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int remove(const Options& options) {
  const auto workspace = options.workspace();
  // Refuses what is no results DB, or none at all, before anything is made; a journal makes one.
  if (!std::filesystem::exists(workspace.journal())) {
    const Store known(workspace.db, OpenMode::kReadOnly);
  }
  const WorkspaceLock lock(workspace);
  auto store = open_workspace(workspace, [](const std::string& text) { fmt::print(stderr, "{}\n", text); });
  for (const auto& folder : clear_interrupted_removals(workspace))
    tell("removed {}, left of an interrupted removal\n", folder);
  const auto removals = find_removals(store, workspace, options.ids);
  for (const auto& removal : removals) require_removable(removal, options.force);
  if (!options.yes && !is_agreed(removals)) {
    tell("nothing was deleted\n");
    return 1;
  }
  Json removed = Json::array();
  for (const auto& removal : removals) {
    remove_run(store, removal);
    removed.push_back(
        {{"name", removal.id}, {"folder", removal.folder.string()}, {"experiments", removal.experiments}});
    if (!options.json) put("removed run {}\n", removal.text());
  }
  if (options.json) print_json({{"removed", removed}});
  return 0;
}

}  // namespace

void add_runs_command(CLI::App& app, Actions& actions) {
  auto* command = app.add_subcommand("runs", "One run: what it is and took, or remove it");
  command->footer(R"(
A run is one training of a method with a seed, or the starting weights; `harness list runs` shows their ids.
Examples:
  harness runs show 0562654b
  harness runs rm 0562654b)");
  command->require_subcommand(1);

  auto* show_command =
      command->add_subcommand("show", "What a run is, took and left: times, machine, disk, metrics");
  show_command->footer(R"(
Examples:
  harness runs show 0562654bf1b14d57
  harness runs show 0562 --out runs --json)");
  auto s = std::make_shared<Options>();
  show_command->add_option("id", s->ids, "id of the run, or its beginning")->required()->expected(1);
  add_place(*show_command, *s);
  actions[show_command] = [s] { return show(*s); };

  auto* rm_command = command->add_subcommand("rm", "Delete runs: their rows and their folders");
  rm_command->footer(R"(
Asks first, unless --yes. A run that a finished experiment rests on needs --force, which deletes the experiment
too; one that a process is working on is never deleted. Interrupted, repeat the command.
Examples:
  harness runs rm 0562654b
  harness runs rm 0562654b 72ddc025 --force --yes)");
  auto r = std::make_shared<Options>();
  rm_command->add_option("id", r->ids, "ids of runs, or their beginnings")->required();
  add_place(*rm_command, *r);
  rm_command->add_flag("--yes", r->yes, "do not ask");
  rm_command->add_flag("--force", r->force, "also runs that finished experiments rest on");
  actions[rm_command] = [r] { return remove(*r); };
}

}  // namespace harness

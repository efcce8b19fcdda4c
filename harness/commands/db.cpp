#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/archive/import.h"
#include "harness/commands/command.h"
#include "harness/runs/rebuild.h"
#include "harness/runs/removal.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

struct Options {
  WorkspaceChoice place;
  bool force = false, json = false;
};

/// Of a workspace whose journal was lost: what the folders of runs record, which is what was measured.
void take_in_folders(const Workspace& workspace, Json& made) {
  auto left_out = made.at("left_out").get<std::vector<std::string>>();
  const auto runs = [&] {
    Store store(workspace.db, OpenMode::kReadOnly);
    return unknown_run_folders(store, workspace);
  }();
  for (const auto& run : runs) {
    try {
      import_place(workspace, workspace.run_folder(run));
      std::erase_if(left_out, [&](const auto& text) { return text.starts_with("run " + run + ":"); });
    } catch (const Error& error) {
      left_out.push_back(fmt::format("run {}: {}", run, error.what()));
    }
  }
  std::int64_t finished = 0;
  Store store(workspace.db, OpenMode::kReadOnly);
  for (const auto& run : store.runs())
    finished += std::ranges::count(store.evaluations(run.id), JobState::kDone, &StoredEvaluation::state);
  made.update({{"runs", std::ssize(store.runs())}, {"evaluations", finished}, {"left_out", left_out}});
}

int rebuild(const Options& options) {
  const auto workspace = find_workspace(options.place);
  auto [made, is_journal_lost] = rebuild_database(workspace, options.force);
  if (is_journal_lost) take_in_folders(workspace, made);
  return print_answer(options.json, made, [&made = made] {
    for (const auto& text : made.at("notes")) tell("note: {}\n", text.get<std::string>());
    for (const auto& text : made.at("left_out")) tell("left out: {}\n", text.get<std::string>());
    put("{}: {}, {}, {}, from the logs\n", made.at("db").get<std::string>(),
        counted(made.at("runs").get<int>(), "run"),
        counted(made.at("evaluations").get<int>(), "finished evaluation"),
        counted(made.at("experiments").get<int>(), "experiment"));
    if (!made.at("kept").is_null()) put("the old file is {}\n", made.at("kept").get<std::string>());
  });
}

int check(const Options& options) {
  const auto checked = check_database(find_workspace(options.place), true);
  const auto& findings = checked.at("findings");
  const auto print_words = [&] {
    for (const auto& note : checked.at("notes")) tell("note: {}\n", note.get<std::string>());
    for (const auto& finding : findings) put("{}\n", finding.get<std::string>());
    const auto db = checked.at("db").get<std::string>();
    if (findings.empty()) {
      const bool compared = checked.at("rows_compared");
      return put("{}: sound (schema version {}): file, foreign keys, evaluations, images{}\n", db,
                 checked.at("version").get<int>(), compared ? ", every row as in the logs" : "");
    }
    tell("{}: {}{}\n", db, counted(std::ssize(findings), "finding"),
         checked.at("hint").is_null() ? std::string() : "; " + checked.at("hint").get<std::string>());
  };
  return print_answer(options.json, checked, print_words, findings.empty() ? 0 : 1);
}

Command make_rebuild() {
  auto o = std::make_shared<Options>();
  Command command{"rebuild", "Rebuild the database from the journal and the event logs", R"(
The new database replaces the old one in one step; the old file is kept as results.sqlite.bak-N. A journal that is
missing or damaged is restored from its copy, journal.log.copy, first. Nothing is replaced if a log is gone or
damaged, unless --force is given. Without journal and copy, --force takes the run folders in by their event logs;
the experiments are lost.
Examples:
  harness db rebuild
  harness db rebuild --out /data/runs --db /scratch/results.sqlite)"};
  add_workspace_options(command, o->place);
  add_json_option(command, o->json);
  command.add("--force", &o->force, "leave out records that the logs no longer hold");
  command.run = [o] { return rebuild(*o); };
  return command;
}

Command make_check() {
  auto o = std::make_shared<Options>();
  Command command{"check", "Check the file and compare every row with the logs", R"(
Checks the file (SQLite's integrity check), foreign keys, the schema's version, finished evaluations for
missing rows, every row of this workspace against journal and event logs, the folders beside it, and the images
of its runs against their checksums (half a second for 1000 images of 512 pixels). Only reads. Findings go to
standard output, what mends them to standard error. Exit status 1 on a finding.
Examples:
  harness db check
  harness db check --out runs --json)"};
  add_workspace_options(command, o->place);
  return with_json(std::move(command), o, check);
}

Command make_db() {
  Command command{"db", "Check the results database, or rebuild it from the logs", R"(
The database is made from the journal of a workspace and the event logs in its run folders. Deleting it loses
nothing: the next reproduce rebuilds it.
Examples:
  harness db check
  harness db rebuild --out runs)"};
  command.commands = {make_rebuild(), make_check()};
  return command;
}

const bool kRegistered = register_command(CommandGroup::kManage, 40, make_db);

}  // namespace
}  // namespace harness

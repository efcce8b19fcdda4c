#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/batch/batch.h"
#include "harness/commands/command.h"
#include "harness/plan/registry.h"
#include "harness/runs/adoption.h"
#include "harness/runs/agreement.h"
#include "harness/runs/cancellation.h"
#include "harness/runs/rebuild.h"
#include "harness/runs/removal.h"
#include "harness/runs/trash.h"
#include "harness/show/run_report.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

struct Options {
  WorkspaceChoice place;
  std::string id;
  std::vector<std::string> ids;
  bool yes = false, force = false, dry_run = false, json = false;
};

int show(const Options& options) {
  const auto workspace = find_workspace(options.place);
  Store store(workspace.db, OpenMode::kReadOnly);
  const auto run = find_run(store, options.id);
  const auto report = run_report(store, run, live_state(store, run, run_states(workspace)));
  return print_answer(options.json, report, [&] { print_run_report(report); });
}

/// A workspace's DB, open for a command that changes runs.
struct OpenWorkspace {
  Workspace workspace;
  WorkspaceLock lock;
  Store store;

  explicit OpenWorkspace(const Workspace& chosen)
      : workspace(chosen),
        lock(chosen),
        store(open_workspace(chosen, [](const std::string& text) { tell("{}\n", text); })) {
    for (const auto& folder : clear_leftovers(store, workspace))
      tell("removed {}, left over from an interrupted removal\n", folder);
  }
};

std::vector<Removal> removals_allowed(Store& store, const Workspace& workspace, const Options& options) {
  auto removals = find_removals(store, workspace, options.ids);
  for (const auto& removal : removals) require_removable(removal, workspace, options.force);
  return removals;
}

/// Before anything is made: refuses what is no results DB, none at all, or not this workspace's, and what
/// `allowed` refuses. A journal makes a DB, or brings an old one up to date: open_workspace.
void require_known(const Workspace& chosen, const std::function<void(Store&)>& allowed) {
  const bool has_journal = std::filesystem::exists(chosen.journal());
  std::optional<Store> known;
  try {
    known.emplace(chosen.db, OpenMode::kReadOnly);
  } catch (const Error&) {
    if (!has_journal) throw;
    return;
  }
  const auto standing = known->standing(chosen.folder, read_journal(chosen.journal()));
  if (standing.kind == JournalStanding::kOther) throw other_journal_error(chosen.db, chosen.folder, standing);
  allowed(*known);
}

/// The answer of a command that changed runs: `lines`, or `document` for --json. Where it cannot be written,
/// standard error gets the lines before the error: what was done must be known.
void answer(const Options& options, const Json& document, const std::vector<std::string>& lines) {
  if (options.json) print_json(document);
  for (const auto& line : lines) {
    if (!options.json) put("{}\n", line);
  }
  try {
    finish_output();
  } catch (const Error&) {
    for (const auto& line : lines) tell("{}\n", line);
    throw;
  }
}

/// What became of a run, and whether it can be brought back.
std::string removed_text(const Removal& removal, const std::optional<std::string>& entry,
                         const Workspace& workspace) {
  const auto& lost = removal.lost_logs;
  if (!entry) return fmt::format("removed run {}, whose folder was gone", removal.text());
  const auto restore = fmt::format("`harness runs restore {}{}`", *entry, workspace.options);
  if (lost.empty()) return fmt::format("removed run {}; {} brings it back", removal.text(), restore);
  return fmt::format("removed run {}; {} needs {} back in the trash first, which {} gone", removal.text(),
                     restore, join(lost, ", "), lost.size() == 1 ? "is" : "are");
}

/// "removed experiment 1 (table sd35-ocr, scale smoke), which used it"
std::string removed_text(const Json& experiment) {
  return fmt::format("removed experiment {} (table {}, scale {}), which used it",
                     experiment.at("experiment").get<int>(), experiment.at("table").get<std::string>(),
                     experiment.at("scale").get<std::string>());
}

int remove(const Options& options) {
  const auto chosen = find_workspace(options.place);
  require_known(chosen, [&](Store& known) { removals_allowed(known, chosen, options); });
  OpenWorkspace open(chosen);
  const auto& workspace = open.workspace;
  const auto removals = removals_allowed(open.store, workspace, options);
  if (!options.yes && !is_removal_agreed(removals, "harness runs rm")) return 1;
  Json removed = Json::array();
  std::vector<std::string> lines;
  bool kept = false;
  for (const auto& removal : removals) {
    const auto entry = remove_run(open.store, workspace, removal, "runs rm");
    const auto place = entry ? Json((workspace.trash_folder() / *entry).string()) : Json();
    removed.push_back({{"name", removal.id},
                       {"folder", removal.folder.string()},
                       {"trash", place},
                       {"lost_logs", removal.lost_logs},
                       {"experiments", removal.experiments}});
    kept = kept || entry;
    lines.push_back(removed_text(removal, entry, workspace));
    for (const auto& experiment : removal.experiments) {
      auto line = removed_text(experiment);
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    }
  }
  answer(options, {{"removed", removed}}, lines);
  if (kept && !options.json) {
    tell("folders are kept in {} until `harness runs prune{}`\n", workspace.trash_folder().string(),
         workspace.options);
  }
  return 0;
}

int adopt(const Options& options) {
  const auto chosen = find_workspace(options.place);
  require_own_database(chosen.db);
  if (!std::filesystem::is_directory(chosen.folder))
    throw Error("there is no workspace", chosen.folder.string(), "name the folder with --out");
  try_adoption(chosen, options.ids);
  OpenWorkspace open(chosen);
  const auto adopted = adopt_runs(open.store, open.workspace, options.ids);
  std::vector<std::string> lines;
  for (const auto& run : adopted) {
    const auto left = run.at("left_to_reproduce").get<int>();
    lines.push_back(fmt::format(
        "adopted run {} ({}, seed {}) with {}{}", run.at("name").get<std::string>(),
        run.at("method").get<std::string>(), run.at("seed").get<std::int64_t>(),
        counted(run.at("evaluations").get<int>(), "evaluation"),
        left == 0 ? "" : fmt::format("; {} on the test split left to `harness reproduce`", left)));
  }
  answer(options, {{"adopted", adopted}}, lines);
  if (!options.json)
    tell("repeat the reproduce command to see them in its table: what is there is not run again\n");
  return 0;
}

int restore(const Options& options) {
  const auto chosen = find_workspace(options.place);
  require_known(chosen, [](Store&) {});
  OpenWorkspace open(chosen);
  const auto done = restore_runs(open.store, open.workspace, options.ids);
  std::vector<std::string> lines;
  for (const auto& run : done.at("restored")) {
    const auto name = run.at("name").get<std::string>();
    lines.push_back(fmt::format(
        "restored run {} to {}{}", name, run.at("folder").get<std::string>(),
        run.at("rows").get<bool>() ? ""
                                   : fmt::format(", which had no rows: `harness runs adopt {}{}` takes it in",
                                                 name, open.workspace.options)));
  }
  for (const auto& id : done.at("experiments"))
    lines.push_back(fmt::format("restored experiment {}", id.get<int>()));
  answer(options, done, lines);
  if (options.json) return 0;
  for (const auto& id : done.at("waiting"))
    tell("note: experiment {} comes back once its other runs are restored\n", id.get<int>());
  return 0;
}

/// Bytes of the files below.
std::uintmax_t size_on_disk(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_regular_file(error) && !at->is_symlink(error)) bytes += at->file_size(error);
  }
  return bytes;
}

Json contents_of(const std::vector<TrashEntry>& entries) {
  Json list = Json::array();
  for (const auto& entry : entries) {
    list.push_back({{"name", entry.name},
                    {"run", entry.label},
                    {"removed", entry.removed},
                    {"by", entry.by},
                    {"from", entry.from},
                    {"bytes", size_on_disk(entry.folder)}});
  }
  return list;
}

void print_contents(const Json& contents) {
  std::vector<Json> rows;
  for (const auto& entry : contents) {
    rows.push_back(entry);
    rows.back()["size"] = size_text(entry.at("bytes").get<double>());
  }
  print_rows(rows, {"name", "run", "removed", "by", "size", "from"}, {{"name", {.heading = "id"}}});
}

int cancel(const Options& options) {
  const auto workspace = find_workspace(options.place);
  std::vector<std::string> runs;
  if (!options.ids.empty()) {
    Store store(workspace.db, OpenMode::kReadOnly);
    for (const auto& id : options.ids) runs.push_back(find_run(store, id).id);
  }
  const auto worker = runs.empty() ? WorkspaceLock::holder(workspace) : std::nullopt;
  const auto cancelled = cancel_jobs(workspace, runs);
  Json list = Json::array();
  for (const auto& job : cancelled) {
    list.push_back({{"job", job.job},
                    {"name", job.name},
                    {"folder", job.folder.string()},
                    {"was", job.was_waiting ? "queued" : "running"}});
  }
  return print_answer(options.json, {{"cancelled", list}}, [&] {
    if (worker) put("the command that works here ({}) is told to save and end\n", *worker);
    if (list.empty() && !worker)
      put("{} has no job of {}\n", batch_names(), runs.empty() ? "this workspace" : "these runs");
    for (const auto& job : cancelled) {
      put("job {} ({}): {}\n", job.job, job.folder.string(),
          job.was_waiting ? "taken out of the queue" : "told to save and end");
    }
  });
}

int prune(const Options& options) {
  const auto workspace = find_workspace(options.place);
  if (!std::filesystem::is_directory(workspace.folder))
    throw Error("there is no workspace", workspace.folder.string(), "name the folder with --out");
  const auto entries = trash_of(workspace);
  const auto contents = contents_of(entries);
  double bytes = 0;
  for (const auto& entry : contents) bytes += entry.at("bytes").get<double>();
  const bool nothing = entries.empty() && !std::filesystem::exists(workspace.trash_folder());
  if (!options.json && !entries.empty()) print_contents(contents);
  const auto size = fmt::format("{} in {}", size_text(bytes), counted(std::ssize(entries), "run"));
  if (!options.dry_run && !nothing) {
    const WorkspaceLock lock(workspace);
    if (!options.yes && !is_agreed("harness runs prune", fmt::format("Delete {} for good?", size))) {
      tell("nothing was deleted\n");
      return 1;
    }
    empty_trash(workspace);
  }
  if (options.json) {
    print_json({{"pruned", contents}, {"bytes", bytes}, {"dry_run", options.dry_run}});
  } else if (entries.empty()) {
    put("nothing to prune\n");
  } else {
    put("{} {}\n", options.dry_run ? "would free" : "freed", size);
  }
  return 0;
}

Command make_show() {
  auto o = std::make_shared<Options>();
  Command command{"show", "Show a run: settings, times, machine, disk, metrics", R"(
Examples:
  harness runs show 0562654bf1b14d57
  harness runs show 0562 --out runs --json)"};
  command.add("id", &o->id, "id of the run, or its first digits",
              {.required = true, .offers = [&place = o->place] { return run_ids(place); }});
  add_workspace_options(command, o->place);
  return with_json(std::move(command), o, show);
}

Command make_rm() {
  auto o = std::make_shared<Options>();
  Command command{"rm", "Remove runs; their folders go to the trash", R"(
Asks first, unless --yes is given. A run that a finished experiment rests on needs --force, which removes the
experiment too; so does a run whose event logs are gone, which cannot be restored. A run that a process is
working on, or that another workspace records, is never removed.

Folders go to OUT/.trash: `harness runs restore` brings runs and experiments back, `harness runs prune` deletes
them for good. After an interruption, repeat the command.
Examples:
  harness runs rm 0562654b
  harness runs rm 0562654b 72ddc025 --force --yes)"};
  command.add("id", &o->ids, "ids of runs, or their first digits",
              {.required = true, .offers = [&place = o->place] { return run_ids(place); }});
  add_workspace_options(command, o->place);
  add_json_option(command, o->json);
  command.add("--yes", &o->yes, "do not ask");
  command.add("--force", &o->force, "remove also what experiments use, or cannot be restored");
  command.run = [o] { return remove(*o); };
  return command;
}

Command make_restore() {
  auto o = std::make_shared<Options>();
  Command command{"restore", "Restore removed runs from the trash, with their rows", R"(
The folder goes back to its place; the rows are rebuilt from the record of the removal and the run's event
logs. An experiment that went with a run comes back once all of its runs are there. `harness runs prune
--dry-run` lists the trash.
Examples:
  harness runs restore 0562654b
  harness runs restore 0562654bf1b14d57.2         # the second one of a run that was removed twice)"};
  command.add("id", &o->ids, "ids of removed runs, or their first digits",
              {.required = true,
               .offers = [&place = o->place] { return names_of(trash_of(find_workspace(place))); }});
  add_workspace_options(command, o->place);
  return with_json(std::move(command), o, restore);
}

Command make_adopt() {
  auto o = std::make_shared<Options>();
  Command command{"adopt", "Adopt run folders that were copied from another workspace", R"(
Copy the run's whole folder into the workspace under its own name, then adopt it. Its id must be the hash of
what its job.json asks for, its training and evaluations finished, its logs, checkpoints and images whole; else
nothing changes, and the exit status is 1.

Adopted are the run, its training and its evaluations on the validation split (of the starting weights also on
the test split). A folder does not hold which table asked for the run, which settings were chosen by hand and
what was selected: repeat the reproduce command for these. It runs nothing again that the folder holds.
Examples:
  cp -r /mnt/other/runs/0562654bf1b14d57 runs/ && harness runs adopt 0562654bf1b14d57)"};
  command.add("id", &o->ids, "names of run folders in the workspace, or their first digits",
              {.required = true});
  add_workspace_options(command, o->place);
  return with_json(std::move(command), o, adopt);
}

Command make_cancel() {
  auto o = std::make_shared<Options>();
  Command command{"cancel",
                  fmt::format("End the jobs that {} has of a workspace, or of some runs", batch_names()),
                  fmt::format(R"(
Queued jobs are taken out of {}'s queue; running ones save and end. Without ids the job goes, too, with which
`reproduce --detach` goes on, and a command that works in the workspace, on whichever machine, saves and ends. Ended are the jobs that the folders of the workspace note, and no others. Repeat the
reproduce command to go on.
Examples:
  harness runs cancel
  harness runs cancel 0562654b --out /shared/runs)",
                              batch_names())};
  command.add("id", &o->ids, "ids of runs, or their first digits (default: all)",
              {.offers = [o] { return run_ids(o->place); }});
  add_workspace_options(command, o->place);
  return with_json(std::move(command), o, cancel);
}

Command make_prune() {
  auto o = std::make_shared<Options>();
  Command command{"prune", "Empty the trash: delete removed runs for good", R"(
Lists what `runs rm` and `reproduce --fresh` put into OUT/.trash, asks unless --yes is given, and deletes it.
Examples:
  harness runs prune --dry-run
  harness runs prune --yes)"};
  add_workspace_options(command, o->place);
  add_json_option(command, o->json);
  command.add("--yes", &o->yes, "do not ask");
  command.add("--dry-run", &o->dry_run, "list the trash, delete nothing");
  command.run = [o] { return prune(*o); };
  return command;
}

Command make_runs() {
  Command command{"runs", "Show, remove, restore, adopt or cancel a run", R"(
A run is one training of a method with a seed, or the starting weights. `harness list runs` shows the ids.
Examples:
  harness runs show 0562654b
  harness runs rm 0562654b
  harness runs restore 0562654b)"};
  command.commands = {make_show(), make_rm(), make_restore(), make_adopt(), make_cancel(), make_prune()};
  return command;
}

const bool kRegistered = register_command(CommandGroup::kManage, 20, make_runs);

}  // namespace
}  // namespace harness

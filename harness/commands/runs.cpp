#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/batch/batch.h"
#include "harness/commands/command.h"
#include "harness/plan/job_rows.h"
#include "harness/read/known_runs.h"
#include "harness/runs/cancellation.h"
#include "harness/runs/job_files.h"
#include "harness/runs/rebuild.h"
#include "harness/runs/removal.h"
#include "harness/runs/trash.h"
#include "harness/show/run_report.h"
#include "harness/show/run_status.h"
#include "harness/spec/registry.h"
#include "harness/terminal/output.h"
#include "harness/terminal/progress.h"

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

std::vector<Removal> removals_allowed(Store& store, const Workspace& workspace, const Options& options) {
  auto removals = find_removals(store, workspace, options.ids);
  for (const auto& removal : removals) require_removable(removal, workspace, options.force);
  return removals;
}

/// Before anything is made: refuses an invalid results DB, none at all, or not this workspace's, and what
/// must not be removed. A journal makes a DB, or brings an old one up to date: open_workspace.
void require_known(const Workspace& workspace, const Options& options) {
  const bool has_journal = std::filesystem::exists(workspace.journal());
  std::optional<Store> known;
  try {
    known.emplace(workspace.db, OpenMode::kReadOnly);
  } catch (const Error&) {
    if (!has_journal) throw;
    return;
  }
  const auto standing = known->standing(workspace.folder, read_journal(workspace.journal()));
  if (standing.is_foreign) throw *standing.refusal;
  removals_allowed(*known, workspace, options);
}

/// What became of a run, and whether it can be brought back.
std::string removed_text(const Removal& removal, const std::optional<std::filesystem::path>& place,
                         const Workspace& workspace) {
  const auto& lost = removal.lost_logs;
  if (!place) return fmt::format("removed run {}, whose folder was gone", removal.text());
  const auto import = fmt::format("`harness import {}{}`", shell_word(place->string()), workspace.options);
  if (lost.empty()) return fmt::format("removed run {}; {} brings it back", removal.text(), import);
  return fmt::format("removed run {}; {} needs {} back in the trash first, which {} gone", removal.text(),
                     import, join(lost, ", "), lost.size() == 1 ? "is" : "are");
}

int remove(const Options& options) {
  const auto workspace = find_workspace(options.place);
  require_known(workspace, options);
  const WorkspaceLock lock(workspace);
  auto store = open_workspace(workspace, [](const std::string& text) { tell("{}\n", text); });
  const auto removals = removals_allowed(store, workspace, options);
  if (!options.yes && !is_removal_agreed(removals, "harness runs rm")) return 1;
  Json removed = Json::array();
  std::vector<std::string> lines;
  bool kept = false;
  for (const auto& removal : removals) {
    const auto place = remove_run(store, workspace, removal);
    removed.push_back({{"name", removal.id},
                       {"folder", removal.folder.string()},
                       {"trash", place ? Json(place->string()) : Json()},
                       {"lost_logs", removal.lost_logs},
                       {"experiments", removal.experiments}});
    kept = kept || place;
    lines.push_back(removed_text(removal, place, workspace));
    for (const auto& e : removal.experiments) {
      auto line = fmt::format("removed experiment {} (table {}, scale {}), which used it", e.number, e.table,
                              e.scale);
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    }
  }
  if (options.json) print_json({{"removed", removed}});
  for (const auto& line : lines) {
    if (!options.json) put("{}\n", line);
  }
  try {
    finish_output();
  } catch (const Error&) {
    // What was done must be known.
    for (const auto& line : lines) tell("{}\n", line);
    throw;
  }
  if (kept && !options.json) {
    tell("folders are kept in {} until `harness runs prune{}`\n", workspace.trash_folder().string(),
         workspace.options);
  }
  return 0;
}

/// Bytes that deleting a folder frees: of the files below that have no second name elsewhere.
std::uintmax_t size_on_disk(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_regular_file(error) && !at->is_symlink(error) && at->hard_link_count(error) == 1)
      bytes += at->file_size(error);
  }
  return bytes;
}

/// "dual, seed 42": what the folder of a run is of.
std::string label_of(const std::filesystem::path& folder) {
  try {
    const auto run = run_row(read_job(folder, read_job_document(folder).at("id")));
    return fmt::format("{}, seed {}", run.method, run.seed);
  } catch (const Error&) {
    return "damaged";
  }
}

Json contents_of_trash(const Workspace& workspace) {
  Json list = Json::array();
  for (const auto& folder : trash_of(workspace)) {
    list.push_back(
        {{"name", folder.filename().string()}, {"run", label_of(folder)}, {"bytes", size_on_disk(folder)}});
  }
  return list;
}

void print_contents(const Json& contents) {
  std::vector<Json> rows;
  for (const auto& entry : contents) {
    rows.push_back(entry);
    rows.back()["size"] = size_text(entry.at("bytes").get<double>());
  }
  print_rows(rows, {"name", "run", "size"}, {{"name", {.heading = "id"}}});
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
    if (worker) put("asked the running command ({}) to save and exit\n", *worker);
    if (list.empty() && !worker)
      put("{} has no job of {}\n", batch_names(), runs.empty() ? "this workspace" : "these runs");
    for (const auto& job : cancelled) {
      put("job {} ({}): {}\n", job.job, job.folder.string(),
          job.was_waiting ? "taken out of the queue" : "asked to save and exit");
    }
  });
}

int prune(const Options& options) {
  const auto workspace = find_workspace(options.place);
  if (!std::filesystem::is_directory(workspace.folder))
    throw Error("there is no workspace", workspace.folder.string(), "name the folder with --out");
  const auto contents = contents_of_trash(workspace);
  double bytes = 0;
  for (const auto& entry : contents) bytes += entry.at("bytes").get<double>();
  const bool nothing = !std::filesystem::exists(workspace.trash_folder());
  if (!options.json && !contents.empty()) print_contents(contents);
  const auto size = fmt::format("{} in {}", size_text(bytes), counted(std::ssize(contents), "run"));
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
  } else if (contents.empty()) {
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
Asks first, unless --yes is given. A run that a finished experiment uses needs --force, which removes the
experiment too; so does a run whose event logs are gone, which cannot be restored. A run that a process is
working on is never removed.

Folders go to OUT/.trash: `harness import OUT/.trash/ID` brings runs and their experiments back, `harness runs
prune` deletes them for good. After an interruption, repeat the command.
Examples:
  harness runs rm 0562654b
  harness runs rm 0562654b 72ddc025 --force --yes)"};
  command.add("id", &o->ids, "ids of runs, or their first digits",
              {.required = true, .offers = [&place = o->place] { return run_ids(place); }});
  add_workspace_options(command, o->place);
  add_json_option(command, o->json);
  command.add("--yes", &o->yes, "do not ask");
  command.add("--force", &o->force, "also remove runs that experiments use or that cannot be restored");
  command.run = [o] { return remove(*o); };
  return command;
}

Command make_cancel() {
  auto o = std::make_shared<Options>();
  Command command{"cancel", fmt::format("Cancel the {} jobs of a workspace or of some runs", batch_names()),
                  fmt::format(R"(
Queued jobs are taken out of {}'s queue; running jobs save and exit. Without ids this includes the job that
continues `reproduce --detach`, and a command that runs in the workspace, on any machine, saves and exits.
Only jobs that are noted in the workspace's folders are cancelled. Repeat the reproduce command to continue.
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
  Command command{"runs", "Show, remove or cancel a run", R"(
A run is one training of a method with a seed, or the base model. `harness list runs` shows the ids.
Examples:
  harness runs show 0562654b
  harness runs rm 0562654b)"};
  command.commands = {make_show(), make_rm(), make_cancel(), make_prune()};
  return command;
}

const bool kRegistered = register_command(CommandGroup::kManage, 20, make_runs);

}  // namespace
}  // namespace harness

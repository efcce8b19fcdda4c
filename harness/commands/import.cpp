#include "harness/archive/import.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

struct ImportOptions {
  WorkspaceChoice place;
  std::vector<std::string> places;
  bool json = false;
};

/// "3 new runs, images of 12 runs": what was added.
std::string parts_added(const Taken& taken) {
  std::map<std::string, std::int64_t> counts;
  for (const auto& run : taken.runs) {
    for (const auto& part : run.added) ++counts[part];
  }
  std::vector<std::string> parts;
  for (const auto& [part, count] : counts)
    parts.push_back(part == "run" ? counted(count, "new run")
                                  : fmt::format("{} of {}", part, counted(count, "run")));
  return parts.empty() ? "no run was new" : join(parts, ", ");
}

/// {"workspace", "sources": [{"place", "kind", "runs", "experiments", "left_out"}], "experiments": [{"was",
/// "number", "table", "already_here"}], "runs": [{"name", "added"}], "notes": [text]}
void add_to(Json& document, const std::string& place, const Imported& imported) {
  document["sources"].push_back({{"place", place},
                                 {"kind", kind_of(place).name},
                                 {"runs", imported.runs},
                                 {"experiments", imported.experiments},
                                 {"left_out", imported.left_out}});
  for (const auto& e : imported.taken.experiments) {
    document["experiments"].push_back(
        {{"was", e.was}, {"number", e.number}, {"table", e.table_id}, {"already_here", e.is_known}});
  }
  for (const auto& run : imported.taken.runs)
    document["runs"].push_back({{"name", run.id}, {"added", run.added}});
  for (const auto& note : imported.taken.notes) document["notes"].push_back(note);
}

void print_imported(const std::string& place, const Imported& imported, const Workspace& workspace) {
  const auto& taken = imported.taken;
  const auto& folder = workspace.folder.string();
  put("{}: {}, {}; {}\n", place, counted(imported.runs, "run"), counted(imported.experiments, "experiment"),
      parts_added(taken));
  bool has_new = false;
  for (const auto& e : taken.experiments) {
    if (e.is_known) {
      put("experiment {} ({}) is already in {}\n", e.number, e.table_id, folder);
      continue;
    }
    has_new = true;
    put("experiment {} ({}){} is in {}: `harness table {} --experiment {}{}`\n", e.number, e.table_id,
        e.was == e.number ? "" : fmt::format(", which was {} there,", e.was), folder, e.table_id, e.number,
        workspace.options);
  }
  if (has_new && !imported.left_out.empty())
    tell("note: the archive was made without {}\n", join(imported.left_out, " and "));
}

int import(const ImportOptions& o) {
  const auto workspace = find_workspace(o.place);
  for (const auto& place : o.places) kind_of(place);
  Json document = {{"workspace", workspace.folder.string()}};
  for (const auto* list : {"sources", "experiments", "runs", "notes"}) document[list] = Json::array();
  for (const auto& place : o.places) {
    const auto imported = import_place(workspace, place);
    for (const auto& note : imported.taken.notes) tell("note: {}\n", note);
    add_to(document, place, imported);
    if (!o.json) print_imported(place, imported, workspace);
  }
  if (o.json) print_json(document);
  return 0;
}

Command make_import() {
  auto o = std::make_shared<ImportOptions>();
  Command command{"import", "Take in an exported experiment, a run's folder or a workspace", R"(
The one way into a workspace. Places are only read, one after the other; each comes in whole or not at all. Everything is
copied or unpacked beside the workspace's own files and checked before anything is moved in: checksums, ids, event logs, and
that records and logs make the experiments. What is damaged, changed or hostile changes nothing, and is named.

An experiment whose number is taken gets the next one. A run that is here already must have the same results; images and
checkpoints that it lacks are added. Importing the same again changes nothing.

A run that `harness runs rm` removed comes back from OUT/.trash with what the workspace had recorded of it; experiments that
went with it come back once all of their runs are there. The folder of any other run must be finished and whole. It does not
tell which table asked for it, which settings were chosen by hand and what was selected: repeat the reproduce command for
these. It runs nothing again that the folder holds.
Examples:
  harness import sd35-ocr.tar.zst
  harness import sd35-ocr.tar.zst --out /data/runs && harness check sd35-ocr --out /data/runs
  harness import runs/.trash/0562654bf1b14d57 /mnt/other/runs/72ddc025a1b94c3e
  harness import /mnt/node1/runs /mnt/node2/runs --out /data/all --json)"};
  command.add("place", &o->places, "archives of `harness export`, folders of runs, or workspaces",
              {.required = true, .is_path = true});
  add_workspace_options(command, o->place, "workspace to fill, which may be new");
  return with_json(std::move(command), o, import);
}

const bool kRegistered = register_command(CommandGroup::kManage, 44, make_import);

}  // namespace
}  // namespace harness

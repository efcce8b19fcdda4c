#include "harness/archive/import.h"

#include <fmt/format.h>

#include <memory>

#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/commands/taken.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

struct ImportOptions {
  WorkspaceChoice place;
  std::string file;
  bool json = false;
};

int import(const ImportOptions& o) {
  const auto workspace = find_workspace(o.place);
  const auto imported = import_archive(workspace, o.file);
  const auto& experiment = imported.taken.experiments.front();
  const auto left_out = imported.manifest.left_out();
  auto document = taken_json(imported.taken);
  document.update({{"archive", o.file},
                   {"workspace", workspace.folder.string()},
                   {"experiment", experiment.number},
                   {"table", experiment.table_id},
                   {"already_here", experiment.is_known},
                   {"left_out", left_out}});
  tell_notes(imported.taken);
  return print_answer(o.json, document, [&] {
    const auto name = fmt::format("experiment {} ({})", experiment.number, experiment.table_id);
    if (experiment.is_known) {
      put("{} is already in {}{}\n", name, workspace.folder.string(),
          imported.taken.runs.empty() ? "" : ", and got " + parts_added(imported.taken));
    } else {
      put("{} is in {}, with {}\n", name, workspace.folder.string(),
          counted(std::ssize(imported.manifest.runs), "run"));
      put("see it: `harness table {} --experiment {}{}`\n", experiment.table_id, experiment.number,
          workspace.options);
    }
    if (!experiment.is_known && !left_out.empty())
      tell("note: the archive was made without {}\n", join(left_out, " and "));
  });
}

Command make_import() {
  auto o = std::make_shared<ImportOptions>();
  Command command{"import", "Take an exported experiment into a workspace", R"(
Everything is unpacked beside the workspace's own files and checked before anything is moved in: checksums, ids, event logs,
and that records and logs make the experiment. A file that is damaged, changed or hostile changes nothing, and is named.

The experiment gets the next number if its own is taken. A run that is here already must have the same event logs;
images and checkpoints that it lacks are added. Importing the same archive again changes nothing.
Examples:
  harness import sd35-ocr.tar.zst
  harness import sd35-ocr.tar.zst --out /data/runs && harness check sd35-ocr --out /data/runs)"};
  command.add("file", &o->file, "archive that `harness export` made", {.required = true, .is_path = true});
  command.add("-o,--out", &o->place.out, "workspace, which may be new",
              {.default_text = "runs", .is_path = true, .value = "DIR"});
  return with_json(std::move(command), o, import);
}

const bool kRegistered = register_command(CommandGroup::kManage, 44, make_import);

}  // namespace
}  // namespace harness

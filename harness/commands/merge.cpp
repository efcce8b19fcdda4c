#include "harness/archive/merge.h"

#include <fmt/format.h>

#include <memory>

#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/commands/taken.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

struct MergeOptions {
  WorkspaceChoice place;
  std::vector<std::string> sources;
  bool json = false;
};

int merge(const MergeOptions& o) {
  const auto workspace = find_workspace(o.place);
  std::vector<Workspace> sources;
  for (const auto& source : o.sources) sources.push_back(find_workspace({.out = source, .db = {}}));
  const auto merged = merge_workspaces(sources, workspace);
  auto document = taken_json(merged.taken);
  document["workspace"] = workspace.folder.string();
  document["sources"] = Json::array();
  for (const auto& source : merged.sources) {
    document["sources"].push_back(
        {{"folder", source.folder.string()}, {"runs", source.runs}, {"experiments", source.experiments}});
  }
  tell_notes(merged.taken);
  return print_answer(o.json, document, [&] {
    for (const auto& source : merged.sources) {
      put("{}: {}, {}\n", source.folder.string(), counted(source.runs, "run"),
          counted(source.experiments, "experiment"));
    }
    for (const auto& e : merged.taken.experiments) {
      put("experiment {} ({}){}\n", e.number, e.table_id,
          e.is_known          ? " was here already"
          : e.was == e.number ? ""
                              : fmt::format(", which was {} there", e.was));
    }
    put("{}: {}\n", workspace.folder.string(),
        merged.taken.runs.empty() ? "no run was new" : parts_added(merged.taken));
  });
}

Command make_merge() {
  auto o = std::make_shared<MergeOptions>();
  Command command{"merge", "Join workspaces into one", R"(
All runs and experiments of the sources come into one workspace, which may be new. The sources are only read; images and
checkpoints take no second place on the disk where the file system can do that. An experiment whose number is taken gets the
next one. A run that several have must have the same event logs everywhere, else nothing is changed and the file is named.
Examples:
  harness merge runs-a runs-b --out runs
  harness merge /mnt/node1/runs /mnt/node2/runs --out /data/all --json)"};
  command.add("source", &o->sources, "workspaces to read", {.required = true, .is_path = true});
  command.add("-o,--out", &o->place.out, "workspace to fill, which may be new",
              {.required = true, .is_path = true, .value = "DIR"});
  return with_json(std::move(command), o, merge);
}

const bool kRegistered = register_command(CommandGroup::kManage, 46, make_merge);

}  // namespace
}  // namespace harness

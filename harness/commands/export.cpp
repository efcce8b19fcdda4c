#include "harness/archive/export.h"

#include <fmt/format.h>

#include <memory>

#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/terminal/output.h"
#include "harness/terminal/progress.h"

namespace harness {
namespace {

struct ExportOptions {
  WorkspaceChoice place;
  std::string which, file;
  bool images = false, checkpoints = false, json = false;
};

/// The number that is given, or that of a table's last experiment.
std::int64_t chosen_number(const ExportOptions& o) {
  if (const auto number = whole_number(o.which)) return *number;
  Store store(find_workspace(o.place).db, OpenMode::kReadOnly);
  ExperimentFilter filter;
  filter.table = o.which;
  return find_experiment(store, filter).id;
}

int export_archive(const ExportOptions& o) {
  const auto experiment = chosen_number(o);
  const auto made = export_experiment(
      find_workspace(o.place),
      {.experiment = experiment, .file = o.file, .images = o.images, .checkpoints = o.checkpoints});
  const auto& manifest = made.manifest;
  for (const auto& note : made.notes) tell("note: {}\n", note);
  const Json document = {
      {"archive", o.file},     {"experiment", experiment},           {"table", manifest.table_id},
      {"runs", manifest.runs}, {"files", manifest.files.size() + 1}, {"bytes", made.bytes},
      {"sha256", made.sha256}, {"left_out", manifest.left_out()},    {"notes", made.notes}};
  return print_answer(o.json, document, [&] {
    put("{}: experiment {} ({}), {}, {}, {}\n", o.file, experiment, manifest.table_id,
        counted(std::ssize(manifest.runs), "run"), counted(std::ssize(manifest.files) + 1, "file"),
        size_text(static_cast<double>(made.bytes)));
    put("SHA-256 {}\n", made.sha256);
    for (const auto& part : manifest.left_out()) tell("note: without {0} (--{0})\n", part);
  });
}

Command make_export() {
  auto o = std::make_shared<ExportOptions>();
  Command command{"export", "Write an experiment into one file, to publish or import", R"(
The archive (.tar.zst) holds one experiment and all that its numbers rest on: records, event logs, prompts, tables and figures, a
database and checksums. Unpacked, it is a workspace. The same experiment gives the same bytes, wherever and whenever it is
exported.

Images and checkpoints are large and left out unless they are asked for: without images the tables, comparisons and
checks are the same, and pictures cannot be made; without checkpoints nothing can be drawn again.
Examples:
  harness export 1 -o sd35-ocr.tar.zst
  harness export 1 -o sd35-ocr.tar.zst --images --checkpoints --out /data/runs)"};
  command.add("id", &o->which,
              "number of the experiment (`harness list experiments`), or its table for the last one",
              {.required = true, .offers = [o = o.get()] { return experiment_numbers(o->place); }});
  command.add("-o,--output", &o->file, "file to write", {.required = true, .is_path = true, .value = "FILE"});
  command.add("--images", &o->images, "with the images");
  command.add("--checkpoints", &o->checkpoints, "with the checkpoints");
  add_place_options(command, o->place);
  return with_json(std::move(command), o, export_archive);
}

const bool kRegistered = register_command(CommandGroup::kManage, 42, make_export);

}  // namespace
}  // namespace harness

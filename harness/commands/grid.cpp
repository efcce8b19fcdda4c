#include "results/grid/grid.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "core/error.h"
#include "harness/commands/command.h"
#include "harness/show/grid_model.h"
#include "harness/terminal/seeds.h"

namespace harness {
namespace {

struct GridOptions {
  DbOptions db;
  std::vector<std::string> pick;
  std::optional<std::size_t> rows;
  std::string out, width = "double", names;
  bool bare = false, json = false;
};

int grid(const GridOptions& options) {
  GridChoice choice{.groups = {}, .rows = options.rows};
  for (const auto& name : comma_list(options.pick, "--pick"))
    choice.groups.push_back(grid_group_from_name(name));
  if (options.rows) require_range(static_cast<std::int64_t>(*options.rows), 1, 200, "-n");
  Store store(find_workspace(options.db.place).db, OpenMode::kReadOnly);
  const auto chosen = chosen_experiments(store, options.db);
  GridFiles files{.stem = options.out.empty() ? grid_stem(choice) : "grid",
                  .width = figure_width(options.width),
                  .bare = options.bare};
  if (!options.names.empty()) files.names = read_display_names(options.names);
  const bool is_usual = options.width == GridOptions().width && options.names.empty() && !options.bare;
  return write_for_each(chosen, options.json, [&](const Experiment& experiment) {
    if (experiment.is_training()) {
      throw Error(
          fmt::format("table {} is one of training statistics and has no test images", experiment.table_id),
          "harness grid", "see `harness figure --list` for its figures");
    }
    const auto place = picture_place(store, chosen, experiment, options.out, files.stem, is_usual);
    return write_grid(make_grid(store, experiment, choice), place, files);
  });
}

Command make_grid_command() {
  auto o = std::make_shared<GridOptions>();
  Command command{"grid", "Show images of the same prompts and noise, one column per method", R"(
Rows are chosen by rule: wins, losses and near-ties of the last method against the baseline, mixed: prompts where methods differ
otherwise, failures of all methods; paper: the prompts at the printed indices of the paper's own gallery.
grid.pdf is for papers: real text, embedded images; grid-float.tex takes it in, with caption and signature.
If an image is not the one that was scored, nothing is written (exit status 1).
Examples:
  harness grid sd35-ocr
  harness grid sd35-ocr --pick wins,failures -n 12 -o figures
  harness grid sd35-ocr --pick paper)"};
  add_table_argument(command, o->db);
  command.add("--pick", &o->pick,
              "groups of rows: wins, mixed, near-ties, losses, failures, paper (default: the table's)",
              {.by_comma = true, .offers = grid_group_names});
  command.add("--width", &o->width, "width of the PDF: single or double (columns of a page), or centimetres",
              {.offers = choices({"single", "double"}), .value = "WIDTH"});
  command.add("--bare", &o->bare,
              "also the PNG as for a paper: no title, caption and signature, names as in the PDF");
  command.add("--names", &o->names,
              "JSON file with display names of methods in the PDF: {\"dual\": \"Ours\"}", kFile);
  command.add("-n", &o->rows, "rows in all (default: the table's; of --pick paper alone, all)");
  command.add(
      "-o,--output", &o->out,
      "folder to write grid.{png,pdf,html} and grid-float.tex to (default: the experiment's, in the workspace, where the table's own "
      "grid stays: another choice of rows is named after it, grid-paper.png, another width, --names or --bare goes to own/)",
      kFolder);
  add_place_options(command, o->db.place);
  add_filter_options(command, o->db, true);
  return with_json(std::move(command), o, grid);
}

const bool kRegistered = register_command(CommandGroup::kLook, 40, make_grid_command);

}  // namespace
}  // namespace harness

#include "results/grid.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "core/error.h"
#include "harness/comma_list.h"
#include "harness/commands/commands.h"
#include "harness/commands/db_options.h"
#include "harness/grid_model.h"
#include "harness/output.h"
#include "harness/training_table.h"

namespace harness {
namespace {

struct GridOptions {
  DbOptions db;
  std::vector<std::string> pick;
  std::optional<std::size_t> rows;
  std::string out;
  bool json = false;
};

int grid(const GridOptions& options) {
  GridChoice choice{.groups = {}, .rows = options.rows};
  for (const auto& name : comma_list(options.pick, "--pick"))
    choice.groups.push_back(grid_group_from_name(name));
  if (options.rows && (*options.rows < 1 || *options.rows > 200)) throw Error("must be 1 to 200", "-n");
  Store store(database_of(options.db), OpenMode::kReadOnly);
  const auto reproduction = chosen_reproduction(store, options.db);
  if (is_training_table(reproduction)) {
    throw Error(
        fmt::format("table {} is one of training statistics and has no test images", reproduction.table_id),
        "harness grid", "see `harness figure --list` for its figures");
  }
  const auto folder = output_folder(store, reproduction, options.out);
  const auto stem = options.out.empty() ? grid_stem(choice) : "grid";
  print_artifacts(reproduction, write_grid(make_grid(store, reproduction, choice), folder, stem),
                  options.json);
  return 0;
}

}  // namespace

void add_grid_command(CLI::App& app, Actions& actions) {
  auto* command = app.add_subcommand("grid", "Images of the same prompts and noise, one column a method");
  command->footer(R"(
Rows are chosen by rule: wins, losses and near-ties of the last method against the baseline, mixed: prompts where methods differ
otherwise, failures of all methods; paper: the prompts at the printed indices of the paper's own gallery.
A picture that is not the one that was scored is an error (exit status 1), and nothing is written.
Examples:
  harness grid sd35-ocr
  harness grid sd35-ocr --pick wins,failures -n 12 -o figures
  harness grid sd35-ocr --pick paper)");
  auto o = std::make_shared<GridOptions>();
  command->add_option("id", o->db.filter.table, "table; unset: that of the last completed reproduce");
  command
      ->add_option(
          "--pick", o->pick,
          "groups of rows, by comma: wins, mixed, near-ties, losses, failures, paper; unset: the table's")
      ->delimiter(',');
  command->add_option("-n", o->rows,
                      "rows in all; unset: the table's, or of the paper's gallery alone all of it");
  command->add_option(
      "-o,--output", o->out,
      "folder to write grid.{png,tex,html} to; unset: the table's folder beside the DB, where a grid of your "
      "own choice is called after it (grid-paper.png)");
  add_db_option(*command, o->db);
  add_filter_options(*command, o->db, false);
  command->add_flag("--json", o->json, "one JSON document on standard output");
  actions[command] = [o] { return grid(*o); };
}

}  // namespace harness

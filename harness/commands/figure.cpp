#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "core/error.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/plan/registry.h"
#include "harness/show/figures.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

struct FigureOptions {
  DbOptions db;
  std::string name, method, out;
  bool list = false, json = false;
};

int figure(const FigureOptions& options) {
  if (options.list) return print_list(options.json, figure_rows(), {"name", "summary"});
  const auto known = names_of(known_figures());
  if (options.name.empty())
    throw Error("needs a figure's name", "harness figure", "known: " + join(known, ", "));
  require_choice(options.name, known, "figure", "harness figure");
  auto db = options.db;
  const auto info = std::ranges::find(known_figures(), options.name, &FigureInfo::name);
  if (db.filter.table.empty() && !db.filter.experiment) db.filter.table = info->table;
  Store store(find_workspace(db.place).db, OpenMode::kReadOnly);
  const auto chosen = chosen_experiments(store, db);
  std::map<std::string, std::string> paths;
  for (const auto& experiment : chosen.experiments) {
    const auto folder = output_folder(store, experiment, options.out, chosen.collection.has_value());
    const auto figure = make_figure(store, experiment, options.name, options.method);
    add_artifacts(chosen, experiment, write_figure(figure, folder), paths);
  }
  print_artifacts(chosen.name(), paths, options.json);
  return 0;
}

Command make_figure_command() {
  auto o = std::make_shared<FigureOptions>();
  Command command{"figure", "Draw a figure as SVG, PDF and PNG", R"(
Examples:
  harness figure --list
  harness figure law-audit-baseline
  harness figure law-audit --table sd35-ocr -o figures
  harness figure law-audit --table sd35-ocr --method ratio-norm)"};
  command.add("name", &o->name, "figure (`harness figure --list`)",
              {.offers = [] { return names_of(known_figures()); }});
  command.add("--list", &o->list, "list the figures");
  command.add("--method", &o->method, "law-audit: this method (default: the table's last)",
              {.offers = method_names});
  command.add("-o,--output", &o->out, "folder to write to (default: the table's, in the workspace)",
              {.is_path = true, .value = "DIR"});
  add_db_option(command, o->db);
  add_filter_options(command, o->db, true);
  return with_json(std::move(command), o, figure);
}

const bool kRegistered = register_command(CommandGroup::kLook, 50, make_figure_command);

}  // namespace
}  // namespace harness

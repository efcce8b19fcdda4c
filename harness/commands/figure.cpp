#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/command.h"
#include "harness/show/figures.h"
#include "harness/show/grid_model.h"
#include "harness/spec/registry.h"
#include "harness/terminal/output.h"
#include "harness/terminal/seeds.h"

namespace harness {
namespace {

struct FigureOptions {
  DbOptions db;
  std::string name, method, out, width = "double", names;
  std::vector<std::string> metrics;
  bool list = false, json = false, no_paper = false;
};

/// The figure or, as it is a picture, the grid, in the files that belong to it.
std::map<std::string, std::string> draw(Store& store, const Experiment& experiment,
                                        const FigureOptions& options, const DisplayNames& names,
                                        const PicturePlace& place) {
  const auto width = figure_width(options.width);
  if (options.name == "grid")
    return write_grid(make_grid(store, experiment, {}), place, {.width = width, .names = names});
  const auto figure = make_figure(store, experiment,
                                  {.name = options.name,
                                   .method = options.method,
                                   .metrics = comma_list(options.metrics, "--metric"),
                                   .names = names,
                                   .with_paper = !options.no_paper});
  constexpr double kPage = 23;  // centimetres of text on a page of A4 or letter
  if (const double tall = figure_drawing(figure, width).height / 72 * 2.54; tall > kPage)
    tell("note: {} is {:.0f} cm tall at this width and fits no page: choose --metric or a larger --width\n",
         options.name, tall);
  return place.written.empty() ? write_figure(figure, width, place.folder) : place.written;
}

int figure(const FigureOptions& options) {
  if (options.list) return print_list(options.json, figure_rows(), {"name", "needs", "summary"});
  const auto known = names_of(known_figures());
  if (options.name.empty())
    throw Error("needs a figure's name", "harness figure", "known: " + join(known, ", "));
  require_choice(options.name, known, "figure", "harness figure");
  const auto names = options.names.empty() ? DisplayNames() : read_display_names(options.names);
  auto db = options.db;
  const auto info = std::ranges::find(known_figures(), options.name, &FigureInfo::name);
  if (db.filter.table.empty() && !db.filter.experiment) db.filter.table = info->table;
  Store store(find_workspace(db.place).db, OpenMode::kReadOnly);
  const auto chosen = chosen_experiments(store, db);
  tell_unknown_names(names, options.names, chosen);
  const bool is_usual = options.width == FigureOptions().width && options.names.empty() &&
                        options.metrics.empty() && options.method.empty() && !options.no_paper;
  return write_for_each(chosen, options.json, [&](const Experiment& experiment) {
    const auto place = picture_place(store, chosen, experiment, options.out, options.name, is_usual);
    return draw(store, experiment, options, names, place);
  });
}

Command make_figure_command() {
  auto o = std::make_shared<FigureOptions>();
  Command command{"figure", "Draw a figure for a paper: PDF, SVG, PNG and a LaTeX float", R"(
NAME-float.tex is a float that compiles at once and can be \input; NAME.pdf and NAME.svg have real text, of the same
size at every width.
Examples:
  harness figure --list
  harness figure training --table sd35-ocr -o figures
  harness figure differences --metric ocr_reward,exact_match --width single
  harness figure law-audit --table sd35-ocr --method ratio-norm)"};
  command.add("name", &o->name, "figure (`harness figure --list`)",
              {.offers = [] { return names_of(known_figures()); }});
  command.add("--list", &o->list, "list the figures, and what each needs");
  command.add("--width", &o->width, "single or double (columns of a two-column page), or centimetres",
              {.offers = choices({"single", "double"}), .value = "WIDTH"});
  command.add("--metric", &o->metrics, "metrics of validation, differences and guardrails (default: all)",
              {.by_comma = true});
  command.add("--method", &o->method, "method of law-audit (default: the table's last)",
              {.offers = method_names});
  command.add("--no-paper", &o->no_paper, "differences: leave out the paper's printed ones");
  command.add("--names", &o->names,
              "JSON file with display names of methods and metrics: {\"dual\": \"Ours\"}", kFile);
  command.add(
      "-o,--output", &o->out,
      "folder to write to (default: the experiment's, in the workspace, where the figures of `reproduce` stay: "
      "one of your own choice goes to own/)",
      kFolder);
  add_place_options(command, o->db.place);
  add_filter_options(command, o->db, true);
  return with_json(std::move(command), o, figure);
}

const bool kRegistered = register_command(CommandGroup::kLook, 50, make_figure_command);

}  // namespace
}  // namespace harness

#include <fmt/format.h>

#include <memory>

#include "core/error.h"
#include "core/paths/shown_path.h"
#include "core/streams.h"
#include "harness/commands/command.h"
#include "harness/show/table_model.h"
#include "harness/spec/registry.h"
#include "harness/terminal/output.h"
#include "harness/terminal/seeds.h"

namespace harness {
namespace {

const std::vector<std::string> kWindows = {"updates", "epochs"};

struct Options {
  DbOptions db;
  std::string format = "md", window, names;
  TableShow show;
  bool json = false, per_seed = false, no_paper = false;
};

/// What was asked for, as far as the format can show it.
TableShow show_of(const Options& o, const TableFormat& format) {
  auto show = o.show;
  show.per_seed = o.per_seed;
  show.with_paper = !o.no_paper;
  show.columns = comma_list(show.columns, "--columns");
  show.parts = comma_list(show.parts, "--part");
  if (!o.names.empty()) show.names = read_display_names(o.names);
  if (!show.parts.empty() && !format.takes_parts)
    throw Error(fmt::format("format {} has no parts", format.name), "--part", "choose md, latex or html");
  if (show.parts == std::vector<std::string>{"leaderboard"} && !show.columns.empty())
    throw Error("the leaderboard is of one metric, which selects the checkpoints", "--columns",
                "leave it out, or add a part that has columns: --part leaderboard,results");
  if (format.name != "latex") {
    if (!show.label.empty()) throw Error("only LaTeX tables have labels", "--label", "choose --format latex");
    if (!o.names.empty()) throw Error("only LaTeX tables take names", "--names", "choose --format latex");
  }
  return show;
}

int table(const Options& o) {
  const auto& format = table_format(o.json ? "json" : o.format);
  const auto show = show_of(o, format);
  if (!o.window.empty()) require_choice(o.window, kWindows, "window", "--window");
  Store store(find_workspace(o.db.place).db, OpenMode::kReadOnly);
  const auto chosen = chosen_experiments(store, o.db);
  const auto& experiment = chosen.experiments.front();
  if (!o.window.empty() && !experiment.is_training()) {
    throw Error(fmt::format("table {} shows evaluations of checkpoints, which have no window of updates",
                            chosen.name()),
                "--window",
                "leave it out; it belongs to tables of training statistics such as tiny-sd3-zclip");
  }
  std::vector<TableModel> models;
  for (const auto& one : chosen.experiments)
    models.push_back(make_table_model(store, one, o.window, format.is_complete));
  auto model = chosen.collection
                   ? make_collection_model(*chosen.collection, chosen.experiments, std::move(models))
                   : std::move(models.front());
  choose(show, model);
  tell_unknown_names(show.names, o.names, chosen);
  for (auto& [name, path] : model.artifacts) path = shown_path(path);
  const auto text = format.render(model);
  format.is_read ? put_text(text) : put_exactly(text);
  return 0;
}

Command make_table() {
  auto o = std::make_shared<Options>();
  Command command{"table", "Print a finished table", R"(
Examples:
  harness table sd35-ocr
  harness table sd35-ocr --per-seed
  harness table sd35-ocr --format latex --part results --columns ocr_reward,exact_match \
      --no-paper > results.tex)"};
  add_table_argument(command, o->db);
  add_workspace_options(command, o->db.place);
  add_filter_options(command, o->db, true);
  const auto formats = names_of(table_formats());
  command.add("--format", &o->format,
              fmt::format("{} or {}", fmt::join(formats.begin(), formats.end() - 1, ", "), formats.back()),
              {.offers = choices(formats)});
  command.add("--window", &o->window,
              "training tables: average over the last \"updates\" (optimiser steps) or \"epochs\" "
              "(default: the table's)",
              {.offers = choices(kWindows)});
  command.add("--part", &o->show.parts,
              "only these parts: results, leaderboard, tags, differences, claims, guardrails",
              {.by_comma = true, .offers = table_parts});
  command.add("--columns", &o->show.columns, "only these metrics, in this order", {.by_comma = true});
  command.add("--per-seed", &o->per_seed, "a row per training run, not means over runs");
  command.add("--no-paper", &o->no_paper, "leave out the paper's figures and claims");
  command.add("--names", &o->names,
              "LaTeX: JSON file with display names of methods and metrics: {\"dual\": \"Ours\"}", kFile);
  command.add("--label", &o->show.label, "LaTeX: label of the first float");
  command.add("--json", &o->json, "same as --format json", {.excludes = {"--format"}});
  command.run = [o] { return table(*o); };
  return command;
}

const bool kRegistered = register_command(CommandGroup::kLook, 10, make_table);

}  // namespace
}  // namespace harness

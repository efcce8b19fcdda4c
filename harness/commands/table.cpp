#include <fmt/format.h>

#include <memory>

#include "core/error.h"
#include "core/streams.h"
#include "harness/commands/command.h"
#include "harness/plan/registry.h"
#include "harness/show/artifacts.h"
#include "harness/show/table_model.h"
#include "harness/show/training_table.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

const std::vector<std::string> kWindows = {"updates", "epochs"};

struct Options {
  DbOptions db;
  std::string format = "md", window;
  bool json = false;
};

int table(const Options& o) {
  const auto& format = table_format(o.json ? "json" : o.format);
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
  for (const auto& one : chosen.experiments) models.push_back(make_table_model(store, one, o.window));
  const auto text = format.render(
      chosen.collection ? make_collection_model(*chosen.collection, chosen.experiments, std::move(models))
                        : models.front());
  format.is_read ? put_text(text) : put_exactly(text);
  return 0;
}

Command make_table() {
  auto o = std::make_shared<Options>();
  Command command{"table", "Show a finished table; nothing is run again", R"(
Examples:
  harness table sd35-ocr
  harness table sd35-ocr --format latex > table.tex)"};
  add_table_argument(command, o->db);
  add_workspace_options(command, o->db.place);
  add_filter_options(command, o->db, false);
  const auto formats = names_of(table_formats());
  command.add("--format", &o->format,
              fmt::format("{} or {}", fmt::join(formats.begin(), formats.end() - 1, ", "), formats.back()),
              {.offers = choices(formats)});
  command.add("--window", &o->window,
              "training tables: average over the last \"updates\" (optimiser steps) or \"epochs\" "
              "(default: the table's)",
              {.offers = choices(kWindows)});
  command.add("--json", &o->json, "same as --format json");
  command.run = [o] { return table(*o); };
  return command;
}

const bool kRegistered = register_command(CommandGroup::kLook, 10, make_table);

}  // namespace
}  // namespace harness

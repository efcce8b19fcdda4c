#include <fmt/format.h>

#include <memory>

#include "core/error.h"
#include "core/streams.h"
#include "harness/artifacts.h"
#include "harness/commands/commands.h"
#include "harness/commands/db_options.h"
#include "harness/output.h"
#include "harness/training_table.h"

namespace harness {

void add_table_command(CLI::App& app, Actions& actions) {
  struct Options {
    DbOptions db;
    std::string format = "md", window;
    bool json = false;
  };
  auto* command = app.add_subcommand("table", "A table from the results DB; nothing is run again");
  command->footer(R"(
Examples:
  harness table sd35-ocr
  harness table sd35-ocr --format latex > table.tex)");
  auto o = std::make_shared<Options>();
  command->add_option("id", o->db.filter.table, "table; unset: that of the last completed reproduce");
  add_workspace_options(*command, o->db.place);
  add_filter_options(*command, o->db, false);
  command->add_option("--format", o->format, "md, latex, csv, json or html")->capture_default_str();
  command->add_option("--window", o->window,
                      "training tables: average over the last \"updates\" (optimiser steps) or \"epochs\"; "
                      "unset: the table's own");
  command->add_flag("--json", o->json, "the same as --format json");
  actions[command] = [o] {
    const auto format = o->json ? std::string("json") : o->format;
    require_choice(format, {"md", "latex", "csv", "json", "html"}, "format", "--format");
    if (!o->window.empty()) require_choice(o->window, {"updates", "epochs"}, "window", "--window");
    Store store(database_of(o->db), OpenMode::kReadOnly);
    const auto reproduction = chosen_reproduction(store, o->db);
    if (!o->window.empty() && !is_training_table(reproduction)) {
      throw Error(fmt::format("table {} shows evaluations of checkpoints, which have no window of updates",
                              reproduction.table_id),
                  "--window",
                  "leave it out; it belongs to tables of training statistics such as tiny-sd3-zclip");
    }
    const auto text = render_table(make_table_model(store, reproduction, o->window), format);
    format == "md" || format == "json" ? put_text(text) : put_exactly(text);
    return 0;
  };
}

}  // namespace harness

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/reproductions.h"

namespace harness {

/// --db and the choice of a reproduction, shared by the commands that work from the DB alone.
struct DbOptions {
  std::string db = "runs/results.sqlite";
  ReproductionFilter filter;
  std::vector<std::string> seeds;  ///< as typed
};

/// Adds --db.
void add_db_option(CLI::App& command, DbOptions& options);

/// Adds --backbone, --scale, --prompts, --experiment and --seeds, and --table unless it is the command's own
/// argument.
void add_filter_options(CLI::App& command, DbOptions& options, bool with_table);

/// Opens the DB for reading and takes the last reproduction that fits; names it on standard error.
StoredReproduction chosen_reproduction(Store& store, const DbOptions& options);

}  // namespace harness

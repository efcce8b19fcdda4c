#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace harness {

/// What runs after the command line was parsed; gives the exit status.
using Actions = std::map<const CLI::App*, std::function<int()>>;

/// Adds every command of the program.
void add_commands(CLI::App& app, Actions& actions);

// One file a command.
void add_reproduce_command(CLI::App& app, Actions& actions);
void add_list_command(CLI::App& app, Actions& actions);
void add_query_command(CLI::App& app, Actions& actions);
void add_table_command(CLI::App& app, Actions& actions);
void add_compare_command(CLI::App& app, Actions& actions);
void add_grid_command(CLI::App& app, Actions& actions);
void add_datasets_command(CLI::App& app, Actions& actions);
void add_sample_command(CLI::App& app, Actions& actions);
void add_pretrain_command(CLI::App& app, Actions& actions);
void add_figure_command(CLI::App& app, Actions& actions);
void add_report_command(CLI::App& app, Actions& actions);
void add_parity_command(CLI::App& app, Actions& actions);
void add_verify_command(CLI::App& app, Actions& actions);
void add_check_command(CLI::App& app, Actions& actions);
void add_runs_command(CLI::App& app, Actions& actions);
void add_db_command(CLI::App& app, Actions& actions);
void add_doctor_command(CLI::App& app, Actions& actions);
void add_new_command(CLI::App& app, Actions& actions);
void add_completion_command(CLI::App& app, Actions& actions);

}  // namespace harness

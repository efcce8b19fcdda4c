#include "harness/commands/commands.h"

namespace harness {

void add_commands(CLI::App& app, Actions& actions) {
  add_reproduce_command(app, actions);
  add_list_command(app, actions);
  add_query_command(app, actions);
  add_table_command(app, actions);
  add_compare_command(app, actions);
  add_grid_command(app, actions);
  add_figure_command(app, actions);
  add_report_command(app, actions);
  add_sample_command(app, actions);
  add_pretrain_command(app, actions);
  add_datasets_command(app, actions);
  add_parity_command(app, actions);
  add_verify_command(app, actions);
  add_check_command(app, actions);
  add_runs_command(app, actions);
  add_db_command(app, actions);
  add_new_command(app, actions);
  add_doctor_command(app, actions);
  add_completion_command(app, actions);
}

}  // namespace harness

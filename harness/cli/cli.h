#pragma once

namespace harness {

/// The whole program `harness`: parses, runs one command, prints errors. Returns the exit status: 0 done, 1
/// the work failed or its answer could not be written, 2 the command line or a file given to it was wrong,
/// 130 interrupted. A reader of standard output that has gone changes no status.
int run_cli(int argc, char** argv);

}  // namespace harness

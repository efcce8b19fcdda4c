#pragma once

namespace harness {

/// The whole program `harness`: parses, runs one command, prints errors. Returns the exit status: 0 done, 1
/// the work failed, 2 the command line or a file given to it was wrong, 130 interrupted.
int run_cli(int argc, char** argv);

}  // namespace harness

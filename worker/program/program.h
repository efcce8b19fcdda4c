#pragma once

namespace harness {

/// What `harness-worker` does with its command line. Ends the process: 0 finished, 2 bad input, else as in
/// core/error.h.
[[noreturn]] void run_program(int count, char** words);

}  // namespace harness

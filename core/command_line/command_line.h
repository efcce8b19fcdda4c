#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/command_line/command.h"

namespace harness {

/// A command line that was understood.
struct Parsed {
  const Command* command;  ///< of the program's commands the one to run
  std::map<std::string, std::string>
      given;  ///< the last value, as typed, of each option that was given: by "--db"
};

/// Sets the targets of the command that the words name. Nothing if they ask for help or the version, which is
/// printed then; a program with commands prints its help where there are no words, and knows
/// `help COMMAND ...` too. Throws Error (status 2, where: the command) for words that it does not take, with
/// the nearest name. `--seeds 42, 43` is a list as `--seeds 42,43` is.
std::optional<Parsed> parse_command_line(const Command& program, int argc, char** argv);

/// A whole program without commands: parses, runs, prints an error. Returns the exit status.
int run_program(const Command& program, int argc, char** argv);

/// Throws Error (where: `option`) unless least <= value <= most.
void require_range(std::int64_t value, std::int64_t least, std::int64_t most, const std::string& option);

}  // namespace harness

#pragma once

#include <vector>

#include "core/command_line/command_line.h"

namespace harness {

/// Adds a command to the program, at a place in the help's list. A command is one file of this folder, which
/// ends with `const bool kRegistered = register_command(PLACE, make_command);`
bool register_command(int place, Command (*make)());

/// Every command, in the order of the help, with targets of its own.
std::vector<Command> registered_commands();

}  // namespace harness

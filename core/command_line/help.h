#pragma once

#include <span>
#include <string>

#include "core/command_line/command.h"

namespace harness {

/// Help of the last command of `path`, which begins with the program: what it does, how it is called, its
/// arguments, commands and options, and notes, in lines of at most 80 columns where words and examples allow
/// it. Lines of the notes that begin with a blank stay as they are; the others are filled as paragraphs,
/// which end at an empty line or before "Examples:".
std::string help_text(std::span<const Command* const> path);

/// How help and errors name an argument ("ID") or the value of an option ("LIST", "DIR", "N").
std::string value_name(const Option& option);

}  // namespace harness

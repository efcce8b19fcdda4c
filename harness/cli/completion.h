#pragma once

#include <string>
#include <vector>

#include "core/command_line/command_line.h"

namespace harness {

/// What `completions` gives alone where a shell should offer files.
inline constexpr const char* kFiles = "<files>";

/// What may stand in place of the last of `words` (what was typed after the program's name, the last as far
/// as it was typed): one per line, after a tab what it means. `--option=` and the elements of a list before
/// the last are repeated. Texts typed before are put into the targets of `program`. Never throws: where
/// nothing is known, nothing is offered.
std::vector<std::string> completions(const Command& program, const std::vector<std::string>& words);

}  // namespace harness

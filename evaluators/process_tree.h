#pragma once

#include <sys/types.h>

#include <string>

namespace harness {

/// A name and value for the environment of a child, unlike any other, by which its descendants are known.
std::string new_process_mark();

/// What all marks begin with that process `pid` makes.
std::string process_marks_of(pid_t pid);

/// Ends (SIGKILL) every process of ours in whose environment a name and value begin with `mark`, whatever
/// group or session it moved to and whoever its parent is by now. Processes that took the mark out of their
/// environment, and those of other users, are not found.
void kill_marked_processes(const std::string& mark);

}  // namespace harness

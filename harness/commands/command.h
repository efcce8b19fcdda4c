#pragma once

#include <map>

#include "core/command_line/command_line.h"

namespace harness {

/// What makes each command, with targets of its own, by its place in the help's list. A command is one file
/// of this folder, which ends with `const bool kRegistered = register_command(PLACE, make_command);`
inline std::multimap<int, Command (*)()>& command_makers() {
  static std::multimap<int, Command (*)()> by_place;
  return by_place;
}

inline bool register_command(int place, Command (*make)()) {
  command_makers().emplace(place, make);
  return true;
}

}  // namespace harness

#include "harness/commands/command.h"

#include <map>

namespace harness {
namespace {

std::multimap<int, Command (*)()>& makers() {
  static std::multimap<int, Command (*)()> by_place;
  return by_place;
}

}  // namespace

bool register_command(int place, Command (*make)()) {
  makers().emplace(place, make);
  return true;
}

std::vector<Command> registered_commands() {
  std::vector<Command> commands;
  for (const auto& [place, make] : makers()) commands.push_back(make());
  return commands;
}

}  // namespace harness

#include "core/command_line/command.h"

#include <algorithm>

namespace harness {

Offers choices(std::vector<std::string> names) {
  return [names = std::move(names)] { return names; };
}

void Command::add(std::string names, OptionTarget target, std::string text, OptionDetails details) {
  options.push_back({std::move(names), target, std::move(text), std::move(details)});
}

const Command* Command::find(std::string_view wanted) const {
  const auto found = std::ranges::find(commands, wanted, &Command::name);
  return found == commands.end() ? nullptr : &*found;
}

}  // namespace harness

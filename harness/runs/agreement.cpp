#include "harness/runs/agreement.h"

#include <unistd.h>

#include <iostream>

#include "core/error.h"
#include "core/streams.h"

namespace harness {

bool is_removal_agreed(const std::vector<Removal>& removals, const std::string& command) {
  if (::isatty(STDIN_FILENO) == 1) {
    for (const auto& removal : removals) {
      tell("run {} with {}\n", removal.text(), removal.folder.string());
      for (const auto& e : removal.experiments)
        tell("  and experiment {} ({})\n", e.at("experiment").get<int>(), e.at("table").get<std::string>());
    }
  }
  if (is_agreed(command, removals.size() == 1 ? "Remove it?" : "Remove them?")) return true;
  tell("nothing was removed\n");
  return false;
}

bool is_agreed(const std::string& command, const std::string& question) {
  if (::isatty(STDIN_FILENO) != 1)
    throw Error("asks before deleting, and nobody can answer", command, "add --yes");
  tell("{} [y/N] ", question);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace harness

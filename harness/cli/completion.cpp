#include "harness/cli/completion.h"

#include <cstdlib>
#include <optional>
#include <span>
#include <variant>

#include "core/text.h"

namespace harness {
namespace {

/// Where on the command line the next word stands.
struct Place {
  const Command* command;
  std::size_t arguments = 0;       ///< of the command before it
  const Option* option = nullptr;  ///< whose value it is, if any
  int values = 0;                  ///< that the option still takes
};

int values_of(const Option& option) {
  return option.kind() == ValueKind::kFlag ? 0 : option.kind() == ValueKind::kPair ? 2 : 1;
}

/// The argument that comes next; a list takes all that follow.
const Option* next_argument(const Place& at) {
  std::size_t before = 0;
  for (const auto& option : at.command->options) {
    if (!option.is_argument()) continue;
    if (before++ == at.arguments || option.is_list()) return &option;
  }
  return nullptr;
}

/// Nothing has expanded a word that is being typed.
std::string without_tilde(const std::string& word) {
  const char* home = std::getenv("HOME");
  return home != nullptr && word.starts_with("~/") ? home + word.substr(1) : word;
}

/// Keeps a text, so that offers can follow from it: the runs of the workspace that --out names.
void keep(const Option& option, const std::string& typed) {
  const auto value = without_tilde(typed);
  if (auto* const* text = std::get_if<std::string*>(&option.target)) **text = value;
  if (auto* const* text = std::get_if<std::optional<std::string>*>(&option.target)) **text = value;
}

void advance(Place& at, const std::string& word) {
  if (at.values > 0) {
    keep(*at.option, word);
    --at.values;
  } else if (word.starts_with('-')) {
    const auto equals = word.find('=');
    at.option = at.command->option(word.substr(0, equals));
    if (at.option == nullptr) return;
    if (equals == std::string::npos)
      at.values = values_of(*at.option);
    else
      keep(*at.option, word.substr(equals + 1));
  } else if (const auto* below = at.command->find(word)) {
    at = {.command = below};
  } else if (const auto* argument = next_argument(at)) {
    keep(*argument, word);
    ++at.arguments;
  }
}

/// Those of `names` that go on from `typed`, after `head`.
std::vector<std::string> going_on(const std::vector<std::string>& names, const std::string& typed,
                                  const std::string& head = {}) {
  std::vector<std::string> lines;
  for (const auto& name : names) {
    if (name.starts_with(typed)) lines.push_back(head + name);
  }
  return lines;
}

/// What goes on from a value that was typed after `head`.
std::vector<std::string> values(const Option& option, std::string typed, std::string head = {}) {
  const auto comma = typed.rfind(',');
  if (option.details.by_comma && comma != std::string::npos) {
    head += typed.substr(0, comma + 1);
    typed.erase(0, comma + 1);
  }
  std::vector<std::string> lines;
  if (option.details.offers) lines = going_on(option.details.offers(), typed, head);
  if (lines.empty() && option.details.is_path) lines.emplace_back(kFiles);
  return lines;
}

std::vector<std::string> option_lines(const Command& command) {
  std::vector<std::string> lines = {"-h\tPrint this help message and exit",
                                    "--help\tPrint this help message and exit"};
  if (!command.version.empty()) lines.emplace_back("--version\tDisplay program version information and exit");
  for (const auto& option : command.options) {
    if (option.is_argument() || option.details.hidden) continue;
    for (const auto& name : split(option.names, ',')) lines.push_back(name + "\t" + option.help);
  }
  return lines;
}

std::vector<std::string> command_lines(const Command& command) {
  std::vector<std::string> lines;
  for (const auto& below : command.commands) lines.push_back(below.name + "\t" + below.help);
  return lines;
}

std::vector<std::string> lines_for(const Place& at, const std::string& word) {
  if (at.values > 0) return values(*at.option, word);
  const auto equals = word.find('=');
  if (word.starts_with("--") && equals != std::string::npos) {
    const auto* option = at.command->option(word.substr(0, equals));
    return option == nullptr ? std::vector<std::string>{}
                             : values(*option, word.substr(equals + 1), word.substr(0, equals + 1));
  }
  if (word.starts_with('-')) return going_on(option_lines(*at.command), word);
  if (!at.command->commands.empty()) return going_on(command_lines(*at.command), word);
  const auto* argument = next_argument(at);
  return argument == nullptr ? std::vector<std::string>{} : values(*argument, word);
}

}  // namespace

std::vector<std::string> completions(const Command& program, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  try {
    Place at{.command = &program};
    for (const auto& word : std::span(words).first(words.size() - 1)) advance(at, word);
    return lines_for(at, words.back());
  } catch (...) {  // a workspace or a data folder that is broken
    return {};
  }
}

}  // namespace harness

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace harness {

/// What may stand after an option or in a place of a command.
struct Words {
  enum class Kind { kAny, kChoices, kFiles, kRuns };  ///< kRuns: asked of `harness list runs` when needed
  Kind kind = Kind::kAny;
  std::vector<std::string> choices;
  bool by_comma = false;  ///< several, divided by commas
};

struct OptionWords {
  std::vector<std::string> names;  ///< "-o", "--out"
  std::string help;
  bool takes_value = false;
  Words value;
};

/// One command as a completion sees it.
struct CommandWords {
  std::string path;                                           ///< "" for the program, "runs show"
  std::vector<std::pair<std::string, std::string>> commands;  ///< below it: name and help
  std::vector<OptionWords> options;
  Words argument;  ///< of its places
};

/// Every command of the program, the program itself first.
std::vector<CommandWords> command_words(const CLI::App& app);

/// A completion script for "bash", "zsh" or "fish". Throws Error (status 2) for another shell.
std::string completion_script(const std::vector<CommandWords>& commands, const std::string& shell);

}  // namespace harness

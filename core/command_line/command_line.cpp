#include "core/command_line/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <type_traits>

#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr std::size_t kHelpColumn = 34;

/// Adds an option to a parser by the type of its target.
struct Adding {
  CLI::App& app;
  const Option& option;

  CLI::Option* operator()(bool* flag) const { return app.add_flag(option.names, *flag, option.help); }

  /// Not CLI11's own optional, which takes an empty text for none.
  template <class T>
  CLI::Option* operator()(std::optional<T>* target) const {
    return app.add_option_function<T>(
        option.names, [target](const T& value) { *target = value; }, option.help);
  }

  template <class T>
  CLI::Option* operator()(std::vector<T>* target) const {
    return app.add_option(option.names, *target, option.help);
  }

  template <class T>
  CLI::Option* operator()(T* target) const {
    return app.add_option(option.names, *target, option.help)->capture_default_str();
  }
};

void declare(CLI::App& app, const Option& option) {
  auto* added = std::visit(Adding{app, option}, option.target);
  const auto& details = option.details;
  added->required(details.required);
  if (details.hidden) added->group("");
  if (details.by_comma) added->delimiter(',');
  if (details.one_each) added->allow_extra_args(false);
  if (!details.default_text.empty()) added->default_str(details.default_text);
  if (details.may_be_bare) added->expected(0, 1);
}

/// What a command says before those below it are added goes for them too.
void declare(CLI::App& app, const Command& command) {
  if (!command.notes.empty()) app.footer(command.notes);
  if (!command.commands.empty()) app.require_subcommand(1);
  for (const auto& option : command.options) declare(app, option);
  for (const auto& below : command.commands) declare(*app.add_subcommand(below.name, below.help), below);
}

/// The sub-command that was being parsed, however deep; the program itself if there was none.
const CLI::App* deepest(const CLI::App* app) {
  for (auto parsed = app->get_subcommands(); !parsed.empty(); parsed = app->get_subcommands())
    app = parsed.back();
  return app;
}

/// "harness datasets split"
std::string full_name(const CLI::App* app) {
  return app->get_parent() == nullptr ? app->get_name()
                                      : full_name(app->get_parent()) + " " + app->get_name();
}

std::vector<std::string> option_names(const CLI::App* app) {
  std::vector<std::string> names;
  for (const auto* option : app->get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App* app) {
  std::vector<std::string> names;
  for (const auto* command : app->get_subcommands({})) names.push_back(command->get_name());
  return names;
}

/// What a value of an option must be.
std::string wanted_kind(const CLI::App* command, const std::string& name) {
  const auto* option = command->get_option_no_throw(name);
  const auto kind = option == nullptr ? std::string() : option->get_type_name();
  if (kind.starts_with("INT")) return "must be a whole number";
  if (kind.starts_with("UINT")) return "must be a whole number, 0 or more";
  if (kind.starts_with("FLOAT")) return "must be a number";
  return "is not of the kind that this option takes";
}

/// A word that nothing takes, with the nearest name.
Error unknown_word(const CLI::App* command, const std::string& word) {
  const auto where = full_name(command);
  if (word.starts_with('-'))
    return Error(fmt::format("unknown option \"{}\"", word), where, suggestion(word, option_names(command)));
  const auto commands = command_names(command);
  if (!commands.empty())
    return Error(fmt::format("unknown command \"{}\"", word), where, suggestion(word, commands));
  return Error(fmt::format("unexpected argument \"{}\"", word), where, fmt::format("see `{} --help`", where));
}

/// What was wrong with the command line.
Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto* command = deepest(&app);
  const auto where = full_name(command);
  const auto help = fmt::format("see `{} --help`", where);
  auto extras = app.remaining(true);
  std::erase(extras, "--");
  if (!extras.empty()) return unknown_word(command, extras.front().substr(0, extras.front().find('=')));
  const auto commands = command_names(command);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !commands.empty())
    return Error("no command given", where, "commands: " + join(commands, ", "));
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    constexpr std::string_view kPrefix = "Could not convert: ";
    std::string message = error.what();
    if (message.starts_with(kPrefix)) message.erase(0, kPrefix.size());
    return Error(wanted_kind(command, message.substr(0, message.find(' '))), where + ": " + message, help);
  }
  return Error(error.what(), where, help);
}

/// The words of a command line, the last first, as CLI11 takes them. `help COMMAND ...` is `COMMAND ...
/// --help`; an unknown command there is one here.
std::vector<std::string> parsed_words(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "help" && !command_names(&app).empty()) {
    words.erase(words.begin());
    const auto* command = &app;
    for (const auto& word : words) {
      const auto names = command_names(command);
      if (std::ranges::find(names, word) == names.end())
        throw Error(fmt::format("unknown command \"{}\"", word), full_name(command),
                    names.empty() ? "it has no commands of its own" : suggestion(word, names));
      command = command->get_subcommand(word);
    }
    words.emplace_back("--help");
  }
  std::ranges::reverse(words);
  return words;
}

Parsed parsed_of(const Command& program, const CLI::App& app) {
  Parsed parsed{.command = &program, .given = {}};
  const auto* at = &app;
  for (auto below = at->get_subcommands(); !below.empty(); below = at->get_subcommands()) {
    at = below.back();
    parsed.command = parsed.command->find(at->get_name());
  }
  for (const auto* option : at->get_options()) {
    for (const auto& name : option->get_lnames()) {
      if (!option->empty()) parsed.given["--" + name] = option->results().back();
    }
  }
  return parsed;
}

}  // namespace

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

std::optional<Parsed> parse_command_line(const Command& program, int argc, char** argv) {
  CLI::App app(program.help, program.name);
  app.get_formatter()->column_width(kHelpColumn);
  if (!program.version.empty()) app.set_version_flag("--version", program.version);
  declare(app, program);
  if (argc == 1 && !program.commands.empty()) tell_text(app.help() + "\n");
  try {
    app.parse(parsed_words(app, argc, argv));
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    app.exit(success, text, text);
    put_text(text.str());
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw usage_error(app, error);
  }
  return parsed_of(program, app);
}

int run_program(const Command& program, int argc, char** argv) {
  prepare_streams();
  const auto failed = [](const std::exception& error, Status status) {
    tell("error: {}\n", error.what());
    return finished_status(static_cast<int>(status));
  };
  try {
    return finished_status(parse_command_line(program, argc, argv) ? program.run() : 0);
  } catch (const Error& error) {
    return failed(error, error.status());
  } catch (const std::exception& error) {
    return failed(error, Status::kFailed);
  }
}

void require_range(std::int64_t value, std::int64_t least, std::int64_t most, const std::string& option) {
  if (value < least || value > most) throw Error(fmt::format("must be {} to {}", least, most), option);
}

}  // namespace harness

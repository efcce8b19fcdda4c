#include "core/command_line/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "core/command_line/help.h"
#include "core/command_line/recorded_path.h"
#include "core/error.h"
#include "core/streams.h"
#include "core/text.h"

namespace harness {
namespace {

/// Adds an option to a parser by the type of its target.
struct Adding {
  CLI::App& app;
  const Option& option;

  CLI::Option* operator()(bool* flag) const { return app.add_flag(option.names, *flag); }

  /// Not CLI11's own optional, which takes an empty text for none.
  template <class T>
  CLI::Option* operator()(std::optional<T>* target) const {
    return app.add_option_function<T>(option.names, [target](const T& value) { *target = value; });
  }

  /// Splits lists itself: CLI11 would leave out what is empty between two commas.
  CLI::Option* operator()(std::vector<std::string>* target) const {
    if (!option.details.by_comma) return app.add_option(option.names, *target);
    return app.add_option_function<std::vector<std::string>>(option.names,
                                                             [target](const std::vector<std::string>& words) {
                                                               target->clear();
                                                               for (const auto& word : words) {
                                                                 for (const auto& element : split(word, ','))
                                                                   target->emplace_back(trim(element));
                                                               }
                                                             });
  }

  template <class T>
  CLI::Option* operator()(T* target) const {
    return app.add_option(option.names, *target);
  }
};

void declare(CLI::App& app, const Command& command) {
  const bool has_arguments = std::ranges::any_of(command.options, &Option::is_argument);
  if (!command.commands.empty()) app.require_subcommand(1);
  for (const auto& option : command.options) {
    auto* added = std::visit(Adding{app, option}, option.target);
    const auto& details = option.details;
    added->required(details.required);
    if (details.may_be_bare) added->expected(0, 1)->default_str(details.default_text);
    if (details.one_each || (details.by_comma && has_arguments)) added->allow_extra_args(false);
  }
  for (const auto& below : command.commands) declare(*app.add_subcommand(below.name), below);
}

/// The sub-command that was being parsed, however deep; the program itself if there was none.
const CLI::App* deepest(const CLI::App* app) {
  for (auto parsed = app->get_subcommands(); !parsed.empty(); parsed = app->get_subcommands())
    app = parsed.back();
  return app;
}

std::vector<std::string> option_names(const CLI::App* app) {
  std::vector<std::string> names;
  for (const auto* option : app->get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The program and, one below the other, its commands that were being parsed.
std::vector<const Command*> parsed_path(const Command& program, const CLI::App& app) {
  std::vector<const Command*> path = {&program};
  const auto* at = &app;
  for (auto below = at->get_subcommands(); !below.empty(); below = at->get_subcommands()) {
    at = below.back();
    path.push_back(path.back()->find(at->get_name()));
  }
  return path;
}

/// "harness datasets split"
std::string full_name(const std::vector<const Command*>& path) {
  std::vector<std::string> names;
  for (const auto* command : path) names.push_back(command->name);
  return join(names, " ");
}

std::vector<std::string> command_names(const Command& command) {
  std::vector<std::string> names;
  for (const auto& below : command.commands) names.push_back(below.name);
  return names;
}

/// Of an option of this kind, `value` being what was typed.
Error wrong_value(const Option& option, const std::string& name, std::string_view value,
                  const std::string& where) {
  constexpr const char* kKind = "is not of the kind that this option takes";
  constexpr const char* kWanted[] = {
      // by ValueKind
      "takes no value",  kKind, kKind, "must be a whole number", "must be a whole number, 0 or more",
      "must be a number"};
  std::string problem = kWanted[static_cast<int>(option.kind())];
  if (!value.empty()) problem += ", not " + in_quotes(value);
  return Error(problem, where + ": " + (option.is_argument() ? value_name(option) : name),
               fmt::format("see `{} --help`", where));
}

/// A value of another kind than its option's: "Could not convert: --seed = abc", "--json: ..." of a flag.
Error wrong_value(const Command& command, std::string message, const std::string& where,
                  const std::string& help) {
  constexpr std::string_view kPrefix = "Could not convert: ", kMiddle = " = ";
  if (message.starts_with(kPrefix)) message.erase(0, kPrefix.size());
  const auto name = message.substr(0, message.find_first_of(" :="));
  const auto* option = command.option(name);
  if (option == nullptr) return Error(message, where, help);
  const auto at = message.find(kMiddle);
  return wrong_value(*option, name, at == std::string::npos ? "" : message.substr(at + kMiddle.size()),
                     where);
}

/// Whether a typed number is the one that was read. CLI11 reads "010" as octal, "-1" as the largest number
/// without a sign, and what is too large as the largest.
bool is_plain(ValueKind kind, const std::string& typed) {
  if (kind != ValueKind::kInteger && kind != ValueKind::kNatural) return true;
  const bool is_read = kind == ValueKind::kNatural ? parse_number<std::uint64_t>(typed).has_value()
                                                   : parse_number<std::int64_t>(typed).has_value();
  const auto digits = std::string_view(typed).substr(typed.starts_with('-') ? 1 : 0);
  return is_read && (digits.size() == 1 || !digits.starts_with('0'));
}

/// Whether an option takes the empty text at this place of its values: what a named parameter stands for may
/// be empty, its name may not.
bool may_be_empty(const Option& option, std::size_t place) {
  return option.details.may_be_bare || (option.kind() == ValueKind::kPair && place % 2 == 1);
}

/// What cannot be recorded as text, be it the value or, of a path, the folder that it is relative to. A value
/// with names of its own (`offers`) is a path where something is there.
void refuse_unrecordable(const Option& option, const std::string& value, const std::string& where) {
  const bool is_path = option.details.is_path;
  require_utf8(
      value, where,
      is_path ? "choose another name: it is recorded as text" : "give it in UTF-8: it is recorded as text");
  std::error_code unknown;
  if (is_path && !value.empty() && (!option.details.offers || std::filesystem::exists(value, unknown)))
    require_recordable(value, where);
}

/// Values that CLI11 takes for others. An empty text is not a value: an unset shell variable gives one.
void refuse_values(const Command& command, const CLI::App& app, const std::string& where) {
  for (const auto& option : command.options) {
    if (option.kind() == ValueKind::kFlag) continue;
    const auto name = option.last_name();
    const auto place = fmt::format("{}: {}", where, option.is_argument() ? value_name(option) : name);
    const auto results = app.get_option(name)->results();
    for (const auto& value : results) refuse_unrecordable(option, value, place);
    if (option.is_list() && option.kind() == ValueKind::kText) continue;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].empty() && !may_be_empty(option, i))
        throw Error("is empty", place, "give a value, or leave it out");
      if (!is_plain(option.kind(), results[i])) throw wrong_value(option, name, results[i], where);
    }
  }
}

/// Options of which one would be taken in silence.
void refuse_contradictions(const Command& command, const CLI::App& app, const std::string& where) {
  const auto is_given = [&](const std::string& name) { return app.get_option(name)->count() > 0; };
  for (const auto& option : command.options) {
    for (const auto& other : option.details.excludes) {
      if (is_given(option.last_name()) && is_given(other))
        throw Error(fmt::format("{} and {} contradict each other", option.last_name(), other), where,
                    "give one of them");
    }
  }
}

/// An option that needs a value and has none, or has two: "--db: 1 required ...", "--db: At Most 1 required
/// ..."
Error missing_value(const Command& command, const std::string& message, const std::string& where,
                    const std::string& help) {
  const auto name = message.substr(0, message.find(':'));
  const auto* option = command.option(name);
  if (option == nullptr) return Error(message, where, help);
  if (message.find("At Most") != std::string::npos)
    return Error(fmt::format("{} is given twice", name), where, "give it once");
  return Error(fmt::format("needs a value: {} {}", name, value_name(*option)), where, help);
}

/// What must be given and is not: "id is required".
Error missing_option(const Command& command, const std::string& message, const std::string& where,
                     const std::string& help) {
  const auto* option = command.option(message.substr(0, message.find(' ')));
  if (option == nullptr || !option->is_argument()) return Error(message, where, help);
  return Error(value_name(*option) + " is required: " + option->help, where, help);
}

/// A word that nothing takes, with the nearest name.
Error unknown_word(const Command& command, const CLI::App* app, const std::string& word,
                   const std::string& where, const std::string& help) {
  if (word.starts_with('-')) {
    const auto mistaken = command.mistaken.find(word);
    const auto names = option_names(app);
    if (std::ranges::count(names, word) > 0)
      return Error(fmt::format("\"{}\" comes before the command", word), where,
                   fmt::format("give it after the command: `{} {} ...`", where, word));
    return Error(fmt::format("unknown option \"{}\"", word), where,
                 mistaken != command.mistaken.end() ? mistaken->second : suggestion(word, names));
  }
  if (command.commands.empty()) return Error(fmt::format("unexpected argument \"{}\"", word), where, help);
  return Error(fmt::format("unknown command \"{}\"", word), where, suggestion(word, command_names(command)));
}

/// What was wrong with the command line.
Error usage_error(const Command& program, const CLI::App& app, const CLI::ParseError& error) {
  const auto path = parsed_path(program, app);
  const auto& known = *path.back();
  const auto where = full_name(path);
  const auto help = fmt::format("see `{} --help`", where);
  auto extras = app.remaining(true);
  std::erase(extras, "--");
  if (!extras.empty())
    return unknown_word(known, deepest(&app), extras.front().substr(0, extras.front().find('=')), where,
                        help);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (known.commands.empty()) return missing_option(known, error.what(), where, help);
    tell_text(help_text(path) + "\n");
    return Error("no command given", where, "commands: " + join(command_names(known), ", "));
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    return wrong_value(known, error.what(), where, help);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return missing_value(known, error.what(), where, help);
  return Error(error.what(), where, help);
}

/// With each comma-separated list in one word: `--seeds 42, 43` as `--seeds 42,43`.
std::vector<std::string> with_whole_lists(const Command& program, const std::vector<std::string>& words) {
  std::vector<std::string> whole;
  const auto* command = &program;
  enum { kNoList, kBefore, kWithin } at = kNoList;
  for (const auto& word : words) {
    const auto equals = word.find('=');
    const auto* option = word.starts_with('-') ? command->option(word.substr(0, equals)) : nullptr;
    if (option != nullptr) {
      at = !option->details.by_comma ? kNoList : equals == std::string::npos ? kBefore : kWithin;
      whole.push_back(word);
    } else if (at == kBefore) {
      whole.push_back(word);
      at = kWithin;
    } else if (at == kWithin && !word.starts_with('-') &&
               (word.starts_with(',') || whole.back().ends_with(','))) {
      whole.back() += word;
    } else {
      if (const auto* below = command->find(word)) command = below;
      whole.push_back(word);
      at = kNoList;
    }
  }
  return whole;
}

/// The words of a command line, the last first, as CLI11 takes them. `help COMMAND ...` is `COMMAND ...
/// --help`; an unknown command there is one here.
std::vector<std::string> parsed_words(const Command& program, int argc, char** argv) {
  auto words = with_whole_lists(program, {argv + 1, argv + argc});
  if (!words.empty() && words.front() == "help" && !program.commands.empty()) {
    words.erase(words.begin());
    std::vector<const Command*> path = {&program};
    for (const auto& word : words) {
      const auto names = command_names(*path.back());
      const auto* below = path.back()->find(word);
      if (below == nullptr)
        throw Error(fmt::format("unknown command \"{}\"", word), full_name(path),
                    names.empty() ? "it has no commands of its own" : suggestion(word, names));
      path.push_back(below);
    }
    words.emplace_back("--help");
  }
  std::ranges::reverse(words);
  return words;
}

}  // namespace

std::optional<Parsed> parse_command_line(const Command& program, int argc, char** argv) {
  CLI::App app(program.help, program.name);
  if (!program.version.empty()) app.set_version_flag("--version", program.version);
  declare(app, program);
  try {
    if (argc == 1 && !program.commands.empty()) throw CLI::CallForHelp();
    app.parse(parsed_words(program, argc, argv));
  } catch (const CLI::CallForHelp&) {
    put_text(help_text(parsed_path(program, app)));
    return std::nullopt;
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    app.exit(success, text, text);
    put_text(text.str());
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw usage_error(program, app, error);
  }
  const auto path = parsed_path(program, app);
  const auto& command = *path.back();
  const auto* own = deepest(&app);
  refuse_values(command, *own, full_name(path));
  refuse_contradictions(command, *own, full_name(path));
  Parsed parsed{.command = &command, .given = {}};
  for (const auto& option : command.options) {
    const auto& typed = own->get_option(option.last_name())->results();
    if (!typed.empty()) parsed.given[option.last_name()] = typed.back();
  }
  return parsed;
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

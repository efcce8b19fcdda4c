#include "harness/cli.h"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>
#include <sstream>
#include <string_view>

#include "core/build_info.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/json.h"
#include "core/streams.h"
#include "core/text.h"
#include "harness/commands/commands.h"
#include "harness/commands/db_options.h"
#include "results/database_file.h"

namespace harness {
namespace {

constexpr const char* kFooter = R"(
Examples:
  harness reproduce --table sd35-ocr --scale smoke     a first table within a minute
  harness reproduce --table sd35-ocr                   the main job; repeat it to go on or to see the table again
  harness query "SELECT table_id, scale, method, seed, checkpoint, split, metric, mean, n FROM v_results"
  harness compare ratio-norm lambda-controlled --metric ocr_reward --split test

Exit status: 0 done, 1 the work failed, 2 the command line or a file given to it was wrong, 130 interrupted.
What cannot be written to standard output is status 1; a reader that has gone (`| head -1`) changes no
status, and what cannot be written to standard error stops no work.
`harness help COMMAND` or `harness COMMAND --help` shows a command's options and examples.)";

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

/// What was wrong with the command line, with the nearest name where a word was unknown.
Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto* command = deepest(&app);
  const auto where = full_name(command);
  const auto help = fmt::format("see `{} --help`", where);
  auto extras = app.remaining(true);
  extras.erase(std::remove(extras.begin(), extras.end(), "--"), extras.end());
  if (!extras.empty()) {
    const auto word = extras.front().substr(0, extras.front().find('='));
    if (word.rfind('-', 0) == 0) {
      return Error(fmt::format("unknown option \"{}\"", word), where,
                   suggestion(word, option_names(command)));
    }
    const auto commands = command_names(command);
    if (!commands.empty())
      return Error(fmt::format("unknown command \"{}\"", word), where, suggestion(word, commands));
    return Error(fmt::format("unexpected argument \"{}\"", word), where, help);
  }
  const auto commands = command_names(command);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !commands.empty()) {
    return Error("no command given", where, "commands: " + join(commands, ", "));
  }
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
  if (!words.empty() && words.front() == "help") {
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

/// Runs the parsed command. An error's hint names the commands that mend it with the place of this one.
int carry_out(const CLI::App& command, const Actions& actions) {
  const auto placed = [&](const Error& error) {
    return Error(error.problem(), error.where(), with_place(error.hint(), place_of(command).options()),
                 error.status());
  };
  try {
    return actions.at(&command)();
  } catch (const Error& error) {
    throw placed(error);
  } catch (const SQLite::Exception& failure) {
    throw placed(database_error(failure, "the results database"));
  }
}

int dispatch(int argc, char** argv) {
  CLI::App app("Paired, reproducible benchmarks of RL post-training for flow-matching text-to-image models.",
               "harness");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  const auto& build = build_info();
  app.set_version_flag(
      "--version", fmt::format("harness {} ({}, {})", build.version, build.git_revision, build.build_type));
  Actions actions;
  add_commands(app, actions);
  if (argc == 1) tell_text(app.help() + "\n");
  try {
    app.parse(parsed_words(app, argc, argv));
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    const int status = app.exit(success, text, text);
    put_text(text.str());
    return status;
  } catch (const CLI::ParseError& error) {
    throw usage_error(app, error);
  }
  return carry_out(*deepest(&app), actions);
}

void print_error(const Error& error, bool json) {
  if (json) {
    const Json document = {
        {"error", {{"what", error.problem()}, {"where", error.where()}, {"hint", error.hint()}}}};
    put("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
  }
  tell("{}{}\n", error.status() == Status::kInterrupted ? "" : "error: ", error.what());
}

int report(const Error& error, bool json) {
  print_error(error, json);
  return static_cast<int>(error.status());
}

bool asks_for_json(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc,
                     [](const char* word) { return std::string_view(word) == "--json"; });
}

}  // namespace

namespace {

int run(int argc, char** argv) {
  const bool json = asks_for_json(argc, argv);
  try {
    return dispatch(argc, argv);
  } catch (const Error& error) {
    return report(error, json);
  } catch (const std::filesystem::filesystem_error& failure) {
    return report(file_error("", failure.path1(), failure.code().value()), json);
  } catch (const std::bad_alloc&) {
    return report(Error("there is not enough memory", "", "free some, or raise the limit (`ulimit -v`)",
                        Status::kFailed),
                  json);
  } catch (const std::exception& error) {
    return report(Error(error.what(), "", "", Status::kFailed), json);
  }
}

}  // namespace

int run_cli(int argc, char** argv) {
  prepare_streams();
  return finished_status(run(argc, argv));
}

}  // namespace harness

#include "harness/cli/cli.h"

#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>

#include "core/command_line/recorded_path.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/host.h"
#include "core/source_sums/build_info.h"
#include "core/streams.h"
#include "harness/cli/completion.h"
#include "harness/commands/command.h"
#include "harness/terminal/ctrl_c.h"
#include "harness/terminal/output.h"
#include "harness/workspace/workspace.h"
#include "results/schema/database_file.h"

namespace harness {
namespace {

constexpr const char* kNotes = R"(
Examples:
  harness reproduce --table sd35-ocr --scale smoke    a first table within a minute
  harness reproduce --table sd35-ocr                  the main job; repeat it to go on
  harness table sd35-ocr                              the table again
  harness compare ratio-norm lambda-controlled --metric ocr_reward --split test
  harness query "SELECT method, seed, split, metric, mean, n FROM v_results"

`harness help COMMAND` shows a command's options and examples.

Exit status: 0 done, 1 the work failed, 2 the command line or an input file is wrong, 130 interrupted. An
answer that cannot be written is status 1; a reader that closes the pipe (`| head -1`) changes no status.)";

Command harness_program() {
  const auto& build = build_info();
  Command program{
      .name = "harness",
      .help = "Paired, reproducible benchmarks of RL post-training for flow-matching text-to-image models.",
      .notes = kNotes,
      .version = fmt::format("harness {} ({}, {})", build.version, build.git_revision, build.build_type)};
  program.commands = registered_commands();
  return program;
}

/// --out and --db as typed, whatever else the command takes.
WorkspaceChoice place_of(const Parsed& parsed) {
  const auto typed = [&](const char* name) {
    const auto found = parsed.given.find(name);
    return found == parsed.given.end() ? std::nullopt : std::optional(found->second);
  };
  return {.out = typed("--out"), .db = typed("--db")};
}

/// Runs the parsed command. An error's hint names the commands that mend it with the place of this one.
int carry_out(const Parsed& parsed) {
  const auto placed = [&](const Error& error) {
    return Error(error.problem(), error.where(), with_place(error.hint(), place_of(parsed).options()),
                 error.status());
  };
  try {
    return parsed.command->run();
  } catch (const Error& error) {
    throw placed(error);
  } catch (const SQLite::Exception& failure) {
    throw placed(database_error(failure, "the results database"));
  }
}

/// What a relative path has no place in.
Error with_gone_folder(const Error& error) {
  if (!is_working_folder_gone()) return error;
  const auto gone = working_folder_error("");
  if (error.problem() == gone.problem()) return error;
  const auto hint = fmt::format("{}: {}", gone.problem(), gone.hint());
  return Error(error.problem(), error.where(), error.hint().empty() ? hint : error.hint() + "; " + hint,
               error.status());
}

int report(const Error& given, bool json) {
  const auto error = with_gone_folder(given);
  if (json)
    print_json({{"error", {{"what", error.problem()}, {"where", error.where()}, {"hint", error.hint()}}}});
  tell("{}{}\n", error.status() == Status::kInterrupted ? "" : "error: ", error.what());
  return static_cast<int>(error.status());
}

/// Folders and programs whose paths are recorded.
void require_recordable_environment() {
  for (const char* name : {"HARNESS_PATH", "HARNESS_WORKER", "HARNESS_SCORER"})
    require_utf8(environment(name), fmt::format("${}", name), "choose another path: it is recorded as text");
}

int run(int argc, char** argv) {
  const bool json = std::count(argv, argv + argc, std::string_view("--json")) > 0;
  try {
    const auto program = harness_program();
    const auto parsed = parse_command_line(program, argc, argv);
    if (!parsed) return 0;
    require_recordable_environment();
    return carry_out(*parsed);
  } catch (const Error& error) {
    return report(error, json);
  } catch (const std::filesystem::filesystem_error& failure) {
    if (failure.path1().empty() && is_working_folder_gone()) return report(working_folder_error(""), json);
    return report(file_error("", failure.path1(), failure.code().value()), json);
  } catch (const std::system_error& failure) {
    return report(
        Error(fmt::format("the system refuses: {}", failure.code().message()), "",
              "raise the limits of this shell (`ulimit -a`), or end other programs", Status::kFailed),
        json);
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
  end_interrupted_on_sigterm();
  if (argc > 1 && std::string_view(argv[1]) == "__complete") {
    for (const auto& line : completions(harness_program(), {argv + 2, argv + argc})) put_exactly(line + "\n");
    return finished_status(0);
  }
  return finished_status(run(argc, argv));
}

}  // namespace harness

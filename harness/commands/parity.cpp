#include "harness/parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "harness/commands/commands.h"
#include "harness/output.h"

namespace harness {

void add_parity_command(CLI::App& app, Actions& actions) {
  struct Options {
    std::vector<std::string> folders;
    bool json = false;
  };
  auto* command = app.add_subcommand("parity", "Check this build against recorded reference computations");
  command->footer(R"(
Exit status 1 if a case does not pass.
Examples:
  harness parity cases/python_random_sample cases/statistics
  harness parity cases/* --json)");
  auto o = std::make_shared<Options>();
  command->add_option("folders", o->folders, "case folders")->required();
  command->add_flag("--json", o->json, "one JSON document on standard output");
  actions[command] = [o] {
    const auto answer = check_parity({o->folders.begin(), o->folders.end()});
    const auto& cases = answer.at("cases");
    if (o->json) {
      print_json(answer);
    } else {
      for (const auto& c : cases) {
        const bool passed = c.at("passed");
        fmt::print("{} {} (max error {:.3g}, relative {:.3g}){}\n", passed ? "PASS" : "FAIL",
                   c.at("name").get<std::string>(), c.value("max_abs", 0.0), c.value("max_rel", 0.0),
                   passed ? "" : ": " + c.value("message", std::string()));
      }
    }
    const bool all =
        std::all_of(cases.begin(), cases.end(), [](const Json& c) { return c.at("passed").get<bool>(); });
    return all ? 0 : 1;
  };
}

}  // namespace harness

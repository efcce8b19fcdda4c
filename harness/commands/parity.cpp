#include "harness/checks/parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/streams.h"
#include "harness/commands/command.h"
#include "harness/commands/db_options.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

/// A case as a row for reading.
Json row_of(const Json& c) {
  const auto rounded = [&](const char* key) { return fmt::format("{:.3g}", c.value(key, 0.0)); };
  const bool known = c.value("known", true), passed = c.at("passed");
  const bool compared = !c.value("tolerance", std::string()).empty();
  Json row{{"case", c.at("name")},
           {"kind", c.at("kind")},
           {"result", passed  ? "pass"
                      : known ? "FAIL"
                              : "unknown"}};
  if (compared) {
    row["max abs"] = rounded("max_abs");
    row["max rel"] = rounded("max_rel");
    row["tolerance"] = c.at("tolerance");
    row["used"] = fmt::format("{:.2g} %", 100 * c.value("used", 0.0));
  } else if (passed) {
    row["max abs"] = row["max rel"] = "0";
    row["tolerance"] = "equal";
  }
  return row;
}

void print_cases(const Json& cases) {
  std::vector<Json> rows;
  for (const auto& c : cases) rows.push_back(row_of(c));
  print_rows(rows, {"case", "kind", "max abs", "max rel", "tolerance", "used", "result"});
  for (const auto& c : cases) {
    if (!c.at("passed").get<bool>())
      put("{}: {}\n", c.at("name").get<std::string>(), c.value("message", std::string()));
  }
}

struct Options {
  std::vector<std::string> folders;
  bool json = false;
};

int parity(const Options& o) {
  const auto answer = check_parity({o.folders.begin(), o.folders.end()});
  const auto& cases = answer.at("cases");
  if (o.json) {
    print_json(answer);
  } else {
    print_cases(cases);
  }
  const bool all = std::ranges::all_of(cases, [](const Json& c) { return c.at("passed").get<bool>(); });
  return all ? 0 : 1;
}

Command make_parity() {
  auto o = std::make_shared<Options>();
  Command command{"parity", "Check this build against recorded reference computations", R"(
For each case: its largest error, the same over its tensor's largest value, the tolerance of the tensor that
comes nearest to its own, and how much of it that one used. Exit status 1 if a case does not pass, or is of a
kind that this build does not know.
Examples:
  harness parity cases/python_random_sample cases/statistics
  harness parity cases/* --json)"};
  command.add("folders", &o->folders, "case folders", {.required = true, .is_path = true});
  add_json_option(command, o->json);
  command.run = [o] { return parity(*o); };
  return command;
}

const bool kRegistered = register_command(120, make_parity);

}  // namespace
}  // namespace harness

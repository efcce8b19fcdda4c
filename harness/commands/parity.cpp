#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "core/streams.h"
#include "core/weights/parity_report.h"
#include "datasets/python_random_parity.h"
#include "evaluators/geneval/rule_parity.h"
#include "evaluators/text_metrics_parity.h"
#include "harness/commands/command.h"
#include "harness/plan/worker_request.h"
#include "harness/terminal/output.h"
#include "results/statistics/statistics_parity.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// Kinds that need no model. An Error of the case itself (a broken file) is that case's failure.
std::optional<ParityReport> check_here(const fs::path& folder, const Json& case_json,
                                       const std::string& kind) {
  using Compute = ParityOutputs (*)(const Json&, const std::string&);
  static const std::map<std::string, Compute> computed_here = {
      {"python_random_sample", python_random_outputs}, {"ocr_text_metrics", text_metrics_outputs}};
  try {
    if (kind == "statistics") return check_statistics_case(folder);
    if (kind == "geneval_rule") return check_geneval_rule_case(folder);
    const auto compute = computed_here.find(kind);
    if (compute == computed_here.end()) return std::nullopt;
    return compare_outputs(folder, compute->second(case_json, (folder / "case.json").string()));
  } catch (const Error& error) {
    return ParityReport{.name = case_json.at("name"), .kind = kind, .message = error.what()};
  }
}

/// {"cases": [{"name", "kind", "passed", "max_abs", "max_rel", "message"}]} in the order given: kinds without
/// a model are checked here, the others in harness-worker.
Json check_parity(const std::vector<fs::path>& folders) {
  std::vector<Json> cases(folders.size());
  std::vector<std::size_t> for_worker;
  Json worker_folders = Json::array();
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const auto file = folders[i] / "case.json";
    if (!fs::exists(file))
      throw Error("holds no case.json", folders[i].string(), "give folders of parity cases");
    const Json case_json = read_json(file);
    Fields fields(case_json, file.string());
    fields.required<std::string>("name");
    const auto kind = fields.required<std::string>("kind");
    if (auto answer = check_here(folders[i], case_json, kind)) {
      cases[i] = answer->to_json();
    } else {
      for_worker.push_back(i);
      worker_folders.push_back(fs::absolute(folders[i]).string());
    }
  }
  if (!for_worker.empty()) {
    const auto answer = ask_worker("parity", {{"cases", worker_folders}, {"json", true}});
    const auto& answers = answer.at("cases");
    if (answers.size() != for_worker.size()) {
      throw Error("harness-worker answered for another number of cases", "parity", "", Status::kFailed);
    }
    for (std::size_t i = 0; i < for_worker.size(); ++i) cases[for_worker[i]] = answers[i];
  }
  return {{"cases", cases}};
}

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
  const bool all = std::ranges::all_of(cases, [](const Json& c) { return c.at("passed").get<bool>(); });
  return print_answer(
      o.json, answer, [&] { print_cases(cases); }, all ? 0 : 1);
}

Command make_parity() {
  auto o = std::make_shared<Options>();
  Command command{"parity", "Check this build against recorded reference computations", R"(
Prints for each case its largest error, the same over its tensor's largest value, the tolerance of the tensor
that comes nearest to its own, and how much of it that one used. Exit status 1 if a case does not pass, or is
of a kind that this build does not know.
Examples:
  harness parity cases/python_random_sample cases/statistics
  harness parity cases/* --json)"};
  command.add("folders", &o->folders, "case folders", {.required = true, .is_path = true});
  return with_json(std::move(command), o, parity);
}

const bool kRegistered = register_command(CommandGroup::kCheck, 30, make_parity);

}  // namespace
}  // namespace harness

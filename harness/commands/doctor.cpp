#include "harness/checks/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/streams.h"
#include "harness/commands/command.h"
#include "harness/commands/db_options.h"
#include "harness/terminal/output.h"

namespace harness {
namespace {

const char* state_of(const Finding& finding) {
  if (finding.found) return "ok";
  return finding.needed ? "MISSING" : "missing";
}

void print_findings(const std::vector<Finding>& findings) {
  std::string topic;
  for (const auto& finding : findings) {
    if (finding.topic != topic) put("{}{}\n", topic.empty() ? "" : "\n", finding.topic);
    topic = finding.topic;
    std::string text = finding.detail;
    if (!finding.found && !finding.hint.empty()) text += (text.empty() ? "" : "; ") + finding.hint;
    put("  {:<8} {:<31} {}\n", state_of(finding), finding.name, text);
  }
}

Json findings_json(const std::vector<Finding>& findings, bool healthy) {
  Json list = Json::array();
  for (const auto& finding : findings) {
    list.push_back({{"topic", finding.topic},
                    {"name", finding.name},
                    {"found", finding.found},
                    {"needed", finding.needed},
                    {"detail", finding.detail},
                    {"hint", finding.found ? "" : finding.hint}});
  }
  return {{"healthy", healthy}, {"findings", std::move(list)}};
}

struct Options {
  WorkspaceChoice place;
  std::string weights, prompts, scorers;
  bool json = false;
};

int doctor(const Options& o) {
  const auto findings = examine({.workspace = find_workspace(o.place),
                                 .weights = o.weights,
                                 .prompts = o.prompts,
                                 .scorers = o.scorers});
  const bool healthy = std::ranges::all_of(findings, [](const Finding& f) { return f.found || !f.needed; });
  if (o.json) {
    print_json(findings_json(findings, healthy));
  } else {
    print_findings(findings);
  }
  return healthy ? 0 : 1;
}

Command make_doctor() {
  auto o = std::make_shared<Options>();
  Command command{"doctor", "What is there, and what is missing for which feature", R"(
"ok" is there; "missing" leaves one feature out, and says which; "MISSING" is needed by the embedded default
(`harness reproduce --table sd35-ocr`), and gives exit status 1.
Examples:
  harness doctor
  harness doctor --weights models/stable-diffusion-3.5-medium --prompts flow_grpo/dataset
  harness doctor --scorers models/scorers
  harness doctor --json)"};
  add_workspace_options(command, o->place);
  command.add("--weights", &o->weights, "a model folder to look at too", {.is_path = true});
  command.add("--prompts", &o->prompts, "a folder with ocr/test.txt or pickscore/test.txt to look at too",
              {.is_path = true});
  command.add("--scorers", &o->scorers,
              "a folder with one folder a scorer to look at too; external ones score a test image",
              {.is_path = true});
  add_json_option(command, o->json);
  command.run = [o] { return doctor(*o); };
  return command;
}

const bool kRegistered = register_command(180, make_doctor);

}  // namespace
}  // namespace harness

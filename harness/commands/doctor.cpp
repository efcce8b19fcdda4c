#include "harness/commands/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "core/event_log.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/streams.h"
#include "core/text.h"
#include "core/weights/weights_folder.h"
#include "datasets/prompt_set.h"
#include "harness/batch/trial_job.h"
#include "harness/commands/command.h"
#include "harness/plan/model_folder.h"
#include "harness/plan/plan.h"
#include "harness/plan/scorers.h"
#include "harness/plan/worker_request.h"
#include "harness/run/executor.h"
#include "harness/spec/external_scorers.h"
#include "harness/terminal/output.h"
#include "results/schema/database_file.h"
#include "results/store/store.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

/// A copy of a build folder goes on reading what is in the sources that it was built from.
std::string copied_note(const fs::path& folder) {
  const auto is_in_tree = [](const fs::path& path) {
    const auto inside = path.lexically_relative(source_tree());
    return !inside.empty() && *inside.begin() != "..";
  };
  if (!is_in_tree(folder) || is_in_tree(executable_folder())) return {};
  return fmt::format(
      " (of the sources that this copy in {} was built from; `cmake --install` gives it files of its own)",
      executable_folder().string());
}

/// Weights of every backbone, in the chosen folder or where the backbone looks.
std::vector<Finding> weights(const Registry& registry, const std::string& chosen) {
  std::vector<Finding> findings;
  const auto named = chosen.empty() ? std::string() : backbone_of_folder(chosen);
  for (const auto& backbone : registry.backbones) {
    const auto look = [&] {
      const auto folder = find_weights(backbone, backbone.name == named ? chosen : "");
      return folder.empty() ? "random, by seed"
                            : fmt::format("{}{}, sha256 {:.12}", folder.string(), copied_note(folder),
                                          weights_checksum(folder));
    };
    const auto failed = [&](const Error& error, Finding& missing) {
      missing.hint =
          missing.needed
              ? fmt::format("{}; {}", error.problem(), kSetup)
              : fmt::format("only for --backbone {}: name its folder with --weights DIR", backbone.name);
    };
    findings.push_back(look_for(
        {.name = "weights of " + backbone.name, .needed = !backbone.default_weights.empty()}, look, failed));
  }
  return findings;
}

/// The generated sets, and those of a folder laid out like the public repositories, one a task; or of a file.
std::vector<Finding> prompts(const std::string& place) {
  const auto generated = generated_prompt_set();
  std::vector<Finding> findings = {
      there("generated prompts",
            fmt::format("{} prompts, sha256 {:.12}", generated.prompts.size(), generated.sha256))};
  findings.front().needed = true;
  std::error_code unreadable;
  const bool is_file = fs::is_regular_file(place, unreadable);
  for (const auto& task : is_file ? std::vector{task_of_file(place)} : prompt_tasks()) {
    if (place.empty() || !has_prompt_file(place, task)) continue;
    const auto set = load_prompt_set(find_prompt_file(place, task), task);
    findings.push_back(
        there("public prompts", fmt::format("{}, {} prompts, sha256 {:.12}{}", set.name, set.prompts.size(),
                                            set.sha256, set.known ? "" : " (unknown)")));
  }
  if (findings.size() > 1) return findings;
  if (!place.empty()) find_prompt_file(place, kOcrPrompts);  // throws what is missing
  findings.push_back({.name = "public prompts",
                      .hint = "only for --prompts: a folder with ocr/test.txt, pickscore/test.txt or "
                              "geneval/test_metadata.jsonl, or a file (`harness doctor --prompts DIR` "
                              "checks one)"});
  return findings;
}

/// Scorers whose model comes from outside: where each was found, or where it was looked for.
std::vector<Finding> scorers(const Registry& registry, const std::string& chosen) {
  std::vector<Finding> findings;
  const ScorerFolders folders(registry, chosen);
  for (const auto& evaluator : registry.evaluators) {
    if (evaluator.folder_class.empty()) continue;
    const auto folder = folders.find(evaluator.name);
    const auto look = [&]() -> Detail {
      if (!folder) return std::nullopt;
      const auto files = scorer_files(*folder, evaluator.folder_parts);
      return fmt::format("{}, {} files {:.12}, read when a plan uses them", folder->string(), files.size(),
                         sha256_hex(canonical_json(Json(files))));
    };
    const auto failed = [&](const Error& error, Finding& missing) {
      missing.hint = error.hint().empty() ? "fetch the folder again" : error.hint();
      missing.detail = fmt::format("{} {}", folder->string(), error.problem());
    };
    findings.push_back(look_for(
        {.name = "scorer " + evaluator.name,
         .hint = fmt::format(
             "only for {}: no folder {}; it takes the files of a {} (`harness list evaluators` shows which)",
             join(names_of(evaluator.metrics), ", "), folders.looked_for(evaluator.name),
             evaluator.folder_class)},
        look, failed));
  }
  return findings;
}

/// External scorers of the chosen folder: each scores a test image.
std::vector<Finding> external_scorers(const std::string& chosen) {
  std::vector<Finding> findings;
  if (chosen.empty()) return findings;
  for (const auto& folder : external_scorer_folders(chosen)) {
    const auto look = [&] {
      const auto scorer = read_external_scorer(folder);
      for (const auto& [metric, reason] : try_external_scorer(scorer))
        throw without_trial_value(scorer, metric, reason);
      return fmt::format("external, version {}, answers with {}", scorer.version,
                         join(scorer.metric_names(), ", "));
    };
    const auto failed = [](const Error& error, Finding& missing) {
      missing.detail = fmt::format("{}: {}", error.where(), error.problem());
      missing.hint = error.hint();
    };
    findings.push_back(look_for({.name = "scorer " + folder.filename().string()}, look, failed));
  }
  return findings;
}

Finding disk(const fs::path& place) {
  std::error_code unknown;
  const auto free = static_cast<double>(fs::space(place, unknown).available);
  return {.name = "disk",
          .found = !unknown && free >= kNeededByDefault,
          .needed = true,
          .detail = unknown ? "" : fmt::format("{} free at {}", gigabytes(free), place.string()),
          .hint = kMemoryHint};
}

Finding database(const Workspace& workspace) {
  const auto look = [&] {
    if (!fs::exists(workspace.db)) return fmt::format("none yet at {}", workspace.db.string());
    Store store(workspace.db, OpenMode::kReadOnly);
    return fmt::format("{}, schema version {}, {}", workspace.db.string(), schema_version(store.database()),
                       counted(std::ssize(store.runs()), "run"));
  };
  const auto failed = [&](const Error& error, Finding& missing) {
    missing.detail = error.problem();
    missing.hint = with_place(error.hint().empty() ? kRebuildHint : error.hint(), workspace.options);
  };
  return look_for({.name = "database"}, look, failed);
}

std::vector<Finding> workspace_findings(const Workspace& workspace) {
  const auto place = existing_part(workspace.folder);
  const auto lock = workspace.folder / ".lock";
  const auto network = network_file_system_of(workspace.db);
  return {
      {.name = "folder",
       .found = ::access(place.c_str(), W_OK) == 0,
       .needed = true,
       .detail = workspace.folder.string() + (fs::exists(workspace.folder) ? "" : " (not made yet)"),
       .hint = "it cannot be written: choose another with --out"},
      disk(place),
      {.name = "file system",
       .found = !network,
       .detail = network.value_or("local"),
       .hint = "a network file system: the DB then uses a rollback journal and one process at a time; --db "
               "FILE beside --out DIR can put it on a local disk"},
      database(workspace),
      // Who works here: not a fault, but what a waiting command waits for.
      there("locks", event_log_is_held(lock)
                         ? fmt::format("a harness works here (pid {})", trim(read_file(lock)))
                         : "none held")};
}

/// That a batch job finds the program, its libraries and the workspace where it runs.
Finding trial_job(const Batch& batch, const Workspace& workspace, const std::string& arguments) {
  Finding finding{.name = "trial job",
                  .needed = true,
                  .hint = fmt::format(
                      "put the workspace (--out), the program and LibTorch (HARNESS_DEPS) on a file system "
                      "that all nodes see, and name a partition with {}",
                      batch.option())};
  const auto look = [&]() -> Detail {
    constexpr int kSeconds = 120;
    const auto answer = run_trial_job(batch, {.place = existing_part(workspace.folder),
                                              .words = {worker_program().string(), "describe"},
                                              .arguments = arguments,
                                              .limit_s = kSeconds});
    if (!Json::accept(answer.output)) throw Error("harness-worker does not answer on " + answer.node);
    return fmt::format("job {} on {}: found program, LibTorch and workspace", answer.job, answer.node);
  };
  return look_for(finding, look, [](const Error& error, Finding& missing) {
    missing.detail = error.problem();
    if (!error.hint().empty()) missing.hint = error.hint();
  });
}

std::vector<Finding> batch_findings(const Batch& batch, const Workspace& workspace,
                                    const std::string& arguments) {
  const auto& names = batch.names;
  auto queue = look_for({.name = names.submit + ", " + names.list, .needed = true}, [&]() -> Detail {
    batch.require({});
    return first_line({names.submit, "--version"});
  });
  if (!queue.found) return {queue};
  return {queue, trial_job(batch, workspace, arguments)};
}

struct Options {
  WorkspaceChoice place;
  std::string weights, prompts, scorers;                  ///< folders to look into besides the usual places
  std::string executor = kLocalExecutor;                  ///< as of reproduce
  std::map<std::string, std::vector<std::string>> typed;  ///< as of DealingOptions

  std::string arguments(const Batch& batch) const { return join(typed.at(batch.names.executor), " "); }
  bool json = false;
};

/// Looks for everything that some feature of this build needs. Changes nothing, and throws only for folders
/// that were named and are not there.
std::vector<Finding> examine(const Options& options) {
  const auto workspace = find_workspace(options.place);
  std::vector<Finding> all;
  const auto add = [&](const std::string& topic, std::vector<Finding> findings) {
    for (auto& finding : findings) {
      finding.topic = topic;
      all.push_back(std::move(finding));
    }
  };
  std::optional<Registry> registry;
  add("machine", machine_findings());
  add("program", program_findings(registry));
  add("training", torch_findings());
  if (registry) add("training", weights(*registry, options.weights));
  add("evaluation", {tesseract_finding()});
  if (registry) add("evaluation", scorers(*registry, options.scorers));
  add("evaluation", external_scorers(options.scorers));
  add("evaluation", prompts(options.prompts));
  add("pictures", picture_findings());
  add("checks", python_findings());
  add("workspace", workspace_findings(workspace));
  if (const auto* batch = find_batch(options.executor))
    add(batch->names.name, batch_findings(*batch, workspace, options.arguments(*batch)));
  return all;
}

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

/// Those that nodes can be proved for.
std::vector<std::string> executors() {
  std::vector<std::string> names = {kLocalExecutor};
  for (const auto& batch : batches()) names.push_back(batch->names.executor);
  return names;
}

int doctor(const Options& o) {
  require_choice(o.executor, executors(), "executor", "--executor");
  for (const auto& batch : batches()) batch->parse(o.arguments(*batch));
  const auto findings = examine(o);
  const bool healthy = std::ranges::all_of(findings, [](const Finding& f) { return f.found || !f.needed; });
  return print_answer(
      o.json, findings_json(findings, healthy), [&] { print_findings(findings); }, healthy ? 0 : 1);
}

Command make_doctor() {
  auto o = std::make_shared<Options>();
  Command command{"doctor", "Check what is installed, and what is missing for which feature", R"(
"ok" is there; "missing" leaves out one feature, which is named; "MISSING" is needed by the embedded default
(`harness reproduce --table sd35-ocr`) and gives exit status 1.
Examples:
  harness doctor
  harness doctor --weights models/stable-diffusion-3.5-medium --prompts flow_grpo/dataset
  harness doctor --scorers models/scorers
  harness doctor --executor slurm --slurm '--partition=gpu' --out /shared/runs
  harness doctor --json)"};
  add_workspace_options(command, o->place);
  command.add("--weights", &o->weights, "also check this model folder", kFolder);
  command.add("--prompts", &o->prompts,
              "also check this file of prompts, or ocr/test.txt, pickscore/test.txt or "
              "geneval/test_metadata.jsonl in this folder",
              kFolderOrFile);
  command.add("--scorers", &o->scorers,
              "also check its scorers, one folder each; external ones score a test image", kFolder);
  command.add("--executor", &o->executor,
              batch_executors() + ": also run a one-minute job, which proves that nodes find all",
              {.offers = executors, .value = "NAME"});
  add_batch_options(command, o->typed, "that job", 1);
  return with_json(std::move(command), o, doctor);
}

const bool kRegistered = register_command(CommandGroup::kCheck, 40, make_doctor);

}  // namespace
}  // namespace harness

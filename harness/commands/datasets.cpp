#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "core/files.h"
#include "core/streams.h"
#include "datasets/prompt_set.h"
#include "datasets/split.h"
#include "harness/commands/commands.h"
#include "harness/output.h"
#include "harness/workspace.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

struct DatasetsOptions {
  bool json = false;
  std::string path, task = "ocr", out = "runs", train_prompts;
  std::uint64_t seed = 20260501;
  int of = 1018, take = 256;
};

Json set_row(const PromptSet& set) {
  return {{"name", set.name},
          {"prompts", set.prompts.size()},
          {"sha256", set.sha256},
          {"known", set.known},
          {"origin", set.origin}};
}

PromptSet load(const DatasetsOptions& options) {
  const fs::path path = options.path;
  return load_prompt_set(fs::is_directory(path) ? find_prompt_file(path, options.task) : path, options.task);
}

int list(const DatasetsOptions& options) {
  std::vector<Json> rows = {set_row(generated_prompt_set()), set_row(generated_training_set())};
  const auto imported = find_workspace({.out = options.out, .db = {}}).prompts_folder();
  if (fs::is_directory(imported)) {
    for (const auto& entry : fs::directory_iterator(imported)) {
      for (const auto& task : prompt_tasks()) {
        const auto file = entry.path() / task / "test.txt";
        if (fs::exists(file)) rows.push_back(set_row(load_prompt_set(file, task)));
      }
    }
  }
  if (options.json) {
    print_json(rows);
  } else {
    print_rows(rows, {"name", "prompts", "sha256", "origin"});
  }
  return 0;
}

/// Copies a checked set to OUT/prompts/NAME, in the layout that --prompts reads.
int import(const DatasetsOptions& options) {
  const auto set = load(options);
  const auto folder = find_workspace({.out = options.out, .db = {}}).prompts_folder() / set.name;
  make_folder(folder / options.task);
  // Byte for byte, since the checksum is the set's name.
  write_file_atomically(folder / options.task / "test.txt", read_file(set.origin));
  if (!set.known) tell("note: the checksum {:.12} is not one of the public sets'\n", set.sha256);
  auto row = set_row(set);
  row["folder"] = folder.string();
  if (options.json) {
    print_json(row);
  } else {
    put("{} ({} prompts) is in {}; use it with --prompts {}\n", set.name, set.prompts.size(), folder.string(),
        folder.string());
  }
  return 0;
}

PromptSet training_set(const DatasetsOptions& options) {
  if (options.train_prompts.empty()) return generated_training_set();
  return load_prompt_set(find_training_file(options.train_prompts, options.task), options.task);
}

/// Status 1 if an evaluation prompt, or of the OCR task what it quotes, occurs in the training set.
int verify(const DatasetsOptions& options) {
  const auto set = options.path.empty() ? generated_prompt_set() : load(options);
  const auto training = training_set(options);
  const auto shared = overlap(set, training);
  Json row = set_row(set);
  row["training_set"] = training.name;
  row["prompts_with_target"] =
      std::ranges::count_if(set.prompts, [](const Prompt& p) { return !p.target.empty(); });
  row["shared_texts"] = shared.texts.size();
  row["shared_targets"] = shared.targets.size();
  if (options.json) {
    print_json(row);
  } else {
    put("{}: {} prompts, sha256 {}\n{}\n", set.name, set.prompts.size(), set.sha256,
        set.known ? "the checksum is a known one" : "the checksum is not one of the public sets'");
    put("{} of its prompts quote a text\n", row["prompts_with_target"].get<int>());
    put("shared with the training set {}: {} texts, {} targets\n", training.name, shared.texts.size(),
        shared.targets.size());
    for (const auto& [a, b] : shared.texts) put("  line {} is line {} of the training set\n", a + 1, b + 1);
    for (const auto& [a, b] : shared.targets) {
      put("  the target of line {} is that of line {} of the training set: \"{}\"\n", a + 1, b + 1,
          set.prompts[static_cast<std::size_t>(a)].target);
    }
  }
  const bool counts_targets = options.task == kOcrPrompts;
  return shared.texts.empty() && (!counts_targets || shared.targets.empty()) ? 0 : 1;
}

int split(const DatasetsOptions& options) {
  const auto parts = make_split(options.seed, options.of, options.take);
  if (options.json) {
    print_json({{"validation", parts.validation}, {"test", parts.test}});
  } else {
    put("validation ({}): {}\ntest ({}): {}\n", parts.validation.size(), fmt::join(parts.validation, " "),
        parts.test.size(), fmt::join(parts.test, " "));
  }
  return 0;
}

}  // namespace

void add_datasets_command(CLI::App& app, Actions& actions) {
  auto* command = app.add_subcommand("datasets", "Prompt sets and splits");
  command->require_subcommand(1);
  command->footer(R"(
Examples:
  harness datasets split --seed 20260501 --of 1018 --take 256 --json
  harness datasets import ~/flow_grpo/dataset
  harness datasets verify ~/flow_grpo/dataset
  harness datasets verify ~/Flow-Factory/dataset --task pickscore)");
  auto options = std::make_shared<DatasetsOptions>();
  const auto add = [&](const char* name, const char* help, int (*action)(const DatasetsOptions&)) {
    auto* sub = command->add_subcommand(name, help);
    sub->add_flag("--json", options->json, "one JSON document on standard output");
    actions[sub] = [options, action] { return action(*options); };
    return sub;
  };
  auto* list_command = add("list", "list the prompt sets of this build and of a workspace", list);
  list_command->add_option("-o,--out", options->out, "workspace")->capture_default_str();
  auto* import_command = add("import", "check a prompt set and keep a copy in the workspace", import);
  import_command->footer(
      "\nExamples:\n  harness datasets import ~/flow_grpo/dataset\n  harness datasets import my-prompts.txt "
      "--out runs");
  import_command->add_option("path", options->path, "a folder with TASK/test.txt, or a file")->required();
  import_command->add_option("--task", options->task, "ocr, whose prompts all quote a text, or pickscore")
      ->capture_default_str();
  import_command->add_option("-o,--out", options->out, "workspace")->capture_default_str();
  auto* verify_command = add("verify", "checksum, and that no prompt occurs in the training set", verify);
  verify_command->footer(
      "\nExamples:\n  harness datasets verify\n  harness datasets verify ~/flow_grpo/dataset --json\n"
      "  harness datasets verify ~/Flow-Factory/dataset --task pickscore --train-prompts "
      "~/Flow-Factory/dataset/pickscore");
  verify_command->add_option("path", options->path,
                             "a folder with TASK/test.txt, or a file; unset: the generated set");
  verify_command->add_option("--task", options->task, "ocr, whose prompts all quote a text, or pickscore")
      ->capture_default_str();
  verify_command->add_option("--train-prompts", options->train_prompts,
                             "folder with train.txt, or TASK/train.txt; unset: the generated training set");
  auto* split_command = add("split", "the split that Python's random.Random(seed).sample gives", split);
  split_command->footer("\nExamples:\n  harness datasets split --seed 20260501 --of 1018 --take 256 --json");
  split_command->add_option("--seed", options->seed, "seed")->capture_default_str();
  split_command->add_option("--of", options->of, "prompts to divide")->capture_default_str();
  split_command->add_option("--take", options->take, "size of the validation split")->capture_default_str();
}

}  // namespace harness

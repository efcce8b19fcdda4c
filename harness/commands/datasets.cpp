#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "core/files.h"
#include "core/streams.h"
#include "datasets/prompt_set.h"
#include "datasets/split.h"
#include "harness/commands/command.h"
#include "harness/plan/workspace.h"
#include "harness/terminal/output.h"

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
  return print_list(options.json, rows, {"name", "prompts", "sha256", "origin"});
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
  return print_answer(options.json, row, [&] {
    put("{} ({} prompts) is in {}; use it with --prompts {}\n", set.name, set.prompts.size(), folder.string(),
        folder.string());
  });
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
  const auto print_words = [&] {
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
  };
  const bool counts_targets = options.task == kOcrPrompts;
  const bool apart = shared.texts.empty() && (!counts_targets || shared.targets.empty());
  return print_answer(options.json, row, print_words, apart ? 0 : 1);
}

int split(const DatasetsOptions& options) {
  const auto parts = make_split(options.seed, options.of, options.take);
  return print_answer(options.json, {{"validation", parts.validation}, {"test", parts.test}}, [&] {
    put("validation ({}): {}\ntest ({}): {}\n", parts.validation.size(), fmt::join(parts.validation, " "),
        parts.test.size(), fmt::join(parts.test, " "));
  });
}

Command make_below(const char* name, const char* help, const char* notes,
                   const std::shared_ptr<DatasetsOptions>& o, int (*action)(const DatasetsOptions&)) {
  Command command{name, help, notes};
  add_json_option(command, o->json);
  command.run = [o, action] { return action(*o); };
  return command;
}

void add_out_option(Command& command, DatasetsOptions& o) {
  command.add("-o,--out", &o.out, "workspace", {.is_path = true});
}

void add_task_option(Command& command, DatasetsOptions& o) {
  command.add("--task", &o.task, "ocr, whose prompts all quote a text, or pickscore",
              {.offers = prompt_tasks});
}

std::vector<Command> commands_below(const std::shared_ptr<DatasetsOptions>& o) {
  auto list_sets = make_below("list", "list the prompt sets of this build and of a workspace", "", o, list);
  add_out_option(list_sets, *o);
  auto import_set = make_below("import", "check a prompt set and keep a copy in the workspace", R"(
Examples:
  harness datasets import ~/flow_grpo/dataset
  harness datasets import my-prompts.txt --out runs)",
                               o, import);
  import_set.add("path", &o->path, "a folder with TASK/test.txt, or a file",
                 {.required = true, .is_path = true});
  add_task_option(import_set, *o);
  add_out_option(import_set, *o);
  auto verify_set = make_below("verify", "checksum, and that no prompt occurs in the training set", R"(
Examples:
  harness datasets verify
  harness datasets verify ~/flow_grpo/dataset --json
  harness datasets verify ~/Flow-Factory/dataset --task pickscore --train-prompts ~/Flow-Factory/dataset/pickscore)",
                               o, verify);
  verify_set.add("path", &o->path, "a folder with TASK/test.txt, or a file; unset: the generated set",
                 {.is_path = true});
  add_task_option(verify_set, *o);
  verify_set.add("--train-prompts", &o->train_prompts,
                 "folder with train.txt, or TASK/train.txt; unset: the generated training set",
                 {.is_path = true});
  auto split_set = make_below("split", "the split that Python's random.Random(seed).sample gives", R"(
Examples:
  harness datasets split --seed 20260501 --of 1018 --take 256 --json)",
                              o, split);
  split_set.add("--seed", &o->seed, "seed");
  split_set.add("--of", &o->of, "prompts to divide");
  split_set.add("--take", &o->take, "size of the validation split");
  return {list_sets, import_set, verify_set, split_set};
}

Command make_datasets() {
  Command command{"datasets", "Prompt sets and splits", R"(
Examples:
  harness datasets split --seed 20260501 --of 1018 --take 256 --json
  harness datasets import ~/flow_grpo/dataset
  harness datasets verify ~/flow_grpo/dataset
  harness datasets verify ~/Flow-Factory/dataset --task pickscore)"};
  command.commands = commands_below(std::make_shared<DatasetsOptions>());
  return command;
}

const bool kRegistered = register_command(110, make_datasets);

}  // namespace
}  // namespace harness

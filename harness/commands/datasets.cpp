#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/error.h"
#include "core/files.h"
#include "core/streams.h"
#include "core/text.h"
#include "datasets/geneval_prompts.h"
#include "datasets/prompt_set.h"
#include "datasets/split.h"
#include "harness/commands/command.h"
#include "harness/prompts/prompt_notes.h"
#include "harness/terminal/output.h"
#include "harness/workspace/workspace.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

struct DatasetsOptions {
  bool json = false;
  std::string path, task = "ocr", out = "runs", train_prompts;
  std::uint64_t seed = 20260501;
  std::optional<int> of, first;
  int take = 256;
};

Json set_row(const PromptSet& set) {
  return {{"name", set.name},
          {"prompts", set.prompts.size()},
          {"sha256", set.sha256},
          {"known", set.known},
          {"origin", set.origin}};
}

/// Prompts by tag: {"single_object": 80, ...}.
Json tags_of(const PromptSet& set) {
  Json tags = Json::object();
  for (const auto& [tag, count] : tag_counts(set.prompts)) tags[tag] = count;
  return tags;
}

/// "single_object 80, two_object 99"
std::string tags_text(const PromptSet& set) {
  std::vector<std::string> texts;
  for (const auto& [tag, count] : tag_counts(set.prompts)) texts.push_back(fmt::format("{} {}", tag, count));
  return join(texts, ", ");
}

bool is_of_records(const PromptSet& set) {
  return !vocabulary_of(set).empty();
}

PromptSet load(const DatasetsOptions& options) {
  const fs::path path = options.path;
  return load_prompt_set(fs::is_directory(path) ? find_prompt_file(path, options.task) : path, options.task);
}

int list(const DatasetsOptions& options) {
  std::vector<Json> rows;
  for (const auto& name : own_prompt_sets()) rows.push_back(set_row(own_prompt_set(name)));
  const auto imported = find_workspace({.out = options.out, .db = {}}).prompts_folder();
  if (fs::is_directory(imported)) {
    for (const auto& entry : fs::directory_iterator(imported)) {
      if (!entry.is_directory()) continue;
      for (const auto& task : prompt_tasks()) {
        if (has_prompt_file(entry.path(), task))
          rows.push_back(set_row(load_prompt_set(find_prompt_file(entry.path(), task), task)));
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
  write_file_atomically(folder / options.task / kept_file_name(options.task), read_file(set.origin));
  if (!set.known) tell("note: the checksum {:.12} is not one of the public sets'\n", set.sha256);
  for (const auto& note : set.notes) tell("note: {}\n", note);
  auto row = set_row(set);
  row["folder"] = folder.string();
  return print_answer(options.json, row, [&] {
    put("{} ({} prompts) is in {}; use it with --prompts {}\n", set.name, set.prompts.size(), folder.string(),
        folder.string());
  });
}

PromptSet training_set(const DatasetsOptions& options, const PromptSet& evaluation) {
  if (options.train_prompts.empty()) return own_training_set(options.task, vocabulary_of(evaluation));
  return load_prompt_set(find_training_file(options.train_prompts, options.task), options.task);
}

/// Status 1 if an evaluation prompt, or of the OCR task what it quotes, occurs in the training set.
int verify(const DatasetsOptions& options) {
  const auto own = options.task == kGenevalPrompts ? "geneval-shapes" : "ocr-generated";
  const auto set = options.path.empty() ? own_prompt_set(own) : load(options);
  const auto training = training_set(options, set);
  const auto shared = overlap(set, training);
  Json row = set_row(set);
  row["training_set"] = training.name;
  const auto targets = std::ranges::count_if(set.prompts, [](const Prompt& p) { return !p.target.empty(); });
  if (is_of_records(set)) {
    row["tags"] = tags_of(set);
  } else {
    row["prompts_with_target"] = targets;
  }
  row["shared_texts"] = shared.texts.size();
  row["shared_but_for_case_or_blanks"] = alike_but_not_equal(set, training, shared.texts);
  row["shared_targets"] = shared.targets.size();
  const auto print_words = [&] {
    put("{}: {} prompts, sha256 {}\n{}\n", set.name, set.prompts.size(), set.sha256,
        set.known ? "the checksum is a known one" : "the checksum is not one of the public sets'");
    for (const auto& note : set.notes) put("{}\n", note);
    put("{}\n", is_of_records(set) ? "by tag: " + tags_text(set)
                                   : fmt::format("{} of its prompts quote a text", targets));
    put("shared with the training set {}: {} texts, {} targets\n", training.name, shared.texts.size(),
        shared.targets.size());
    for (const auto& [a, b] : shared.texts) {
      const bool is_equal =
          set.prompts[static_cast<std::size_t>(a)].text == training.prompts[static_cast<std::size_t>(b)].text;
      put("  line {} is line {} of the training set{}\n", a + 1, b + 1,
          is_equal ? "" : ", but for case, blanks or Unicode form");
    }
    for (const auto& [a, b] : shared.targets) {
      put("  line {} has the same target as line {} of the training set: \"{}\"\n", a + 1, b + 1,
          set.prompts[static_cast<std::size_t>(a)].target.shown());
    }
  };
  const bool counts_targets = options.task == kOcrPrompts;
  const bool apart = shared.texts.empty() && (!counts_targets || shared.targets.empty());
  return print_answer(options.json, row, print_words, apart ? 0 : 1);
}

PromptSet part_of(const PromptSet& set, const std::vector<int>& positions) {
  PromptSet part{.name = set.name, .sha256 = {}, .known = false, .origin = set.origin, .prompts = {}};
  for (const int position : positions)
    part.prompts.push_back(set.prompts.at(static_cast<std::size_t>(position)));
  return part;
}

/// What is in each part: prompts that repeat, and of records their tags.
struct PartSummary {
  const char* name;
  PromptSet prompts;
  std::size_t different;
};

Json summary_row(const PartSummary& part) {
  Json row = {{"different", part.different}};
  if (is_of_records(part.prompts)) row["tags"] = tags_of(part.prompts);
  return row;
}

void put_summary(const PartSummary& part) {
  put("{}: {} prompts, {} of them different", part.name, part.prompts.prompts.size(), part.different);
  if (is_of_records(part.prompts)) put("; {}", tags_text(part.prompts));
  put("\n");
}

int split(const DatasetsOptions& options) {
  std::optional<PromptSet> set;
  if (!options.path.empty()) set = load(options);
  const int of = options.of.value_or(set ? static_cast<int>(set->prompts.size()) : 1018);
  if (set && static_cast<std::size_t>(of) > set->prompts.size())
    throw Error(fmt::format("{} has {} prompts", set->name, set->prompts.size()), fmt::format("--of {}", of));
  const SplitRule rule = options.first ? SplitRule{.seed = std::nullopt, .take = *options.first}
                                       : SplitRule{.seed = options.seed, .take = options.take};
  const auto parts = make_split(rule, of);
  Json answer = {{"validation", parts.validation}, {"test", parts.test}};
  std::vector<PartSummary> summaries;
  std::size_t repeated = 0;
  if (set) {
    summaries = {{"validation", part_of(*set, parts.validation), different_texts(*set, parts.validation)},
                 {"test", part_of(*set, parts.test), different_texts(*set, parts.test)}};
    repeated = parts.test.size() - without_texts_of(*set, parts.test, parts.validation).size();
    answer["set"] = set_row(*set);
    answer["test_repeats_validation"] = repeated;
    for (const auto& part : summaries) answer["summary"][part.name] = summary_row(part);
  }
  return print_answer(options.json, answer, [&] {
    put("validation ({}): {}\ntest ({}): {}\n", parts.validation.size(), fmt::join(parts.validation, " "),
        parts.test.size(), fmt::join(parts.test, " "));
    for (const auto& part : summaries) put_summary(part);
    if (set) put("{} test prompts are also validation prompts\n", repeated);
  });
}

void add_out_option(Command& command, DatasetsOptions& o) {
  command.add("-o,--out", &o.out, "workspace", kFolder);
}

void add_task_option(Command& command, DatasetsOptions& o) {
  command.add("--task", &o.task, "ocr (prompts that quote a text), pickscore, or geneval (records)",
              {.offers = prompt_tasks});
}

std::vector<Command> commands_below(const std::shared_ptr<DatasetsOptions>& o) {
  auto list_sets = with_json({"list", "List the prompt sets of this build and of a workspace"}, o, list);
  add_out_option(list_sets, *o);
  auto import_set = with_json({"import", "Check a prompt set and keep a copy in the workspace", R"(
Examples:
  harness datasets import ~/flow_grpo/dataset
  harness datasets import my-prompts.txt --out runs
  harness datasets import my-records.jsonl --task geneval)"},
                              o, import);
  import_set.add("path", &o->path, "a folder with TASK/test.txt (geneval/test_metadata.jsonl), or a file",
                 {.required = true, .is_path = true});
  add_task_option(import_set, *o);
  add_out_option(import_set, *o);
  auto verify_set =
      with_json({"verify", "Check that no prompt occurs in the training set, and the checksum", R"(
Examples:
  harness datasets verify
  harness datasets verify ~/flow_grpo/dataset --json
  harness datasets verify ~/Flow-Factory/dataset --task pickscore \
      --train-prompts ~/Flow-Factory/dataset/pickscore)"},
                o, verify);
  verify_set.add(
      "path", &o->path,
      "a folder with TASK/test.txt (geneval/test_metadata.jsonl), or a file (default: the generated set)",
      {.is_path = true});
  add_task_option(verify_set, *o);
  verify_set.add(
      "--train-prompts", &o->train_prompts,
      "a file, or a folder with train.txt (train.jsonl) or TASK/train.txt (default: the generated training set)",
      kFolderOrFile);
  auto split_set = with_json({"split", "Split prompts into validation and test, at random or by order", R"(
Validation is what Python's random.Random(seed).sample(range(of), take) gives, or with --first the first N.
Examples:
  harness datasets split --seed 20260501 --of 1018 --take 256 --json
  harness datasets split ~/flow_grpo/dataset --task geneval --first 64)"},
                             o, split);
  split_set.add(
      "path", &o->path,
      "prompts to count in each part: a folder with TASK/test.txt (geneval/test_metadata.jsonl), or a file",
      {.is_path = true});
  add_task_option(split_set, *o);
  split_set.add("--seed", &o->seed, "seed of Python's random");
  split_set.add("--of", &o->of, "prompts to divide", {.default_text = "all of a set, else 1018"});
  split_set.add("--take", &o->take, "size of the validation split");
  split_set.add("--first", &o->first, "take the first N for validation, in place of --seed and --take",
                {.excludes = {"--seed", "--take"}});
  return {list_sets, import_set, verify_set, split_set};
}

Command make_datasets() {
  Command command{"datasets", "List, import, verify or split prompt sets", R"(
Examples:
  harness datasets split --seed 20260501 --of 1018 --take 256 --json
  harness datasets import ~/flow_grpo/dataset
  harness datasets verify ~/flow_grpo/dataset
  harness datasets verify ~/Flow-Factory/dataset --task pickscore)"};
  command.commands = commands_below(std::make_shared<DatasetsOptions>());
  return command;
}

const bool kRegistered = register_command(CommandGroup::kManage, 30, make_datasets);

}  // namespace
}  // namespace harness

#include "datasets/prompt_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/case_conv.hpp>
#include <locale>
#include <map>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/unicode/normal_form.h"
#include "core/unicode/plain_text.h"
#include "datasets/generated_prompts.h"
#include "datasets/geneval_prompts.h"
#include "datasets/prompt_line.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

struct KnownSet {
  const char* sha256;
  const char* name;
  const char* source = "";  ///< file and repository of a public one
};

/// Raise kNumericsVersion when a generated set changes: stored results refer to these checksums.
constexpr std::array kKnownSets{
    KnownSet{"4dd8caf3ab6ade73bd376c7d14c6ca49b6eacfb1bd321e22c40714ae4a98d4dc", "ocr-flow-grpo",
             "dataset/ocr/test.txt of the repository yifan123/flow_grpo"},
    KnownSet{"0c076dd58bcbf73e7f11b5e2d72de120757b47099fef10583a694d34e0d4866e", "ocr-generated"},
    KnownSet{"c937f8d8a4bbc2014d4907411af2026d02aac5f23bc12f82a4f80778b55b2f9b", "ocr-train-generated"},
    KnownSet{"efa75b546ff67adf865a62054fb5aa82a3fc843289eef4343cd1552e9eae670f", "ocr-dark-generated"},
    KnownSet{"537041c99a0ecc3ae477dc335438fac255bab8c78d7b36cae205c77534bdc60e", "ocr-dark-train-generated"},
    KnownSet{"d839050acb06aa045e399e76a81e4ade9a55fc743dc0e22e7b3eaeaca5c19107", "pickscore-public",
             "dataset/pickscore/test.txt of the repository X-GenGroup/Flow-Factory"},
    KnownSet{"f7ccf3512532e8c86c677a09907dad85a38a2d22ca95e701c11779b88cad33f0", "pickscore-train-public",
             "dataset/pickscore/train.txt of the repository X-GenGroup/Flow-Factory"},
    KnownSet{"4c117771158b44c85dea52596cef16b813745f8c355217537b0303336228870a", "pickscore-train-disjoint",
             "dataset/pickscore/train.txt of the repository X-GenGroup/Flow-Factory without its line 10431, "
             "which is line 889 of test.txt (sed 10431d)"},
    KnownSet{"5c48e0813e812e3c373fa5c8ed07a8f0a483be30272b4427b0559c8048e67c13", "geneval-public",
             "prompts/evaluation_metadata.jsonl of the repository djghosh13/geneval"},
    KnownSet{"cec4b24b9fee7bac21c8f787054ecc8dc9ff831674037713a4cd35e0f0a74a28", "geneval-flow-grpo",
             "dataset/geneval/test_metadata.jsonl of the repository yifan123/flow_grpo"},
    KnownSet{"1be3a388a88474444dfb800b4e74db8b50411a037c9f3d37a22d1d096cf21720", "geneval-shapes"},
    KnownSet{"4f8ad4c259b7acde18ca6bdd03e73776b795b1c530499b43d6ac75abbf6532f9", "geneval-shapes-train"},
    KnownSet{"e130a1044918adc9ee4d385b6785e7bb3a84b0d99904cfb8504ce5575854bfc7", "geneval-train-generated"},
};

/// A set that travels inside the program.
struct OwnSet {
  const char* name;
  const char* const* bytes;
};
constexpr std::array kOwnSets{
    OwnSet{"ocr-generated", &kGeneratedPrompts},
    OwnSet{"ocr-train-generated", &kGeneratedTrainingPrompts},
    OwnSet{"ocr-dark-generated", &kDarkPrompts},
    OwnSet{"ocr-dark-train-generated", &kDarkTrainingPrompts},
    OwnSet{"geneval-shapes", &kShapesRecords},
    OwnSet{"geneval-shapes-train", &kShapesTrainingRecords},
    OwnSet{"geneval-train-generated", &kGenevalTrainingRecords},
};

/// Where the prompts of a task are in a folder, the first that is there.
struct PromptFiles {
  std::vector<std::string> evaluation, training;
};
const PromptFiles& files_of(const std::string& task) {
  static const PromptFiles lines{.evaluation = {"test.txt"}, .training = {"train.txt"}};
  static const PromptFiles records{
      .evaluation = {"test_metadata.jsonl", "test.jsonl", "evaluation_metadata.jsonl"},
      .training = {"train.jsonl", "train_metadata.jsonl"}};
  return task == kGenevalPrompts ? records : lines;
}

void require_task(const std::string& task) {
  const auto& tasks = prompt_tasks();
  if (std::find(tasks.begin(), tasks.end(), task) != tasks.end()) return;
  throw Error(fmt::format("no prompt sets for task \"{}\"", task), "task", suggestion(task, tasks));
}

PromptSet identified(std::string_view bytes, const std::string& task, std::string origin,
                     std::vector<Prompt> prompts) {
  const auto sha256 = sha256_hex(bytes);
  PromptSet set{
      task + "-user-" + sha256.substr(0, 8), sha256, false, std::move(origin), std::move(prompts), {}};
  for (const KnownSet& known : kKnownSets) {
    if (set.sha256 != known.sha256) continue;
    set.name = known.name;
    set.known = true;
  }
  return set;
}

/// A target as it is compared between sets: folded, without blanks.
std::string target_key(std::string_view target) {
  auto key = folded_text(target);
  std::erase(key, ' ');
  return key;
}

/// Of each prompt of `a` the first of `b` with its key, one of the same text before others.
template <class Key>
std::vector<std::pair<int, int>> common(const PromptSet& a, const PromptSet& b, Key key) {
  std::map<std::string, std::vector<const Prompt*>> in_b;
  for (const Prompt& prompt : b.prompts) {
    if (auto text = key(prompt); !text.empty()) in_b[std::move(text)].push_back(&prompt);
  }
  std::vector<std::pair<int, int>> pairs;
  for (const Prompt& prompt : a.prompts) {
    const auto found = in_b.find(key(prompt));
    if (found == in_b.end()) continue;
    const auto& others = found->second;
    const auto equal = std::ranges::find(others, prompt.text, &Prompt::text);
    pairs.emplace_back(prompt.position, (equal == others.end() ? others.front() : *equal)->position);
  }
  return pairs;
}

/// Names the quotes that a prompt without a target has instead.
std::string hint_for_quotes(std::string_view prompt) {
  constexpr std::string_view kHint = "put the text that the image should show in double quotes";
  for (const std::string_view quote : {"\u201c", "\u201d", "\u201e", "\u00ab", "\u300c", "\uff02"}) {
    if (prompt.find(quote) != std::string_view::npos)
      return fmt::format("{}: this prompt has {}, and only \" (U+0022) counts", kHint, quote);
  }
  return std::string(kHint);
}

/// The target of a line of the file; prompts of other tasks than "ocr" need none.
std::string target_of(const std::string& line, const std::string& task, const std::string& where) {
  if (task != kOcrPrompts) return target_or_nothing(line);
  try {
    return ocr_target(line);
  } catch (const Error& error) {
    throw Error(error.problem(), where, error.hint());
  }
}

/// Whether a line is the names of a table's columns, one of which is that of prompts.
bool is_header(std::string_view line) {
  std::vector<std::string> names;
  for (const auto& field : split(line, line.find('\t') == line.npos ? ',' : '\t')) {
    auto name = std::string(trim(field));
    if (name.size() > 1 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
    boost::algorithm::to_lower(name, std::locale::classic());
    names.push_back(std::move(name));
  }
  return std::ranges::any_of(names, [](const std::string& name) {
    return name == "prompt" || name == "prompts" || name == "text" || name == "caption";
  });
}

/// Throws Error for what other programs read as a table or as JSON: each of its lines would be a prompt.
void refuse_tables(const std::vector<std::string>& lines, const std::string& file) {
  constexpr const char* kHint =
      "write one prompt per line, without names of columns, quotes around it or numbers";
  const std::string first(trim(lines.front()));
  if (is_header(first))
    throw Error(fmt::format("{} is a line of column names, not a prompt", in_quotes(first)), file + ":1",
                kHint);
  if (first == "[" || first.starts_with("[\"") || first.starts_with("{\"") || first.starts_with("[{") ||
      first == "{")
    throw Error("holds JSON, not one prompt per line", file + ":1",
                std::string(kHint) + "; GenEval's records are in a file that ends in .jsonl");
  const auto is_quoted = [](const std::string& line) {
    return line.size() > 1 && line.front() == '"' && line.back() == '"';
  };
  if (std::ranges::all_of(lines, is_quoted) &&
      std::ranges::any_of(lines, [](const auto& line) { return line.find("\"\"") != line.npos; }))
    throw Error("holds lines of CSV, quoted with doubled quotes inside, not prompts", file + ":1", kHint);
}

/// Prompts of each line.
std::vector<Prompt> read_prompts(const std::vector<std::string>& lines, const std::string& task,
                                 const std::string& file) {
  std::vector<Prompt> prompts;
  for (const std::string& line : lines) {
    const auto where = fmt::format("{}:{}", file, prompts.size() + 1);
    check_prompt_line(line, where);
    prompts.push_back({static_cast<int>(prompts.size()), line, Target(target_of(line, task, where))});
  }
  return prompts;
}

/// "id" (553 records), "source" (12 records)
std::string counts_text(const std::map<std::string, int>& unread) {
  std::vector<std::string> texts;
  for (const auto& [key, count] : unread)
    texts.push_back(fmt::format("{} ({})", in_quotes(key), counted(count, "record")));
  return join(texts, ", ");
}

PromptSet record_set(const std::vector<std::string>& lines, const std::string& task,
                     const std::string& origin, const std::string& end) {
  std::map<std::string, int> unread;
  auto prompts = read_geneval_prompts(lines, origin, unread);
  const auto bytes = geneval_file(geneval_records(prompts)) + end;
  auto set = identified(bytes, task, origin, std::move(prompts));
  if (!unread.empty())
    set.notes.push_back(
        fmt::format("Keys that GenEval does not know are not read: {}.", counts_text(unread)));
  return set;
}

/// The set of a file's bytes. Its checksum is that of its lines with Unix line ends, or of its records,
/// however their JSON is laid out; blank lines at the end are not of it.
PromptSet set_of(const std::string& bytes, const std::string& task, const std::string& origin) {
  auto lines = split(plain_text(bytes, origin), '\n');
  const std::string end = lines.size() > 1 && trim(lines.back()).empty() ? "\n" : "";
  while (!lines.empty() && trim(lines.back()).empty()) lines.pop_back();
  if (lines.empty()) throw Error("the file is empty", origin, "write one prompt on each line");
  if (task == kGenevalPrompts) return record_set(lines, task, origin, end);
  refuse_tables(lines, origin);
  auto prompts = read_prompts(lines, task, origin);
  return identified(join(lines, "\n") + end, task, origin, std::move(prompts));
}

constexpr const char *kRecords = ".jsonl", *kLines = ".txt";

/// Records and lines of text are distinguished by the file's name.
void expect_form(const fs::path& file, const std::string& task) {
  const bool is_records = file.extension() == kRecords;
  if (is_records == (task == kGenevalPrompts)) return;
  if (is_records)
    throw Error(fmt::format("holds records of GenEval, and the task is {}", task), file.string(),
                "choose the task geneval, or give a text file with one prompt per line");
  throw Error("the prompts of GenEval are records, one JSON object per line, in a file that ends in .jsonl",
              file.string(), "give such a file, or choose another task");
}

/// Where an option says that the prompts of a task are: a folder that has them under one of these names, or
/// their file.
struct PromptPlace {
  const fs::path& path;
  const std::string& task;
  const char* option;
  std::vector<std::string> names;  ///< the first that is there

  bool has_file() const { return is_file() ? is_of_task() : in_folder().has_value(); }

  fs::path file() const {
    if (is_file()) {
      expect_form(path, task);
      return path;
    }
    if (auto file = in_folder()) return *std::move(file);
    throw Error("no such file", (path / names.front()).string(),
                fmt::format("{} takes the folder that holds {}, or a {} file itself", option,
                            fmt::join(names, " or "), task == kGenevalPrompts ? kRecords : kLines));
  }

 private:
  bool is_of_task() const { return (path.extension() == kRecords) == (task == kGenevalPrompts); }

  /// Throws Error unless it is one or a folder.
  bool is_file() const {
    std::error_code unreadable;
    const auto status = fs::status(path, unreadable);
    if (fs::is_directory(status)) return false;
    const bool has_form = path.extension() == kLines || path.extension() == kRecords;
    if (fs::is_regular_file(status) && has_form) return true;
    throw Error(fs::exists(status) ? "is not a file of prompts" : "no such file or folder", path.string(),
                fmt::format("{} takes a folder, a .txt file with one prompt per line, or a .jsonl file with "
                            "one record of GenEval per line",
                            option));
  }

  std::optional<fs::path> in_folder() const {
    for (const auto& name : names)
      if (fs::is_regular_file(path / name)) return path / name;
    return std::nullopt;
  }
};

PromptPlace evaluation_place(const fs::path& path, const std::string& task) {
  require_task(task);
  PromptPlace place{path, task, "--prompts", {}};
  for (const auto& name : files_of(task).evaluation) place.names.push_back(fmt::format("{}/{}", task, name));
  return place;
}

PromptPlace training_place(const fs::path& path, const std::string& task) {
  require_task(task);
  PromptPlace place{path, task, "--train-prompts", {}};
  for (const auto& folder : {std::string(), task + "/"})
    for (const auto& name : files_of(task).training) place.names.push_back(folder + name);
  return place;
}

}  // namespace

std::string public_source_of(const std::string& set) {
  for (const KnownSet& known : kKnownSets) {
    if (set == known.name) return known.source;
  }
  return {};
}

const std::vector<std::string>& prompt_tasks() {
  static const std::vector<std::string> tasks{kOcrPrompts, kPickscorePrompts, kGenevalPrompts};
  return tasks;
}

std::string task_of_file(const fs::path& file) {
  return file.extension() == kRecords ? kGenevalPrompts : kPickscorePrompts;
}

std::string task_of_set(const std::string& name) {
  return name.substr(0, name.find('-'));
}

Prompt stored_prompt(const std::string& set, int position, std::string text, const std::string& target) {
  auto read = task_of_set(set) == kGenevalPrompts ? Target::of_record(text, target) : Target(target);
  return {position, std::move(text), std::move(read)};
}

PromptSet load_prompt_set(const fs::path& file, const std::string& task) {
  require_task(task);
  expect_form(file, task);
  return set_of(read_file(file), task, file.string());
}

fs::path find_prompt_file(const fs::path& place, const std::string& task) {
  return evaluation_place(place, task).file();
}

bool has_prompt_file(const fs::path& place, const std::string& task) {
  return evaluation_place(place, task).has_file();
}

fs::path find_training_file(const fs::path& place, const std::string& task) {
  return training_place(place, task).file();
}

bool has_training_file(const fs::path& place, const std::string& task) {
  return training_place(place, task).has_file();
}

std::string kept_file_name(const std::string& task) {
  return task == kGenevalPrompts ? "test.jsonl" : "test.txt";
}

const std::vector<std::string>& own_prompt_sets() {
  static const auto names = [] {
    std::vector<std::string> all;
    for (const OwnSet& own : kOwnSets) all.emplace_back(own.name);
    return all;
  }();
  return names;
}

void require_own_prompt_set(const std::string& name, const std::string& where) {
  if (std::ranges::count(own_prompt_sets(), name) > 0) return;
  throw Error(fmt::format("no prompt set \"{}\" is part of this program", name), where,
              suggestion(name, own_prompt_sets()));
}

PromptSet own_prompt_set(const std::string& name) {
  require_own_prompt_set(name, "prompts");
  const auto own = std::ranges::find(kOwnSets, name, &OwnSet::name);
  return set_of(*own->bytes, task_of_set(name), "generated");
}

std::string own_file_name(const std::string& name) {
  return name + (task_of_set(name) == kGenevalPrompts ? kRecords : ".txt");
}

PromptSet own_training_set(const std::string& task, std::string_view vocabulary) {
  if (task != kGenevalPrompts) return generated_training_set();
  const bool of_shapes = vocabulary == shapes_vocabulary().name;
  return own_prompt_set(of_shapes ? "geneval-shapes-train" : "geneval-train-generated");
}

std::string vocabulary_of(const PromptSet& set) {
  if (set.prompts.empty()) return {};
  const auto& record = set.prompts.front().target.record();
  return record ? std::string(record->vocabulary().name) : std::string();
}

PromptSet generated_prompt_set() {
  return own_prompt_set("ocr-generated");
}

PromptSet generated_training_set() {
  return own_prompt_set("ocr-train-generated");
}

std::string prompt_set_bytes(const PromptSet& set) {
  if (task_of_set(set.name) == kGenevalPrompts) return geneval_file(geneval_records(set.prompts));
  std::string bytes;
  for (const Prompt& prompt : set.prompts) {
    if (!bytes.empty()) bytes += '\n';
    bytes += prompt.text;
  }
  return bytes;
}

std::string ocr_target(std::string_view prompt) {
  const auto first = prompt.find('"');
  if (first == std::string_view::npos) throw Error("no quoted target", "prompt", hint_for_quotes(prompt));
  const auto rest = prompt.substr(first + 1);
  const auto target = rest.substr(0, rest.find('"'));
  if (target.find_first_not_of(' ') == std::string_view::npos) {
    throw Error("the quoted target is empty", "prompt", hint_for_quotes(prompt));
  }
  return std::string(target);
}

std::string target_or_nothing(std::string_view prompt) {
  try {
    return ocr_target(prompt);
  } catch (const Error&) {
    return {};
  }
}

Overlap overlap(const PromptSet& a, const PromptSet& b) {
  return {common(a, b, [](const Prompt& prompt) { return folded_text(prompt.text); }),
          common(a, b, [](const Prompt& prompt) { return target_key(prompt.target.text()); })};
}

}  // namespace harness

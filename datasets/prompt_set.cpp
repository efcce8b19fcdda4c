#include "datasets/prompt_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "datasets/generated_prompts.h"

namespace harness {
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
    KnownSet{"d839050acb06aa045e399e76a81e4ade9a55fc743dc0e22e7b3eaeaca5c19107", "pickscore-public",
             "dataset/pickscore/test.txt of the repository X-GenGroup/Flow-Factory"},
    KnownSet{"f7ccf3512532e8c86c677a09907dad85a38a2d22ca95e701c11779b88cad33f0", "pickscore-train-public",
             "dataset/pickscore/train.txt of the repository X-GenGroup/Flow-Factory"},
    KnownSet{"4c117771158b44c85dea52596cef16b813745f8c355217537b0303336228870a", "pickscore-train-disjoint",
             "dataset/pickscore/train.txt of the repository X-GenGroup/Flow-Factory without its line 10431, "
             "which is line 889 of test.txt (sed 10431d)"},
};

void require_task(const std::string& task) {
  const auto& tasks = prompt_tasks();
  if (std::find(tasks.begin(), tasks.end(), task) != tasks.end()) return;
  throw Error(fmt::format("no prompt sets for task \"{}\"", task), "task", suggestion(task, tasks));
}

bool is_control_character(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

void check_line(const std::string& line, const std::string& where) {
  if (line.find_first_not_of(' ') == std::string::npos) {
    throw Error("empty line", where, "write one prompt on each line");
  }
  if (line.size() > kLongestPrompt) {
    throw Error(fmt::format("the prompt has {} bytes", line.size()), where,
                fmt::format("a prompt has at most {}", kLongestPrompt));
  }
  if (line.back() == '\r') {
    throw Error("the line ends with a carriage return", where,
                "save the file with Unix line ends (dos2unix)");
  }
  if (const auto byte = invalid_utf8_at(line)) {
    throw Error(fmt::format("invalid UTF-8 at byte {} of the line", *byte), where, "save the file as UTF-8");
  }
  const std::u32string text = utf8_to_utf32(line, where);
  if (text.front() == 0xfeff) {
    throw Error("the line starts with a byte order mark", where, "save the file as UTF-8 without it");
  }
  if (const auto control = std::ranges::find_if(text, is_control_character); control != text.end()) {
    throw Error(fmt::format("control character U+{:04X}", static_cast<unsigned>(*control)), where,
                "a prompt is one line of plain text");
  }
}

PromptSet identified(std::string_view bytes, const std::string& task, std::string origin,
                     std::vector<Prompt> prompts) {
  const auto sha256 = sha256_hex(bytes);
  PromptSet set{task + "-user-" + sha256.substr(0, 8), sha256, false, std::move(origin), std::move(prompts)};
  for (const KnownSet& known : kKnownSets) {
    if (set.sha256 != known.sha256) continue;
    set.name = known.name;
    set.known = true;
  }
  return set;
}

PromptSet from_text(const std::string& text) {
  std::vector<Prompt> prompts;
  for (const std::string& line : split(text, '\n'))
    prompts.push_back({static_cast<int>(prompts.size()), line, ocr_target(line)});
  return identified(text, kOcrPrompts, "generated", std::move(prompts));
}

/// A target as it is compared between sets: without U+0020, lower case.
std::string target_key(std::string_view target) {
  std::u32string key;
  for (const char32_t c : utf8_to_utf32(target, "target")) {
    if (c != U' ') key.push_back(c);
  }
  return utf32_to_utf8(to_lower(key));
}

/// Position of the first prompt with each key.
template <class Key>
std::vector<std::pair<int, int>> common(const PromptSet& a, const PromptSet& b, Key key) {
  std::map<std::string, int> in_b;
  for (const Prompt& prompt : b.prompts) {
    if (auto text = key(prompt); !text.empty()) in_b.emplace(std::move(text), prompt.position);
  }
  std::vector<std::pair<int, int>> pairs;
  for (const Prompt& prompt : a.prompts) {
    const auto found = in_b.find(key(prompt));
    if (found != in_b.end()) pairs.emplace_back(prompt.position, found->second);
  }
  return pairs;
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

}  // namespace

std::string public_source_of(const std::string& set) {
  for (const KnownSet& known : kKnownSets) {
    if (set == known.name) return known.source;
  }
  return {};
}

const std::vector<std::string>& prompt_tasks() {
  static const std::vector<std::string> tasks{kOcrPrompts, kPickscorePrompts};
  return tasks;
}

PromptSet load_prompt_set(const std::filesystem::path& file, const std::string& task) {
  require_task(task);
  const std::string bytes = read_file(file);
  if (bytes.empty()) throw Error("the file is empty", file.string(), "write one prompt on each line");
  std::vector<std::string> lines = split(bytes, '\n');
  if (bytes.back() == '\n') lines.pop_back();
  std::vector<Prompt> prompts;
  for (const std::string& line : lines) {
    const std::string where = fmt::format("{}:{}", file.string(), prompts.size() + 1);
    check_line(line, where);
    prompts.push_back({static_cast<int>(prompts.size()), line, target_of(line, task, where)});
  }
  return identified(bytes, task, file.string(), std::move(prompts));
}

std::filesystem::path find_prompt_file(const std::filesystem::path& folder, const std::string& task) {
  require_task(task);
  const auto file = folder / task / "test.txt";
  if (!std::filesystem::is_regular_file(file)) {
    throw Error("no such file", file.string(),
                fmt::format("--prompts takes the folder that holds {}/test.txt", task));
  }
  return file;
}

std::filesystem::path find_training_file(const std::filesystem::path& folder, const std::string& task) {
  require_task(task);
  for (const auto& file : {folder / "train.txt", folder / task / "train.txt"}) {
    if (std::filesystem::is_regular_file(file)) return file;
  }
  throw Error("no such file", (folder / "train.txt").string(),
              fmt::format("--train-prompts takes the folder that holds train.txt or {}/train.txt", task));
}

PromptSet generated_prompt_set() {
  return from_text(kGeneratedPrompts);
}

PromptSet generated_training_set() {
  return from_text(kGeneratedTrainingPrompts);
}

std::string prompt_set_bytes(const PromptSet& set) {
  std::string bytes;
  for (const Prompt& prompt : set.prompts) {
    if (!bytes.empty()) bytes += '\n';
    bytes += prompt.text;
  }
  return bytes;
}

std::string ocr_target(std::string_view prompt) {
  constexpr const char* kHint = "put the text that the image shall show in double quotes";
  const auto first = prompt.find('"');
  if (first == std::string_view::npos) throw Error("no quoted target", "prompt", kHint);
  const auto rest = prompt.substr(first + 1);
  const auto target = rest.substr(0, rest.find('"'));
  if (target.find_first_not_of(' ') == std::string_view::npos) {
    throw Error("the quoted target is empty", "prompt", kHint);
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
  return {common(a, b, [](const Prompt& prompt) { return prompt.text; }),
          common(a, b, [](const Prompt& prompt) { return target_key(prompt.target); })};
}

}  // namespace harness

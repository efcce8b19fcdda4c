#include "datasets/geneval_prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "datasets/prompt_line.h"

namespace harness {
namespace {

void expect_vocabulary(const GenevalRecord& record, const GenevalVocabulary& of_first,
                       const std::string& where) {
  if (&record.vocabulary() == &of_first) return;
  throw Error(fmt::format("asks for a {}, and the records before it are of the vocabulary \"{}\"",
                          record.include.front().name(), of_first.name),
              where + ": include", "keep records of different vocabularies in different files");
}

}  // namespace

std::vector<Prompt> read_geneval_prompts(const std::vector<std::string>& lines, const std::string& file,
                                         std::map<std::string, int>& unread) {
  std::vector<Prompt> prompts;
  const GenevalVocabulary* vocabulary = nullptr;
  int number = 0;
  for (const auto& line : lines) {
    const auto where = fmt::format("{}:{}", file, ++number);
    if (trim(line).empty()) continue;
    auto record = read_geneval_record(parse_json_line(line, where), where);
    check_prompt_line(record.prompt, where + ": prompt");
    if (vocabulary == nullptr) vocabulary = &record.vocabulary();
    expect_vocabulary(record, *vocabulary, where);
    for (const auto& key : record.unread) ++unread[key];
    const auto position = static_cast<int>(prompts.size());
    prompts.push_back({position, record.prompt, Target(std::move(record))});
  }
  return prompts;
}

std::vector<GenevalRecord> geneval_records(const std::vector<Prompt>& prompts) {
  std::vector<GenevalRecord> records;
  for (const auto& prompt : prompts) {
    if (!prompt.target.record())
      throw Error("is not what a GenEval record asks for",
                  fmt::format("target of prompt {}", prompt.position));
    records.push_back(*prompt.target.record());
  }
  return records;
}

std::string geneval_file(const std::vector<GenevalRecord>& records) {
  std::vector<std::string> lines;
  for (const auto& record : records) lines.push_back(geneval_line(record));
  return join(lines, "\n");
}

std::vector<std::pair<std::string, int>> tag_counts(const std::vector<Prompt>& prompts) {
  std::vector<std::pair<std::string, int>> counts;
  for (const auto tag : kGenevalTags) {
    const auto count =
        std::ranges::count(prompts, tag, [](const Prompt& prompt) { return prompt.target.tag(); });
    if (count > 0) counts.emplace_back(tag, static_cast<int>(count));
  }
  return counts;
}

}  // namespace harness

#include "harness/images/prompt_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "core/text.h"
#include "core/unicode/normal_form.h"

namespace harness {
namespace {

/// Letters and digits in one normal form and without case, as file systems and programs write them
/// differently; bytes that are not UTF-8 as they are.
std::string loose(std::string_view text) {
  std::string letters;
  for (const auto c : invalid_utf8_at(text) ? std::string(text) : case_folded(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte) != 0) letters += static_cast<char>(std::tolower(byte));
  }
  return letters;
}

/// So much of a text as a message needs.
std::string beginning(std::string_view text) {
  constexpr std::size_t kLength = 60;
  return in_quotes(std::string(text.size() <= kLength ? text : text.substr(0, kLength)));
}

}  // namespace

PromptFinder::PromptFinder(const PromptSet& prompts, int first_index)
    : prompts_(prompts), first_index_(first_index) {
  for (const auto& prompt : prompts.prompts) {
    exact_[prompt.text].push_back(prompt.position);
    if (auto key = loose(prompt.text); !key.empty()) loose_[std::move(key)].push_back(prompt.position);
  }
}

bool PromptFinder::has(long long index) const {
  return index >= first_index_ && index - first_index_ < static_cast<long long>(size());
}

int PromptFinder::at(long long index, const std::string& where) const {
  if (has(index)) return static_cast<int>(index - first_index_);
  const auto count = static_cast<std::int64_t>(size());
  const auto all = count == 1 ? fmt::format("the only prompt of {} is {}", prompts_.origin, first_index_)
                              : fmt::format("the {} prompts of {} are {} to {}", count, prompts_.origin,
                                            first_index_, first_index_ + count - 1);
  throw Error(
      fmt::format("there is no prompt {}: {}", index, all), where,
      first_index_ == 0 && index == count
          ? "give all prompts that these images were generated from; or are they numbered from 1? --index-from 1"
          : "give the prompts that these images were generated from; --index-from says where numbers begin");
}

const std::vector<int>* PromptFinder::positions_of(std::string_view text) const {
  if (const auto found = exact_.find(trim(text)); found != exact_.end()) return &found->second;
  const auto found = loose_.find(loose(text));
  return found != loose_.end() ? &found->second : nullptr;
}

bool PromptFinder::is_of(int position, std::string_view text) const {
  const auto* positions = positions_of(text);
  return positions != nullptr && std::ranges::count(*positions, position) > 0;
}

int PromptFinder::of_text(std::string_view text, const std::string& where) const {
  const auto* positions = positions_of(text);
  if (positions == nullptr) {
    throw Error(fmt::format("no prompt of {} is {}", prompts_.origin, beginning(text)), where,
                "give the prompts that these images were generated from, or name them by \"index\"");
  }
  if (positions->size() > 1) {
    throw Error(fmt::format("{} prompts of {} are {}, the first of them {} and {}", positions->size(),
                            prompts_.origin, beginning(text), positions->at(0) + first_index_,
                            positions->at(1) + first_index_),
                where, "name them by \"index\"");
  }
  return positions->front();
}

std::optional<int> PromptFinder::find_text(std::string_view text, const std::string& where) const {
  return positions_of(text) != nullptr ? std::optional(of_text(text, where)) : std::nullopt;
}

const std::string& PromptFinder::text_of(int position) const {
  return prompts_.prompts.at(static_cast<std::size_t>(position)).text;
}

}  // namespace harness

#include "harness/prompts/prompt_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "core/text.h"
#include "core/unicode/normal_form.h"
#include "evaluators/text_metrics.h"

namespace harness {
namespace {

constexpr std::size_t kShown = 3;

const Prompt& prompt_at(const PromptSet& set, int position) {
  return set.prompts.at(static_cast<std::size_t>(position));
}

/// "a, b, c and 5 more"
std::string first_of(const std::vector<std::string>& texts) {
  return fmt::format("{}{}", fmt::join(texts | std::views::take(kShown), ", "),
                     texts.size() > kShown ? fmt::format(" and {} more", texts.size() - kShown) : "");
}

/// "3 of the 24 evaluation prompts"
std::string share_of(const UsedPrompts& used, std::size_t count) {
  return fmt::format("{} of the {}", count, counted(std::ssize(used.positions), used.what + " prompt"));
}

/// The same with its verb: "1 of the 24 evaluation prompts holds".
std::string share_that(const UsedPrompts& used, std::size_t count, const char* holds, const char* hold) {
  return fmt::format("{} {}", share_of(used, count), count == 1 ? holds : hold);
}

/// "line 5"
std::string line_of(int position) {
  return fmt::format("line {}", position + 1);
}

/// "’", or "U+00A0" for what cannot be seen by itself.
std::string shown_character(char32_t c) {
  const auto text = utf32_to_utf8({&c, 1});
  const bool is_seen = display_width(text) > 0 && squeeze_white_space(text) == text;
  return is_seen ? text : fmt::format("U+{:04X}", static_cast<unsigned>(c));
}

std::u32string compared(std::string_view text) {
  return normalised_text(to_nfc(text));
}

/// Quotes other than U+0022 around a text.
bool has_other_quotes(std::string_view text) {
  return std::ranges::any_of(utf8_to_utf32(text), [](char32_t c) {
    return std::u32string_view(U"\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\uff02").find(c) !=
           std::u32string_view::npos;
  });
}

}  // namespace

std::vector<std::string> quote_notes(const UsedPrompts& used) {
  std::vector<std::string> odd, other;
  for (const int position : used.positions) {
    const auto& prompt = prompt_at(used.set, position);
    const auto quotes = std::ranges::count(prompt.text, '"');
    if (quotes == 0 && has_other_quotes(prompt.text)) other.push_back(line_of(position));
    if (quotes == 0 || quotes == 2) continue;
    odd.push_back(fmt::format("{}: {}", line_of(position),
                              prompt.target.empty() ? "nothing" : in_quotes(prompt.target.words())));
  }
  std::vector<std::string> notes;
  if (!odd.empty())
    notes.push_back(
        fmt::format("{} one double quote, or more than two. The target is what follows the first, up "
                    "to the second: {}.",
                    share_that(used, odd.size(), "holds", "hold"), first_of(odd)));
  if (!other.empty())
    notes.push_back(fmt::format("{} a text in other quotes than \" (U+0022), which makes no target: {}.",
                                share_that(used, other.size(), "quotes", "quote"), first_of(other)));
  return notes;
}

std::vector<std::string> reader_notes(const UsedPrompts& used, const std::string& reader,
                                      const std::string& characters) {
  const auto known = compared(characters);
  const std::set<char32_t> readable(known.begin(), known.end());
  std::map<char32_t, std::size_t> unknown;  // with the number of targets
  std::vector<std::string> examples;
  std::size_t hopeless = 0, curly = 0;
  for (const int position : used.positions) {
    const auto target = prompt_at(used.set, position).target.words();
    const auto text = compared(target);
    std::set<char32_t> lacking;
    std::ranges::copy_if(text, std::inserter(lacking, lacking.end()),
                         [&](char32_t c) { return !readable.contains(c); });
    curly +=
        text.find_first_of(U"\u2018\u2019\u201c\u201d") != std::u32string::npos && lacking.empty() ? 1 : 0;
    if (lacking.empty()) continue;
    for (const char32_t c : lacking) ++unknown[c];
    hopeless += std::ranges::all_of(text, [&](char32_t c) { return lacking.contains(c); }) ? 1 : 0;
    examples.push_back(fmt::format("{}: {}", line_of(position), in_quotes(target)));
  }
  std::vector<std::string> notes;
  if (!examples.empty()) {
    std::vector<std::pair<char32_t, std::size_t>> by_count(unknown.begin(), unknown.end());
    std::ranges::stable_sort(by_count, std::greater(), &std::pair<char32_t, std::size_t>::second);
    constexpr std::size_t kCharacters = 12;
    std::vector<std::string> names;
    for (const auto& [c, _] : by_count | std::views::take(kCharacters)) names.push_back(shown_character(c));
    notes.push_back(fmt::format(
        "The targets of {} hold characters that the reader of {} cannot return ({}{}): {}. No image scores 1 there{}.",
        share_of(used, examples.size()), reader, join(names, " "),
        by_count.size() > kCharacters ? " ..." : "", first_of(examples),
        hopeless == 0 ? "" : fmt::format(", and {} can score nothing but 0", hopeless)));
  }
  if (curly > 0)
    notes.push_back(fmt::format(
        "The targets of {} hold typographic quotes (\u2018 \u2019 \u201c \u201d): an image with ' or \" in "
        "their place loses these characters.",
        share_of(used, curly)));
  return notes;
}

std::vector<std::string> length_notes(const UsedPrompts& used, const Json& lengths) {
  std::vector<std::string> notes;
  const auto add = [&](const Json& indexes, const std::string& longer_than, const std::string& so) {
    std::vector<std::string> lines;
    for (const auto& index : indexes) lines.push_back(line_of(used.positions.at(index.get<std::size_t>())));
    if (!lines.empty())
      notes.push_back(fmt::format("{} longer than {}: {} ({}).", share_that(used, lines.size(), "is", "are"),
                                  longer_than, so, first_of(lines)));
  };
  const auto longest = lengths.at("longest").get<std::string>();
  const auto targets = lengths.at("targets_cut").get<int>();
  add(lengths.at("cut"), longest,
      "what follows is not read" +
          (targets == 0 ? std::string() : fmt::format(", the quoted text of {} included", targets)));
  add(lengths.at("partly"), lengths.at("shortest"), fmt::format("only {} read their ends", longest));
  for (const auto& [name, cut] : lengths.at("scorers").items())
    add(cut, fmt::format("the 77 tokens that {} reads", name), "it scores their beginnings");
  return notes;
}

std::vector<std::string> repeat_notes(const PromptSet& set, const std::vector<int>& validation,
                                      const std::vector<int>& test, int left_out, const char* setting) {
  std::map<std::string, std::vector<int>> of_text, of_validation;
  for (const int position : test) of_text[folded_text(prompt_at(set, position).text)].push_back(position);
  for (const int position : validation)
    of_validation[folded_text(prompt_at(set, position).text)].push_back(position);
  std::vector<std::string> notes;
  std::size_t repeated = 0, alike = 0;
  for (const auto& [text, positions] : of_text) {
    const auto found = of_validation.find(text);
    if (found == of_validation.end()) continue;
    repeated += positions.size();
    alike += static_cast<std::size_t>(std::ranges::count_if(positions, [&](int position) {
      return std::ranges::none_of(found->second, [&](int other) {
        return prompt_at(set, other).text == prompt_at(set, position).text;
      });
    }));
  }
  if (repeated > 0) {
    notes.push_back(fmt::format(
        "{} of the {} test prompts have the text of a validation prompt{}, which chose the checkpoints; --set "
        "{}=true leaves them out.",
        repeated, test.size(), alike_text(alike), setting));
  }
  if (left_out > 0) {
    notes.push_back(fmt::format(
        "Left out of the test split: {} prompts that have the text of a validation prompt.", left_out));
  }
  if (of_text.size() == test.size()) return notes;
  std::vector<std::string> differing;  // lines of one text in several forms
  for (const auto& [_, positions] : of_text) {
    const auto& first = prompt_at(set, positions.front()).text;
    const auto other =
        std::ranges::find_if(positions, [&](int position) { return prompt_at(set, position).text != first; });
    if (other != positions.end())
      differing.push_back(fmt::format("lines {} and {}", positions.front() + 1, *other + 1));
  }
  notes.push_back(fmt::format(
      "The {} test prompts are {} different texts; intervals resample texts, with all their images.{}",
      test.size(), of_text.size(),
      differing.empty() ? "" : fmt::format(" {}: {}.", kNearCopies, first_of(differing))));
  return notes;
}

std::vector<std::string> overlap_notes(const PromptSet& evaluation, const PromptSet& training) {
  const auto shared = overlap(evaluation, training);
  if (shared.empty()) return {};
  // Records of a small vocabulary ask for the same things.
  if (shared.texts.empty() && !vocabulary_of(evaluation).empty())
    return {
        fmt::format("No evaluation prompt was trained on; {} of {} ask in other words for what a training "
                    "prompt asks for.",
                    shared.targets.size(), evaluation.prompts.size())};
  return {
      fmt::format("Training has seen {} of the evaluation's prompts{} and {} of its targets (`harness "
                  "datasets verify` lists them).",
                  shared.texts.size(), alike_text(alike_but_not_equal(evaluation, training, shared.texts)),
                  shared.targets.size())};
}

std::size_t alike_but_not_equal(const PromptSet& a, const PromptSet& b,
                                const std::vector<std::pair<int, int>>& pairs) {
  return static_cast<std::size_t>(std::ranges::count_if(pairs, [&](const auto& pair) {
    return prompt_at(a, pair.first).text != prompt_at(b, pair.second).text;
  }));
}

std::string alike_text(std::size_t count) {
  return count == 0 ? "" : fmt::format(" ({} of them but for case, blanks or Unicode form)", count);
}

}  // namespace harness

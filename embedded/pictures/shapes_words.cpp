#include "embedded/pictures/shapes_words.h"

#include <algorithm>
#include <array>

#include "core/geneval/record.h"
#include "core/text.h"

namespace harness {
namespace {

constexpr std::array<std::string_view, 4> kCarriers = {"photo", "picture", "drawing", "image"};

/// Lower case, without punctuation at either end.
std::string plain(std::string_view word) {
  constexpr std::string_view kMarks = ".,:;!?\"'()";
  while (!word.empty() && kMarks.find(word.front()) != word.npos) word.remove_prefix(1);
  while (!word.empty() && kMarks.find(word.back()) != word.npos) word.remove_suffix(1);
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

std::vector<std::string> make_words() {
  std::vector<std::string> words = {"a",     "an",    "of",  "and",   "left", "right",
                                    "above", "below", "two", "three", "four"};
  words.insert(words.end(), kCarriers.begin(), kCarriers.end());
  words.insert(words.end(), kGenevalColours.begin(), kGenevalColours.end());
  for (const auto name : kShapeClasses) {
    words.emplace_back(name);
    words.push_back(words.back() + (name.back() == 's' ? "es" : "s"));
  }
  return words;
}

}  // namespace

const std::vector<std::string>& shapes_vocabulary_words() {
  static const auto words = make_words();
  return words;
}

ShapesText shapes_text(std::string_view prompt) {
  const auto& all = shapes_vocabulary_words();
  ShapesText text;
  text.style = kShapesStyles - 1;
  for (const auto& written : split(squeeze_white_space(prompt), ' ')) {
    const auto word = plain(written);
    if (word.empty()) continue;
    const auto found = std::ranges::find(all, word);
    if (found == all.end()) {
      if (std::ranges::count(text.unknown, word) == 0) text.unknown.push_back(word);
      continue;
    }
    if (text.ids.size() == kShapesPlaces) {
      ++text.cut;
      continue;
    }
    const auto carrier = std::ranges::find(kCarriers, word);
    const bool is_first = text.style == kShapesStyles - 1;
    if (carrier != kCarriers.end() && is_first) text.style = 1 + (carrier - kCarriers.begin());
    text.ids.push_back(1 + (found - all.begin()));
    text.kept.push_back(word);
  }
  text.ids.resize(kShapesPlaces, 0);
  return text;
}

}  // namespace harness

#include "datasets/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "core/error.h"
#include "core/unicode/normal_form.h"
#include "datasets/python_random.h"

namespace harness {

namespace {

/// Positions in the order drawn.
std::vector<int> validation_of(const SplitRule& rule, int of) {
  std::vector<int> positions(static_cast<std::size_t>(rule.take));
  if (!rule.seed) {
    std::iota(positions.begin(), positions.end(), 0);
    return positions;
  }
  PythonRandom random(std::to_string(*rule.seed));
  std::ranges::transform(random.sample(of, rule.take), positions.begin(),
                         [](std::int64_t position) { return static_cast<int>(position); });
  return positions;
}

std::string text_at(const PromptSet& set, int position) {
  return folded_text(set.prompts.at(static_cast<std::size_t>(position)).text);
}

std::set<std::string> texts_at(const PromptSet& set, const std::vector<int>& positions) {
  std::set<std::string> texts;
  for (const int position : positions) texts.insert(text_at(set, position));
  return texts;
}

}  // namespace

Split make_split(const SplitRule& rule, int of) {
  if (of < 1) throw Error(fmt::format("cannot split {} prompts", of), "split", "there must be at least one");
  if (rule.take < 0 || rule.take > of) {
    throw Error(fmt::format("cannot take {} of {} prompts", rule.take, of), "split",
                fmt::format("take 0 to {}", of));
  }
  Split split{.validation = validation_of(rule, of), .test = {}};
  std::vector<bool> taken(static_cast<std::size_t>(of));
  for (const int position : split.validation) taken[static_cast<std::size_t>(position)] = true;
  for (int position = 0; position < of; ++position) {
    if (!taken[static_cast<std::size_t>(position)]) split.test.push_back(position);
  }
  return split;
}

Split make_split(const SplitRule& rule, const std::vector<int>& positions) {
  auto split = make_split(rule, static_cast<int>(positions.size()));
  for (auto* part : {&split.validation, &split.test}) {
    for (auto& index : *part) index = positions[static_cast<std::size_t>(index)];
  }
  return split;
}

std::string text_of(const SplitRule& rule) {
  return rule.seed ? fmt::format("seed {}", *rule.seed) : "first";
}

std::size_t different_texts(const PromptSet& set, const std::vector<int>& positions) {
  return texts_at(set, positions).size();
}

std::vector<int> without_texts_of(const PromptSet& set, const std::vector<int>& positions,
                                  const std::vector<int>& others) {
  const auto texts = texts_at(set, others);
  auto left = positions;
  std::erase_if(left, [&](int position) { return texts.contains(text_at(set, position)); });
  return left;
}

}  // namespace harness

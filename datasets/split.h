#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datasets/prompt_set.h"

namespace harness {

/// Positions of a prompt set, divided in two.
struct Split {
  std::vector<int> validation;  ///< in the order drawn
  std::vector<int> test;        ///< all others, ascending
};

/// What the first prompts of a set are divided by. With a seed, validation =
/// random.Random(seed).sample(range(of), take) of CPython; without one, the first `take`.
struct SplitRule {
  std::optional<std::uint64_t> seed;
  int take = 0;  ///< size of the validation split

  bool operator==(const SplitRule&) const = default;
};

/// Of the first `of` prompts; test = all that are not in validation. Throws Error unless of >= 1 and
/// 0 <= take <= of.
Split make_split(const SplitRule& rule, int of);

/// The same of these prompts instead of the first ones of their set.
Split make_split(const SplitRule& rule, const std::vector<int>& positions);

/// "seed 20260501", "first".
std::string text_of(const SplitRule& rule);

/// How many different texts (folded_text) the prompts at these positions have.
std::size_t different_texts(const PromptSet& set, const std::vector<int>& positions);

/// Those of `positions` whose prompt has the text (folded_text) of none of `others`.
std::vector<int> without_texts_of(const PromptSet& set, const std::vector<int>& positions,
                                  const std::vector<int>& others);

}  // namespace harness

#pragma once

#include <cstddef>
#include <string>

#include "core/geneval/target.h"

namespace harness {

struct Prompt {
  int position;      ///< from 0, in the whole set; what a split, a noise address and a stored row refer to
  std::string text;  ///< one line, UTF-8
  Target target;     ///< the words that it quotes (ocr_target), or its record; empty where it quotes none
};

/// Bytes of a prompt, at most. The longest public one has 1.7 kB; scoring a text takes time with the square
/// of its length.
inline constexpr std::size_t kLongestPrompt = 10'000;

}  // namespace harness

#pragma once

#include <cstddef>
#include <string>

namespace harness {

struct Prompt {
  int position;        ///< from 0, in the whole set; what a split, a noise address and a stored row refer to
  std::string text;    ///< one line, UTF-8
  std::string target;  ///< the text that the image should contain (ocr_target), or of GenEval hold
                       ///< (geneval_target); empty where the prompt quotes nothing
};

/// Bytes of a prompt, at most. The longest public one has 1.7 kB; scoring a text takes time with the square
/// of its length.
inline constexpr std::size_t kLongestPrompt = 10'000;

}  // namespace harness

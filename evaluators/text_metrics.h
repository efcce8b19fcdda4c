#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace harness {

/// How well a transcript matches a target (E60 to E62). Both are compared without U+0020 and in lower case;
/// lengths and distances count code points. With p and t the normalised transcript and target, and d their
/// edit distance:
struct TextMetrics {
  double reward;  ///< 1 - d' / len(t), d' = 0 if t is inside p, else min(d, len(t)); 1 for an empty t (E60)
  double cer_paper;           ///< 1 - reward (E61)
  double cer;                 ///< d / max(len(t), 1), may exceed 1
  bool exact_match;           ///< p == t (E62)
  bool substring_match;       ///< t is inside p (E62)
  std::size_t distance;       ///< d
  std::size_t target_length;  ///< len(t)
};

/// The transcript is taken as it is: squeeze its white space first (evaluators/ocr.h does).
/// Throws Error where a text is not UTF-8.
TextMetrics text_metrics(std::string_view transcript, std::string_view target);

/// What is compared: code points without U+0020, lower case as in Python. Throws Error where the text is not
/// UTF-8.
std::u32string normalised_text(std::string_view text);

}  // namespace harness

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// In the order of the numbers that the report's page knows.
enum class DiffKind {
  kSame,    ///< stands in the target too
  kWrong,   ///< does not: another character, or one too many
  kMissing  ///< characters of the target that the text lacks here
};

/// A stretch of `text` (kSame, kWrong) or of the target (kMissing).
struct DiffRun {
  DiffKind kind;
  std::string text;
};

/// `text` against `target` along one best alignment over code points, case and blanks (U+0020) not counting,
/// as the OCR reward has it. The runs of kinds kSame and kWrong joined give `text`. Both must be UTF-8.
std::vector<DiffRun> text_diff(std::string_view text, std::string_view target);

}  // namespace harness

#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "datasets/prompt_set.h"

namespace harness {

// Notes on a table's prompts: where a score is bounded by the prompt, not by the image. Lines are
// those of the prompt file, from 1.

/// Prompts of a set that a plan uses.
struct UsedPrompts {
  const PromptSet& set;
  std::vector<int> positions;
  std::string what;  ///< "evaluation", "training"
};

/// Prompts whose quotes leave a doubt about their target (ocr_target), with the target that was taken.
std::vector<std::string> quote_notes(const UsedPrompts& used);

/// Targets with characters that no transcript of `reader` holds. `characters`: all that it can return.
std::vector<std::string> reader_notes(const UsedPrompts& used, const std::string& reader,
                                      const std::string& characters);

/// Prompts that are longer than text encoders read, those of the backbone and of scorers. `lengths`: what
/// `harness-worker check-texts` answers of the used prompts.
std::vector<std::string> length_notes(const UsedPrompts& used, const Json& lengths);

/// What repeat_notes says of texts that are the same only folded. Versions that took them for different texts
/// never said it.
inline constexpr const char* kNearCopies = "Texts that differ in case, blanks or Unicode form alone are one";

/// Test prompts of equal text (folded_text), and those that have a text of validation. `left_out`: that the
/// split does not hold for that reason, which `setting` chooses.
std::vector<std::string> repeat_notes(const PromptSet& set, const std::vector<int>& validation,
                                      const std::vector<int>& test, int left_out, const char* setting);

/// What training has seen of the evaluation's prompts.
std::vector<std::string> overlap_notes(const PromptSet& evaluation, const PromptSet& training);

/// How many of the pairs are not the same letter by letter.
std::size_t alike_but_not_equal(const PromptSet& a, const PromptSet& b,
                                const std::vector<std::pair<int, int>>& pairs);
/// ", 3 of them but for case, blanks or Unicode form"; empty for 0.
std::string alike_text(std::size_t count);

}  // namespace harness

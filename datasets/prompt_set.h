#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace harness {

struct Prompt {
  int position;        ///< from 0, in the whole set; what a split, a noise address and a stored row refer to
  std::string text;    ///< one line, UTF-8
  std::string target;  ///< what the image shall say (ocr_target); empty where the prompt quotes nothing
};

/// Prompts in the order of their file, with the checksum that identifies them.
struct PromptSet {
  std::string name;    ///< "ocr-generated", "ocr-train-generated", "ocr-flow-grpo", "pickscore-public", or
                       ///< TASK-user- and its first 8 digits for an unknown checksum
  std::string sha256;  ///< of the file's bytes
  bool known;          ///< the checksum is one of those listed in prompt_set.cpp
  std::string origin;  ///< where the prompts came from: a path, or "generated"
  std::vector<Prompt> prompts;
};

/// The tasks that prompt sets are made for: of "ocr" every prompt quotes a target, of "pickscore" few do.
inline constexpr const char* kOcrPrompts = "ocr";
inline constexpr const char* kPickscorePrompts = "pickscore";
const std::vector<std::string>& prompt_tasks();

/// Bytes of a prompt, at most. The longest public one has 1.7 kB; scoring a text takes time with the square
/// of its length.
inline constexpr std::size_t kLongestPrompt = 10'000;

/// Reads one prompt a line; a newline at the end of the file begins none. Throws Error at FILE:LINE for a
/// line that is empty, longer than kLongestPrompt, no UTF-8, with control characters or, for the task "ocr",
/// without a quoted target, and at FILE for an empty or unreadable file. `task`: one of prompt_tasks().
PromptSet load_prompt_set(const std::filesystem::path& file, const std::string& task);

/// The evaluation prompts of `task` in a folder laid out like the public repositories: FOLDER/TASK/test.txt.
/// Throws Error if the file is not there.
std::filesystem::path find_prompt_file(const std::filesystem::path& folder, const std::string& task);

/// The training prompts in a folder: FOLDER/train.txt, or FOLDER/TASK/train.txt as in the public
/// repositories. Throws Error if neither is there.
std::filesystem::path find_training_file(const std::filesystem::path& folder, const std::string& task);

/// Where a public set can be had, for people: "dataset/ocr/test.txt of the repository ..."; empty for a set
/// that is not public.
std::string public_source_of(const std::string& set);

/// The project's own 1018 evaluation prompts (prompts/ocr-generated.txt).
PromptSet generated_prompt_set();

/// The project's own 2048 training prompts; none of their texts or targets is in the evaluation set.
PromptSet generated_training_set();

/// The file of a set: the texts joined by '\n', no newline at the end.
std::string prompt_set_bytes(const PromptSet& set);

/// What stands between the first two U+0022 of a prompt, or from a single one to the end (E60, the public
/// rule). Throws Error (where: "prompt") if there is none, or if nothing but blanks stands there.
std::string ocr_target(std::string_view prompt);

/// The same, or nothing where ocr_target would throw.
std::string target_or_nothing(std::string_view prompt);

/// What two prompt sets have in common, as pairs of positions (first in `a`, second in `b`), ordered by `a`.
struct Overlap {
  std::vector<std::pair<int, int>> texts;  ///< the same line
  std::vector<std::pair<int, int>>
      targets;  ///< the same target without blanks and in lower case, which is how it is scored; prompts
                ///< without a target have none in common
  bool empty() const { return texts.empty() && targets.empty(); }
};

Overlap overlap(const PromptSet& a, const PromptSet& b);

}  // namespace harness

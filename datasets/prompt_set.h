#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datasets/prompt.h"

namespace harness {

/// Prompts in the order of their file, with the checksum that identifies them.
struct PromptSet {
  std::string name;    ///< "ocr-generated", "pickscore-public", "geneval-shapes", ..., or TASK-user- and the
                       ///< checksum's first 8 digits for an unknown one; it begins with the task in any case
  std::string sha256;  ///< of the file's lines with Unix line ends; of GenEval's records as the benchmark
                       ///< writes them
  bool known;          ///< the checksum is one of those listed in prompt_set.cpp
  std::string origin;  ///< where the prompts came from: a path, or "generated"
  std::vector<Prompt> prompts;
  std::vector<std::string> notes = {};  ///< sentences on what of the file was not read
};

/// The tasks that prompt sets are made for: of "ocr" every prompt quotes a target, of "pickscore" few do, and
/// those of "geneval" are records of what the image must hold.
inline constexpr const char* kOcrPrompts = "ocr";
inline constexpr const char* kPickscorePrompts = "pickscore";
inline constexpr const char* kGenevalPrompts = "geneval";
const std::vector<std::string>& prompt_tasks();

/// What a file can be read as where nothing says its task: records of GenEval (.jsonl), else prompts that
/// need quote nothing.
std::string task_of_file(const std::filesystem::path& file);
/// The task that a set's name begins with.
std::string task_of_set(const std::string& name);
/// A prompt of the set of this name, its target from Target::text(): as the DB and the journal have it.
Prompt stored_prompt(const std::string& set, int position, std::string text, const std::string& target);

/// Reads one prompt a line, of "geneval" one record a line (core/geneval/record.h), with line ends of Unix or
/// Windows (plain_text); blank lines at the end are none. Throws Error at FILE:LINE for a line that is empty,
/// longer than kLongestPrompt, no UTF-8, with control characters, for the task "ocr" without a quoted target,
/// for "geneval" no record or of another vocabulary than those before it, and at FILE for an empty or
/// unreadable file, or one of another form than the task's. `task`: one of prompt_tasks().
PromptSet load_prompt_set(const std::filesystem::path& file, const std::string& task);

/// The evaluation prompts of `task` in a folder laid out like the public repositories: FOLDER/TASK/test.txt;
/// of "geneval" FOLDER/geneval/test_metadata.jsonl, test.jsonl or evaluation_metadata.jsonl. Or the place
/// itself, if it is a file: .txt, of "geneval" .jsonl. Throws Error if there is none, or one of another form.
std::filesystem::path find_prompt_file(const std::filesystem::path& place, const std::string& task);
/// Whether find_prompt_file finds one. Throws Error where nothing is at the place, and for a file of no form.
bool has_prompt_file(const std::filesystem::path& place, const std::string& task);

/// The training prompts likewise: FOLDER/train.txt, or FOLDER/TASK/train.txt as in the public repositories;
/// of "geneval" train.jsonl or train_metadata.jsonl; or a file itself.
std::filesystem::path find_training_file(const std::filesystem::path& place, const std::string& task);
bool has_training_file(const std::filesystem::path& place, const std::string& task);

/// The name under which a set is kept in a folder of its task: "test.txt", of "geneval" "test.jsonl".
std::string kept_file_name(const std::string& task);

/// Where a public set can be had, for people: "dataset/ocr/test.txt of the repository ..."; empty for a set
/// that is not public.
std::string public_source_of(const std::string& set);

/// The project's own sets, which travel inside the program: "ocr-generated", "ocr-train-generated", their
/// harder variants "ocr-dark-generated", "ocr-dark-train-generated", and "geneval-shapes",
/// "geneval-shapes-train", "geneval-train-generated" (datasets/README.md).
const std::vector<std::string>& own_prompt_sets();
/// Throws Error at `where`, with the nearest name, unless it is one of these.
void require_own_prompt_set(const std::string& name, const std::string& where);
/// One of these.
PromptSet own_prompt_set(const std::string& name);
/// The file that a set of the project is written to: its name with .txt or .jsonl.
std::string own_file_name(const std::string& name);

/// The own set that a training takes whose evaluation is of this task: of GenEval one of the vocabulary
/// ("geneval", "shapes"; else unused).
PromptSet own_training_set(const std::string& task, std::string_view vocabulary);

/// The vocabulary of a set of GenEval records; of any other set empty.
std::string vocabulary_of(const PromptSet& set);

/// The project's own 1018 OCR prompts for evaluation, and the 2048 for training, none of whose texts or
/// targets is in the former.
PromptSet generated_prompt_set();
PromptSet generated_training_set();

/// The file of a set, as its checksum is taken: the lines joined by '\n', no newline at the end.
std::string prompt_set_bytes(const PromptSet& set);

/// What stands between the first two U+0022 of a prompt, or from a single one to the end (E60, the public
/// rule). Throws Error (where: "prompt") if there is none, or if nothing but blanks stands there.
std::string ocr_target(std::string_view prompt);

/// The same, or nothing where ocr_target would throw.
std::string target_or_nothing(std::string_view prompt);

/// Texts are scored against targets in Unicode's normal form C. The identity of a job with a target in
/// another form says so: {"target_form": "NFC"}; without it, as in jobs of earlier versions, targets are
/// compared as they come.
inline constexpr const char* kTargetForm = "target_form";
inline constexpr const char* kNormalFormC = "NFC";

/// What two prompt sets have in common, as pairs of positions (first in `a`, second in `b`), ordered by `a`.
struct Overlap {
  std::vector<std::pair<int, int>> texts;  ///< the same line, folded (folded_text)
  std::vector<std::pair<int, int>>
      targets;  ///< the same target, folded and without blanks, which is about how it is scored; prompts
                ///< without a target have none in common
  bool empty() const { return texts.empty() && targets.empty(); }
};

Overlap overlap(const PromptSet& a, const PromptSet& b);

}  // namespace harness

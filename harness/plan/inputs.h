#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "datasets/prompt_set.h"
#include "datasets/split.h"
#include "harness/spec/registry.h"
#include "harness/spec/table_spec.h"
#include "harness/workspace/workspace.h"

namespace harness {

/// What the user chose on the command line, by options and settings; empty: the default.
struct InputOptions {
  std::string weights, scorers;
  std::string prompts, train_prompts;          ///< a folder, or a file
  std::string split;                           ///< "50/150": prompts for validation and test
  bool leaves_out_validation_prompts = false;  ///< of the test split, whole before a scale's cut
  /// The prompts may be for the collection's other tables: a backbone that draws shapes takes its own records
  /// where a folder has none of them.
  bool is_of_collection = false;
};

inline constexpr const char* kLeaveOutValidationPrompts = "leave_out_validation_prompts";

/// The first `of` prompts of a set by the rule; `leaves_out`: test without the prompts whose text is one of
/// validation's. Throws Error where that leaves none.
Split split_of(const PromptSet& set, const SplitRule& rule, int of, bool leaves_out);

/// A user's own prompts, and where they are.
struct GivenPrompts {
  std::filesystem::path file;
  PromptSet set;
};

/// Those of --prompts; nothing where it is not given, for a training table, and where they are for a
/// collection's other tables. Throws Error: no such file, a broken one, prompts that the backbone cannot
/// draw.
std::optional<GivenPrompts> given_evaluation(const TableSpec& spec, const BackboneInfo& backbone,
                                             const InputOptions& options);

/// How many prompts are for validation and for test, where it is not the table's.
struct OwnSplit {
  int validation = 0, test = 0;
  bool is_asked_for = false;  ///< else the set is smaller than the table's, and divided in its share

  std::string note() const;
};

/// "256/762", as --split has it. Throws Error (at --split) for anything but two numbers above 0.
OwnSplit asked_split(const std::string& text);

/// As --split says; else the table's share of given prompts that are fewer, unless the table or scale asks
/// for a certain set. Throws Error (at --split) for anything but two numbers above 0.
std::optional<OwnSplit> own_split(const TableSpec& spec, const ScaleSpec& scale,
                                  const std::optional<GivenPrompts>& given, const InputOptions& options);

/// Everything that jobs read, with the checksums that identify it.
struct Inputs {
  PromptSet evaluation, training;
  std::filesystem::path evaluation_file, training_file;
  bool evaluation_file_is_ours = false, training_file_is_ours = false;  ///< written by write_input_files
  std::vector<int> validation, test;       ///< positions in the whole evaluation set
  int validation_size = 0, test_size = 0;  ///< before the scale's cut
  int left_out = 0;                        ///< of test, as validation has their text
  std::filesystem::path weights;           ///< empty for a backbone with random weights
  std::string weights_sha256;              ///< or of the recipe of the random ones
  bool weights_are_given = false;          ///< by --weights, rather than the backbone's own
  std::vector<std::string> notes;          ///< sentences on options that were not followed

  bool has_evaluation() const { return !evaluation.prompts.empty(); }  ///< not in a training table
  std::string weights_path() const;                                    ///< absolute, or empty
};

/// Reads prompts (but for the `given` ones) and weights and divides the prompts; writes nothing. Throws
/// Error: files absent or broken, too few prompts, another set than the table asks for, training prompts that
/// are among the evaluation's.
Inputs gather_inputs(const TableSpec& spec, const ScaleSpec& scale, const BackboneInfo& backbone,
                     const InputOptions& options, std::optional<GivenPrompts> given,
                     const Workspace& workspace);

/// Writes the generated prompt sets to OUT/prompts where they are not there yet.
void write_input_files(const Inputs& inputs);

/// SHA-256 of the canonical JSON list of positions.
std::string positions_checksum(const std::vector<int>& positions);

}  // namespace harness

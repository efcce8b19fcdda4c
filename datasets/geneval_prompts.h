#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/geneval/record.h"
#include "datasets/prompt.h"

namespace harness {

/// The prompts of the lines of a file of GenEval records (core/geneval/record.h), each with what its image
/// must hold as its target; blank lines are skipped. `unread`: how often records had each ignored key.
/// Throws Error at FILE:LINE and the field for a line that is not a valid record, a prompt that
/// is no line of plain text, and a record of another vocabulary than the first.
std::vector<Prompt> read_geneval_prompts(const std::vector<std::string>& lines, const std::string& file,
                                         std::map<std::string, int>& unread);

/// The records of the prompts of such a set. Throws Error where a target is none.
std::vector<GenevalRecord> geneval_records(const std::vector<Prompt>& prompts);

/// A record a line, as the benchmark's files write them; no newline at the end.
std::string geneval_file(const std::vector<GenevalRecord>& records);

/// How many of such prompts have each tag, in the benchmark's order; without tags of none.
std::vector<std::pair<std::string, int>> tag_counts(const std::vector<Prompt>& prompts);

}  // namespace harness

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/event_log.h"
#include "datasets/prompt_set.h"
#include "harness/plan/plan.h"

namespace harness {

// Files of a run's folder (core/EVENTS.md) that came from elsewhere.

/// job.json: an id, an identity, options and paths, which are texts. Throws Error that names what is missing.
Json read_job_document(const std::filesystem::path& folder);

/// The positions of the prompts that an evaluation is of. Throws Error.
std::vector<int> read_positions(const std::filesystem::path& folder);

/// What job.json asked for. Throws Error unless it is named by the hash of its identity and `id` is that
/// name.
Job read_job(const std::filesystem::path& folder, const std::string& id);

/// What is in the folder, sorted; of one that is not there nothing.
std::vector<std::filesystem::path> entries_below(const std::filesystem::path& folder);

/// True for a file that holds the prompt set of this checksum.
bool is_file_of_set(const std::filesystem::path& file, const std::string& sha256);

/// The prompt set of a file, if it has this checksum. A set of records has that of the records. `recorded`:
/// the path that a job had it from.
std::optional<PromptSet> set_in(const std::filesystem::path& file, const std::string& sha256,
                                const std::filesystem::path& recorded);

/// Where the base model of a job is on this machine, by its checksum: at the path that the job had it
/// from, or where this build has that of the backbone; nothing if it is at neither.
std::optional<std::string> weights_here(const std::filesystem::path& job_file);

/// A log is complete and no process writes it. Reads it to its end; one that is not there has nothing wrong
/// with it. Throws Error.
void require_sound_log(const std::filesystem::path& log);

/// Every log below the folder is complete and no process writes it. Reads them all. Throws Error.
void require_sound_logs(const std::filesystem::path& folder);

}  // namespace harness

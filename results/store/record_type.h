#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/json.h"

namespace harness {

/// What a record of the journal is (core/EVENTS.md). A reader that treats them differently has a `switch`
/// without a default: the compiler names every reader that a new type would lack.
enum class RecordType {
  kPromptSet,
  kRun,
  kCheckpoint,
  kEvaluation,
  kSelection,
  kNotRun,
  kJob,
  kJobState,
  kExperiment,
  kExperimentAgain,
  kComparisons,
  kAlarms,
  kArtifact,
  kPlan,
  kOpened,
  kNumber,
  kLastNumber,
  kForget
};

/// What every reader needs to know of a type.
struct RecordKind {
  RecordType type;
  std::string_view name;  ///< in the journal
  bool has_key;           ///< a later one of the same key replaces it
  bool is_of_run;         ///< has the field "run"
  bool is_of_experiment;  ///< continues the experiment of its number
};

inline constexpr std::array<RecordKind, 18> kRecordTypes = {{
    // clang-format off
    //                               name            key    of run of exp.
    {RecordType::kPromptSet,        "prompt_set",       true,  false, false},
    {RecordType::kRun,              "run",              true,  true,  false},
    {RecordType::kCheckpoint,       "checkpoint",       true,  true,  false},
    {RecordType::kEvaluation,       "evaluation",       true,  true,  false},
    {RecordType::kSelection,        "selection",        true,  true,  false},
    {RecordType::kNotRun,           "not_run",          true,  true,  false},
    {RecordType::kJob,              "job",              true,  true,  false},
    {RecordType::kJobState,         "job_state",        false, true,  false},
    {RecordType::kExperiment,       "experiment",       true,  false, false},
    {RecordType::kExperimentAgain,  "experiment_again", false, false, true},
    {RecordType::kComparisons,      "comparisons",      true,  false, true},
    {RecordType::kAlarms,           "alarms",           true,  false, true},
    {RecordType::kArtifact,         "artifact",         true,  false, true},
    {RecordType::kPlan,             "plan",             true,  false, false},
    {RecordType::kOpened,           "opened",           true,  false, false},
    {RecordType::kNumber,           "number",           true,  false, false},
    {RecordType::kLastNumber,       "last_number",      true,  false, false},
    {RecordType::kForget,           "forget",           false, true,  false}
    // clang-format on
}};

/// Throws Error for a record of no such type.
const RecordKind& record_kind(const Json& record);
inline RecordType record_type(const Json& record) {
  return record_kind(record).type;
}

/// Throws Error (status 2) unless the record has every field of its type, each of the form that is written.
void require_whole_record(const Json& record);
/// The same; the Error names file and line.
void require_whole_record(const Json& record, const std::filesystem::path& file, std::size_t line);

}  // namespace harness

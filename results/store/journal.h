#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/event_log.h"
#include "datasets/prompt_set.h"
#include "results/store/records.h"

namespace harness {

/// What `harness` itself decided in a workspace, in order (core/EVENTS.md). Together with the event logs of
/// the run folders it is all that the DB is made of. Its lines are on the disk before the DB commits, and in
/// a copy beside the file.
class Journal {
 public:
  /// Opens or creates the file and holds its lock for life; makes the copy equal to it. Throws as
  /// EventLogWriter does.
  explicit Journal(const std::filesystem::path& file);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// When `record` was written, if it is the last one of its type and key; else now. UTC, ISO 8601.
  std::string time_of(const Json& record) const;

  /// Appends `record` with its time, unless it is the last one of its type and key already. Returns the end
  /// of the journal if it was appended.
  std::optional<LogMark> append(const Json& record, const std::string& at);
  /// The same of several records with their times, all of them or none.
  std::optional<LogMark> append_all(const std::vector<std::pair<Json, std::string>>& records);

  /// Identifies this journal; empty before the first record.
  const std::string& id() const { return id_; }

 private:
  struct Last {
    std::string digest, at;
  };
  void remember(const Json& record, const std::string& at);
  bool is_last(const Json& record) const;
  /// Brings the copy up to the end of the journal.
  void copy();

  std::map<std::string, Last> last_;  ///< by type and key
  std::filesystem::path file_;
  std::string id_;
  LogMark end_;
  std::uint64_t copied_ = 0;  ///< bytes of the journal that the copy holds
  EventLogWriter log_;
};

/// What a journal file holds.
struct JournalText {
  std::vector<Json> records;
  std::vector<LogMark> marks;  ///< the end of each record's line

  bool empty() const { return records.empty(); }
  /// Sum over the first record, which no two journals share, its time being one of its fields; empty without
  /// records.
  std::string id() const;
  LogMark end() const { return marks.empty() ? LogMark{} : marks.back(); }
};

/// All records of a journal. A missing file has none. Throws Error at a damaged line.
JournalText read_journal(const std::filesystem::path& file);

/// JOURNAL.copy: what Journal writes beside a journal.
std::filesystem::path copy_of_journal(const std::filesystem::path& file);

/// True for a journal that is missing or has lost its end, of which the copy has more.
bool can_be_restored(const std::filesystem::path& file);

/// Puts the copy in the place of such a journal. Returns a message for the user; empty of any other.
std::string restore_journal(const std::filesystem::path& file);

/// What mends a journal that is damaged.
inline constexpr const char* kJournalHint =
    "`harness db rebuild` restores it from its copy, journal.log.copy, and keeps a damaged one";

/// UTC, ISO 8601 with milliseconds, as the DB's `created` and `finished`.
std::string utc_text(double seconds_since_1970);
std::string utc_now();
/// A time of utc_text for people: "2026-11-21 18:12:50 UTC".
std::string readable_time(const std::string& utc);

// A record has "type", usually "key" (a later one of the same type and key replaces it), "run" where it
// belongs to a run, and "data". The readers throw Error for a missing or wrong field.

std::string type_of(const Json& record);
/// The number of the experiment or of the selection that it records or names.
std::int64_t number_of(const Json& record);

Json journal_record(const PromptSet& set);
Json journal_record(const RunRecord& run);
Json journal_record(const CheckpointRecord& checkpoint);
Json journal_record(const EvaluationRecord& evaluation);
Json journal_record(const SelectionRecord& selection, std::int64_t id);
Json journal_record(const JobRecord& job);
Json journal_record(const ReproductionRecord& reproduction, std::int64_t id);
Json journal_record(std::int64_t reproduction_id, const std::vector<ComparisonRow>& comparisons);
Json journal_record(std::int64_t reproduction_id, const std::vector<AlarmRecord>& alarms);
Json journal_record(const ArtifactRecord& artifact);
Json journal_record(const PlanRecord& plan);
/// Not a record of the run: it stays when that is forgotten.
Json journal_record(const OpenedRecord& opened);
Json journal_not_run(const std::string& run_id, const std::string& evaluation_id, const std::string& metric,
                     const std::string& reason);
Json journal_job_state(const std::string& run_id, const std::string& job_id, JobState state,
                       const std::optional<std::string>& failure);
Json journal_shown_again(std::int64_t reproduction_id);
Json journal_forget(const std::string& run_id);

/// The content of a record, of any type that journal_record takes.
template <class Record>
Record from_journal(const Json& record);
template <>
CheckpointRecord from_journal(const Json& record);
template <>
PromptSet from_journal(const Json& record);
template <>
std::vector<ComparisonRow> from_journal(const Json& record);
template <>
std::vector<AlarmRecord> from_journal(const Json& record);

}  // namespace harness

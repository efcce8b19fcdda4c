#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "results/schema/database_file.h"
#include "results/store/journal.h"
#include "results/store/sql.h"
#include "results/store/store.h"

namespace harness {

/// Behind Store; shared by the files that implement it and seen by no one else.
struct Store::Impl {
  std::filesystem::path path;
  OpenedDatabase opened;
  StatementCache sql;
  std::unique_ptr<Journal> journal;                     ///< nothing: what is recorded is in the DB alone
  std::optional<std::string> replayed_time;             ///< of the journal's record that is being replayed
  bool in_whole = false;                                ///< inside Store::atomically
  std::vector<std::pair<Json, std::string>> held = {};  ///< what then goes into the journal, with its time

  Impl(std::filesystem::path file, OpenMode mode)
      : path(std::move(file)), opened(open_database(path, mode)), sql(*opened.db) {}

  template <class Body>
  auto guarded(Body&& body) {
    return harness::guarded(path, body);
  }

  /// The same inside a transaction that takes the write lock at once; it commits if `body` returns.
  template <class Body>
  auto write(Body&& body) {
    return guarded([&] {
      if (in_whole) return body();
      SQLite::Transaction transaction(*opened.db, SQLite::TransactionBehavior::IMMEDIATE);
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
        transaction.commit();
      } else {
        auto result = body();
        transaction.commit();
        return result;
      }
    });
  }

  /// The time of something that is recorded now: as the journal has it where it was written before.
  std::string time_of(const Json& record) const {
    if (replayed_time) return *replayed_time;
    return journal ? journal->time_of(record) : utc_now();
  }

  /// Applies a record and writes it into the journal, before the transaction of the caller commits: the DB
  /// never knows more than it.
  void carry_out(const Json& record, const std::string& at) {
    apply(record, at);
    note(record, at);
  }
  void carry_out(const Json& record) { carry_out(record, time_of(record)); }

  void note(const Json& record, const std::string& at) {
    if (!journal) return;
    if (in_whole) {
      held.emplace_back(record, at);
    } else if (const auto end = journal->append(record, at)) {
      know_journal(journal->id(), *end);
    }
  }

  /// The first column of the first row; T() without one.
  template <class T, class... Values>
  T first(std::string_view select, const Values&... values) {
    Query row(sql[select], values...);
    return row.step() ? read_column<T>(row, 0) : T();
  }

  /// Throws Error if the run has no such checkpoint.
  std::int64_t checkpoint_id(const std::string& run_id, std::int64_t step);

  std::optional<std::int64_t> reproduction_id(const std::string& digest) {
    return first<std::optional<std::int64_t>>("SELECT id FROM reproductions WHERE digest = ?1", digest);
  }
  std::int64_t next_reproduction_id() {
    return first<std::int64_t>("SELECT value + 1 FROM counters WHERE name = 'reproductions'");
  }
  /// "3 images of 4", "3 values of ocr of 4": what an evaluation holds another number of than its N; nothing
  /// if it is whole. `asked`: a metric that its job asks for, and that was run, counts without any value.
  std::optional<std::string> held_instead(const std::string& evaluation_id, bool asked);
  // Inside a transaction of the caller:

  /// What a record makes of the DB; the only writer of what the journal holds (journal_apply.cpp).
  void apply(const Json& record, const std::string& at);

  /// The same for what is new: a job that is recorded with this folder leaves no trace.
  void record_job(const JobRecord& job);

  /// The DB holds this journal up to there.
  void know_journal(const std::string& id, const LogMark& end);

  // What event logs hold as well.
  void put_checkpoint(const CheckpointRecord& checkpoint);
  void put_not_run(const std::string& evaluation_id, const std::string& metric, const std::string& reason);
  void put_job_state(const std::string& id, JobState state, const std::optional<std::string>& failure,
                     const std::string& at);
};

/// Sum over everything that distinguishes reproductions.
std::string reproduction_digest(const ReproductionRecord& reproduction);

}  // namespace harness

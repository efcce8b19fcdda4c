#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/error.h"
#include "results/database_file.h"
#include "results/sql.h"
#include "results/store.h"

namespace harness {

/// Behind Store; shared by the files that implement it and seen by no one else.
struct Store::Impl {
  std::filesystem::path path;
  OpenedDatabase opened;
  StatementCache sql;

  Impl(std::filesystem::path file, OpenMode mode)
      : path(std::move(file)), opened(open_database(path, mode)), sql(*opened.db) {}

  /// Runs `body`, turning SQLite's failures into Errors that name the file.
  template <class Body>
  auto guarded(Body&& body) {
    try {
      return body();
    } catch (const SQLite::Exception& failure) {
      throw database_error(failure, path);
    }
  }

  /// The same inside a transaction that takes the write lock at once; it commits if `body` returns.
  template <class Body>
  auto write(Body&& body) {
    return guarded([&] {
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

  std::int64_t last_id() const { return opened.db->getLastInsertRowid(); }

  /// Throws Error if the run has no such checkpoint.
  std::int64_t checkpoint_id(const std::string& run_id, std::int64_t step);

  std::optional<JobStatus> job_status(const std::string& id);

  // Inside a transaction of the caller:
  void put_job(const JobRecord& job);
  void put_job_state(const std::string& id, JobState state, const std::optional<std::string>& failure);
  void put_checkpoint(const CheckpointRecord& checkpoint);
  void put_not_run(const std::string& evaluation_id, const std::string& metric, const std::string& reason);
};

JobState job_state_from_name(std::string_view name);

}  // namespace harness

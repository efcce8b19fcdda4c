#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "results/schema/schema.h"

namespace SQLite {
class Database;
class Exception;
}  // namespace SQLite

namespace harness {

/// A workspace's DB in its own folder.
inline constexpr const char* kDatabaseName = "results.sqlite";

enum class OpenMode {
  kReadOnly,  ///< the file must be there and of this build's version
  kReadWrite  ///< creates it (with its folder), or brings it up to date
};

/// Name of a file system that several machines may share (statfs magic number), or nothing for a local one.
/// SQLite's WAL needs memory shared by all readers, which such a file system does not give.
std::optional<std::string> network_file_system(std::uint64_t magic);

/// The same for the file system that holds `path` or its nearest existing parent.
std::optional<std::string> network_file_system_of(const std::filesystem::path& path);

struct OpenedDatabase {
  std::unique_ptr<SQLite::Database> db;
  std::string notice;  ///< a message for the user; empty on a local disk
};

/// Opens a results DB with foreign keys on; WAL, or on a network file system (`network`: its name) a rollback
/// journal and a lock while it is open. Throws Error, and leaves the file byte for byte as it was, if it is
/// missing (read-only), no file, not SQLite, another program's, corrupt, or of a newer schema.
OpenedDatabase open_database(const std::filesystem::path& path, OpenMode mode,
                             const std::optional<std::string>& network,
                             const Schema& schema = current_schema());

/// open_database with network_file_system_of(path).
OpenedDatabase open_database(const std::filesystem::path& path, OpenMode mode);

/// Throws Error (status 2) if no DB can be at `path`: a folder, pipe, socket or device, or a name that is too
/// long. A file that is not there is fine. Never blocks.
void require_database_place(const std::filesystem::path& path);

/// Throws the Error of open_database if a file is there that is not SQLite, another program's or of a newer
/// schema. Only reads.
void require_own_database(const std::filesystem::path& path);

/// True if a file is there, not empty, that does not begin as an SQLite database does. Only reads.
bool is_other_file(const std::filesystem::path& path);

/// True for a file named results.sqlite beside a journal: whatever it holds, it was or will be that
/// workspace's DB.
bool is_workspace_database(const std::filesystem::path& path);

/// What an SQLite failure means to a user: full disk, DB in use, damaged DB, read-only, or SQLite's own
/// words.
Error database_error(const SQLite::Exception& failure, const std::filesystem::path& path);

}  // namespace harness

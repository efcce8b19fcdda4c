#include "results/schema/database_file.h"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <string_view>
#include <thread>

#include "core/file_error.h"
#include "core/files.h"

namespace harness {
namespace fs = std::filesystem;
namespace {

constexpr int kBusyTimeoutMs = 10'000;
constexpr const char* kOtherFileHint = "name another file with --db";

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         bytes[3];
}

bool has_journal_beside(const fs::path& path) {
  return fs::exists(fs::absolute(path).parent_path() / "journal.log");
}

constexpr std::size_t kHeaderBytes = 100;

/// The first bytes of a file, at most a header; empty for a missing file.
std::string beginning_of(const fs::path& path) {
  require_database_place(path);
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  std::string bytes(kHeaderBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file) throw file_error("cannot open", path, errno);
  file.read(bytes.data(), kHeaderBytes);
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

bool is_header(const std::string& bytes) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return bytes.size() == kHeaderBytes && bytes.starts_with(kMagic);
}

void refuse_newer(std::int64_t version, const Schema& schema, const fs::path& path) {
  if (version <= schema.version()) return;
  throw Error(fmt::format("has schema version {}, this program knows {}", version, schema.version()),
              path.string(), "use the newer program that made it, or name another file with --db");
}

void require_known_version(int version, const Schema& schema, const fs::path& path) {
  refuse_newer(version, schema, path);
  if (version >= schema.oldest()) return;
  throw Error(
      fmt::format(
          "has schema version {}, of a program before harness 0.1.0, which is the oldest that this one "
          "reads",
          version),
      path.string(), kRebuildHint);
}

/// False for a missing or empty file. Throws for one that is not SQLite's, another program's or newer. Read
/// without SQLite, which might roll back another program's journal.
bool has_own_header(const fs::path& path, const Schema& schema) {
  const auto bytes = beginning_of(path);
  if (bytes.empty()) return false;
  if (!is_header(bytes)) {
    throw Error("is not an SQLite database", path.string(),
                is_workspace_database(path) ? kRebuildHint : kOtherFileHint);
  }
  const auto* raw = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto user_version = big_endian(raw + 60), application_id = big_endian(raw + 68);
  if (application_id != kApplicationId) {
    throw Error(fmt::format("is a database of another program (application id {:#x})", application_id),
                path.string(), kOtherFileHint);
  }
  refuse_newer(user_version, schema, path);
  return true;
}

std::string file_uri(const fs::path& path, std::string_view parameters) {
  std::string uri = "file:";
  for (const char c : fs::absolute(path).string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + std::string(parameters);
}

/// A folder that cannot be written cannot hold the WAL's index either; without a WAL the file alone is the
/// whole DB.
bool is_frozen(const fs::path& path) {
  const auto folder = fs::absolute(path).parent_path();
  return ::access(folder.c_str(), W_OK) != 0 && !fs::exists(path.string() + "-wal");
}

std::unique_ptr<SQLite::Database> connect(const fs::path& path, OpenMode mode) {
  if (mode == OpenMode::kReadOnly) {
    const auto uri = file_uri(path, is_frozen(path) ? "?mode=ro&immutable=1" : "?mode=ro");
    return std::make_unique<SQLite::Database>(uri, SQLite::OPEN_READONLY | SQLite::OPEN_URI, kBusyTimeoutMs);
  }
  return std::make_unique<SQLite::Database>(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                                            kBusyTimeoutMs);
}

void harden(SQLite::Database& db) {
  auto* handle = db.getHandle();
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  // A name in double quotes that no column has is an error, not a text.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
}

void set_journal(SQLite::Database& db, const std::string& mode) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyTimeoutMs);
  for (;;) {
    try {
      if (db.execAndGet("PRAGMA journal_mode = " + mode).getString() == mode) return;
    } catch (const SQLite::Exception& failure) {
      if ((failure.getErrorCode() & 0xff) != SQLITE_BUSY) throw;  // an extended code, such as BUSY_RECOVERY
    }
    // SQLite does not call its busy handler for a change of the journal: wait here while another process
    // creates the DB.
    if (std::chrono::steady_clock::now() > deadline) {
      throw Error("is in use by another process, so its journal mode cannot be set", db.getFilename(),
                  "wait until that process is done, or stop it", Status::kFailed);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// True for a DB without any table, such as one whose creation was interrupted.
bool is_blank(SQLite::Database& db) {
  return db.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
}

void bring_up_to_date(SQLite::Database& db, const Schema& schema, const fs::path& path) {
  const bool blank = is_blank(db);
  const int version = schema_version(db);
  if (!blank) require_known_version(version, schema, path);
  if (version == schema.version()) return;
  migrate(db, schema);
  // So that the file's own header says the version, which other builds read without opening the DB. Without a
  // WAL: no effect.
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
}

/// A private copy of a DB of an older version, brought up to date; the file stays as it is.
std::unique_ptr<SQLite::Database> migrated_copy(SQLite::Database& db, const Schema& schema) {
  // Without a name SQLite keeps it in a temporary file of its own.
  auto copy = std::make_unique<SQLite::Database>("", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  SQLite::Backup(*copy, db).executeStep();
  harden(*copy);
  migrate(*copy, schema);
  return copy;
}

void prepare_to_read(std::unique_ptr<SQLite::Database>& db, const Schema& schema, const fs::path& path) {
  // Reads the first table page, too: without it a damaged file would be noticed by the first query only.
  if (is_blank(*db)) throw Error("has no tables yet", path.string(), "run `harness reproduce`");
  const int version = schema_version(*db);
  require_known_version(version, schema, path);
  if (version < schema.version()) db = migrated_copy(*db, schema);
  db->exec("PRAGMA query_only = ON");
}

void prepare(std::unique_ptr<SQLite::Database>& db, OpenMode mode, const std::optional<std::string>& network,
             const Schema& schema, const fs::path& path) {
  harden(*db);
  // Before anything is read: it decides whether a WAL's index may live in this process's own memory.
  if (network) db->execAndGet("PRAGMA locking_mode = EXCLUSIVE");
  if (mode == OpenMode::kReadOnly) return prepare_to_read(db, schema, path);
  db->exec("PRAGMA synchronous = FULL");
  db->exec("PRAGMA foreign_keys = ON");
  // Tables first and the WAL then, so that the header of even an interrupted creation is either blank or
  // ours.
  bring_up_to_date(*db, schema, path);
  set_journal(*db, network ? "delete" : "wal");
}

std::string network_notice(const std::string& name, const fs::path& path) {
  return fmt::format(
      "{} is on a network file system ({}): it is used with a rollback journal and by one process at a time; "
      "--db FILE beside --out DIR can put it on a local disk",
      path.string(), name);
}

/// SQLite does not distinguish a file size limit from a failing disk.
bool has_file_size_limit() {
  struct ::rlimit limit {};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

std::optional<std::string> network_file_system(std::uint64_t magic) {
  static const std::map<std::uint64_t, std::string> kNames = {
      {0x00006969, "NFS"},    {0x0000517b, "SMB"},  {0xff534d42, "CIFS"},  {0xfe534d42, "SMB2"},
      {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"}, {0x00c36400, "Ceph"},  {0x19830326, "BeeGFS"},
      {0xaad7aaea, "PanFS"},  {0x01161970, "GFS2"}, {0x7461636f, "OCFS2"}, {0x5346414f, "AFS"},
      {0x01021997, "9p"},     {0x65735546, "FUSE"}};
  const auto found = kNames.find(magic & 0xffffffffU);
  return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> network_file_system_of(const fs::path& path) {
  auto place = fs::absolute(path);
  struct statfs info {};
  while (::statfs(place.c_str(), &info) != 0) {
    if (!place.has_relative_path()) return std::nullopt;
    place = place.parent_path();
  }
  return network_file_system(static_cast<std::uint64_t>(info.f_type));
}

void require_database_place(const fs::path& path) {
  constexpr std::size_t kLongest = 200;  // SQLite and `db rebuild` add to it
  const auto text = path.string();
  const auto where = text.size() <= kLongest ? text : text.substr(0, kLongest / 2) + "...";
  if (path.filename().string().size() > kLongest)
    throw Error("has too long a name for a results database", where, kOtherFileHint);
  struct ::stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return;
    const int reason = errno;
    throw Error(fmt::format("cannot be used: {}", std::strerror(reason)), where,
                reason == EACCES ? permissions_hint(path.parent_path()) : kOtherFileHint);
  }
  if (S_ISREG(info.st_mode)) return;
  const auto* kind = S_ISDIR(info.st_mode)    ? "folder"
                     : S_ISFIFO(info.st_mode) ? "pipe"
                     : S_ISSOCK(info.st_mode) ? "socket"
                                              : "device";
  throw Error(fmt::format("is a {}, not a results database", kind), where, kOtherFileHint);
}

OpenedDatabase open_database(const fs::path& path, OpenMode mode, const std::optional<std::string>& network,
                             const Schema& schema) {
  const bool is_there = has_own_header(path, schema);
  if (!is_there && mode == OpenMode::kReadOnly) {
    throw Error(fs::exists(path) ? "is an empty file" : "there is no results database", path.string(),
                has_journal_beside(path) ? kRebuildHint
                                         : "run `harness reproduce`, or name an existing file with --db");
  }
  if (!is_there) make_folder(fs::absolute(path).parent_path());
  try {
    OpenedDatabase opened{.db = connect(path, mode), .notice = {}};
    prepare(opened.db, mode, network, schema, path);
    if (network) opened.notice = network_notice(*network, path);
    return opened;
  } catch (const SQLite::Exception& failure) {
    throw database_error(failure, path);
  }
}

bool is_other_file(const fs::path& path) {
  const auto bytes = beginning_of(path);
  return !bytes.empty() && !is_header(bytes);
}

bool is_workspace_database(const fs::path& path) {
  return path.filename() == kDatabaseName && has_journal_beside(path);
}

void require_own_database(const fs::path& path) {
  has_own_header(path, current_schema());
}

OpenedDatabase open_database(const fs::path& path, OpenMode mode) {
  return open_database(path, mode, network_file_system_of(path));
}

Error database_error(const SQLite::Exception& failure, const fs::path& path) {
  const auto where = path.string();
  switch (failure.getErrorCode() & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error("is in use by another process", where, "wait until that process is done, or stop it",
                   Status::kFailed);
    case SQLITE_FULL:
      return Error("the disk is full", where,
                   "free some space and repeat the command: it goes on where it stopped", Status::kFailed);
    case SQLITE_IOERR:
      return Error(
          fmt::format("cannot be read or written ({})", failure.what()), where,
          fmt::format("check {}, then repeat the command: it goes on where it stopped",
                      has_file_size_limit() ? "the limit on the size of files (`ulimit -f`) and the disk"
                                            : "the disk"),
          Status::kFailed);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Error(fmt::format("is damaged ({})", failure.what()), where, kRebuildHint);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return Error(fmt::format("cannot be opened or written ({})", failure.what()), where,
                   permissions_hint(path) + ", and those of its folder");
    default:
      return Error(failure.what(), where, {}, Status::kFailed);
  }
}

}  // namespace harness

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "core/json.h"

namespace harness {

// Files of a job's folder (EVENTS.md). An evaluation's stands in its run's, and its name begins with
// kEvaluationPrefix.
inline constexpr const char *kEventLog = "events.log", *kJobFile = "job.json",
                            *kPositionsFile = "positions.json", *kWorkerLog = "worker.log",
                            *kEvaluationPrefix = "eval-";
/// Beside them where a batch job is not to go on: its number.
inline constexpr const char* kStopMarker = "stop";

/// A place in a log: after `bytes` bytes, the last line of which has this checksum.
struct LogMark {
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;

  bool operator==(const LogMark&) const = default;
};

/// An event as its line, `CRC32 JSON\n`: eight hexadecimal digits of the JSON's CRC-32, a blank, one compact
/// JSON object with a string field "type" (core/EVENTS.md lists them).
std::string event_line(const Json& event);

/// The append-only record of one job.
class EventLogWriter {
 public:
  /// kRefuse: a log that another process writes is an error. kTakeOver: its content continues in a new file
  /// of the same name; a process that still writes the old file (on a node that was given up) no longer
  /// reaches it.
  enum class Opening { kRefuse, kTakeOver };

  /// Opens or creates the log, takes an exclusive flock for life, and cuts off a torn last line. On a file
  /// system without locks it takes the log over. Throws Error if another process holds the lock or the file
  /// is not a log.
  explicit EventLogWriter(const std::filesystem::path& path, Opening opening = Opening::kRefuse);

  /// Whether another writer has taken the log over: what this one writes is lost.
  bool is_superseded() const;

  /// Appends one event with a single write(2). Adds "time" (seconds since 1970). Throws Error
  /// (Status::kFailed) on a full disk. Returns the end of the log.
  LogMark append(Json event);
  /// The same of several events, with one write(2) for all: either each of them is there or none. At least
  /// one.
  LogMark append_all(std::vector<Json> events);

  /// fdatasync: after it returns, what was appended survives a power cut.
  void sync();
  /// Also flushes other files of its file system, before an event records that they exist.
  void sync_others();

 private:
  Descriptor file_;
  std::filesystem::path path_;
};

struct EventBatch {
  std::vector<Json> events;
  std::vector<LogMark> marks;     ///< the end of each event's line
  std::uint64_t next_offset = 0;  ///< just after the last complete line
};

/// Whole lines from byte `offset` on (a torn last line is left for later). A missing file gives an empty
/// batch. Throws Error with file and offset where a line in the middle has a wrong checksum.
EventBatch read_events(const std::filesystem::path& path, std::uint64_t offset,
                       std::size_t max_bytes = 8u << 20);

/// The events of a log one after the other, from byte `offset` to its end; reads and throws as read_events
/// does. For a single pass: `for (const auto& event : Events(log))`.
class Events {
 public:
  explicit Events(std::filesystem::path log, std::uint64_t offset = 0);

  struct End {};
  struct Iterator {
    Events* events;
    Json& operator*() const { return events->batch_.events[events->at_]; }
    Iterator& operator++() {
      events->advance();
      return *this;
    }
    bool operator==(End) const { return events->batch_.events.empty(); }
  };
  Iterator begin() { return {this}; }
  End end() const { return {}; }

  /// The end of the current event's line.
  const LogMark& mark() const { return batch_.marks[at_]; }

 private:
  void advance();

  std::filesystem::path log_;
  EventBatch batch_;
  std::size_t at_ = 0;
};

/// The log up to the end of its last line, in bytes: what the next attempt at its job writes begins there,
/// since it cuts off a torn line. 0 where there is no log.
std::uint64_t end_of_log(const std::filesystem::path& log);

/// Where the whole lines of the last so many bytes begin; 0 for a shorter log.
std::uint64_t tail_of_log(const std::filesystem::path& log, std::uint64_t bytes);

std::optional<Json> last_event(const std::filesystem::path& log);

/// The event of a job's last start, as its log holds it; nothing if it was never started.
std::optional<Json> last_start(const std::filesystem::path& log);

/// Every line that can be read of a log that may be damaged anywhere, and how many cannot.
struct SalvagedEvents {
  std::vector<Json> events;
  std::vector<std::string> lines;  ///< of each event, with its line feed
  std::int64_t damaged_lines = 0;
};
SalvagedEvents salvage_events(const std::filesystem::path& path);

/// True if a living process holds the log's lock; false where the file system has no locks.
bool event_log_is_held(const std::filesystem::path& path);

}  // namespace harness

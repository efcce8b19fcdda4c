#include "core/event_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/crc.hpp>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/files.h"

namespace harness {
namespace {

constexpr std::size_t kPrefix = 9;  // eight digits and a blank

std::uint32_t crc32(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

/// The checksum of the JSON of `line` (without its newline), if the line carries it.
std::optional<std::uint32_t> checksum_of(std::string_view line) {
  if (line.size() <= kPrefix || line[8] != ' ') return std::nullopt;
  std::uint32_t stored = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + 8, stored, 16);
  const bool whole = error == std::errc() && end == line.data() + 8 && stored == crc32(line.substr(kPrefix));
  return whole ? std::optional(stored) : std::nullopt;
}

bool is_whole(std::string_view line) {
  return checksum_of(line).has_value();
}

[[noreturn]] void fail(const char* action, const std::filesystem::path& path) {
  const auto error = file_error(action, path, errno);
  throw Error(error.problem(), error.where(), error.hint(), Status::kFailed);
}

std::string read_at(int file, std::uint64_t offset, std::size_t size, const std::filesystem::path& path) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const auto got = ::pread(file, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read", path);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

/// Length of the log up to its last whole line.
std::uint64_t length_of_whole_lines(int file, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(file, &info) != 0) fail("cannot stat", path);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size == 0) return 0;
  const std::string bytes = read_at(file, 0, size, path);
  const auto first_end = bytes.find('\n');
  if (first_end != std::string::npos && !is_whole(std::string_view(bytes).substr(0, first_end))) {
    throw Error("is not an event log", path.string(), "remove it, or choose another folder");
  }
  const auto last_newline = bytes.rfind('\n');
  if (last_newline == std::string::npos) return 0;
  const auto before = last_newline == 0 ? std::string::npos : bytes.rfind('\n', last_newline - 1);
  const auto begin = before == std::string::npos ? 0 : before + 1;
  return is_whole(std::string_view(bytes).substr(begin, last_newline - begin)) ? last_newline + 1 : begin;
}

/// On a network file system a reader can see a file's new length before all of its bytes, which are zero
/// until then: no line of ours holds one. They come within a minute or two, or never.
bool is_half_visible(int file, std::string_view line) {
  constexpr std::time_t kPatience = 120;
  struct stat info {};
  return line.find('\0') != std::string_view::npos && ::fstat(file, &info) == 0 &&
         std::time(nullptr) - info.st_mtime < kPatience;
}

Descriptor open_log(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.get() < 0) fail("cannot open", path);
  return file;
}

bool is_same_file(int file, const std::filesystem::path& path) {
  struct stat ours {
  }, there{};
  return ::fstat(file, &ours) == 0 && ::stat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino &&
         ours.st_dev == there.st_dev;
}

/// Another file in the place of this one, with its whole lines.
Descriptor open_anew(const Descriptor& old, const std::filesystem::path& path) {
  write_file_atomically(path, read_at(old.get(), 0, length_of_whole_lines(old.get(), path), path));
  return open_log(path);
}

}  // namespace

static std::string line_of(std::uint32_t checksum, const std::string& json) {
  return fmt::format("{:08x} {}\n", checksum, json);
}

std::string event_line(const Json& event) {
  const auto json = canonical_json(event);
  return line_of(crc32(json), json);
}

EventLogWriter::EventLogWriter(const std::filesystem::path& path, Opening opening)
    : file_(open_log(path)), path_(path) {
  if (opening == Opening::kTakeOver) file_ = open_anew(file_, path);
  const auto state = try_lock(file_.get());
  if (state == LockState::kUnavailable && opening == Opening::kRefuse) file_ = open_anew(file_, path);
  if (state == LockState::kHeld) {
    throw Error("another process is writing this event log", path.string(), "wait for it, or stop it",
                Status::kFailed);
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(length_of_whole_lines(file_.get(), path))) != 0)
    fail("cannot truncate", path);
}

LogMark EventLogWriter::append(Json event) {
  std::vector<Json> events;
  events.push_back(std::move(event));
  return append_all(std::move(events));
}

LogMark EventLogWriter::append_all(std::vector<Json> events) {
  using Seconds = std::chrono::duration<double>;
  std::string lines;
  std::uint32_t checksum = 0;
  for (auto& event : events) {
    event["time"] = Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
    const auto json = canonical_json(event);
    checksum = crc32(json);
    lines += line_of(checksum, json);
  }
  const auto end = ::lseek(file_.get(), 0, SEEK_END);
  if (end < 0) fail("cannot write", path_);
  const auto written = ::write(file_.get(), lines.data(), lines.size());
  if (written < 0) fail("cannot write", path_);
  if (static_cast<std::size_t>(written) != lines.size()) {
    // What came next would make a damaged line of it.
    if (::ftruncate(file_.get(), end) != 0) fail("cannot take back a part of a line", path_);
    errno = ENOSPC;
    fail("cannot write a complete line", path_);
  }
  return {.bytes = static_cast<std::uint64_t>(end) + lines.size(), .checksum = checksum};
}

bool EventLogWriter::is_superseded() const {
  return !is_same_file(file_.get(), path_);
}

void EventLogWriter::sync() {
  if (::fdatasync(file_.get()) != 0) fail("cannot sync", path_);
}

void EventLogWriter::sync_others() {
  if (::syncfs(file_.get()) != 0) fail("cannot sync", path_);
}

static bool is_event(const Json& line) {
  return line.is_object() && line.contains("type") && line.at("type").is_string();
}

EventBatch read_events(const std::filesystem::path& path, std::uint64_t offset, std::size_t max_bytes) {
  EventBatch batch{.events = {}, .marks = {}, .next_offset = offset};
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT) return batch;
    fail("cannot open", path);
  }
  auto bytes = read_at(file.get(), offset, max_bytes, path);
  // A single line longer than the window: widen it until the line fits.
  while (bytes.size() == max_bytes && bytes.find('\n') == std::string::npos) {
    max_bytes *= 2;
    bytes = read_at(file.get(), offset, max_bytes, path);
  }
  const std::string_view text = bytes;
  for (std::size_t begin = 0;;) {
    const auto end = text.find('\n', begin);
    if (end == std::string_view::npos) return batch;
    const auto line = text.substr(begin, end - begin);
    const auto checksum = checksum_of(line);
    if (!checksum) {
      const bool last = end + 1 == text.size();
      if (last && event_log_is_held(path)) return batch;
      if (is_half_visible(file.get(), line)) return batch;
      throw Error(
          fmt::format("the line at byte {} has a wrong checksum", batch.next_offset), path.string(),
          "the file was changed or damaged: restore it from a copy, or remove the run with `harness runs "
          "rm` and repeat the command");
    }
    batch.events.push_back(parse_json(line.substr(kPrefix), path.string()));
    if (!is_event(batch.events.back()))
      throw Error(fmt::format("the line at byte {} is not an event: it has no \"type\"", batch.next_offset),
                  path.string(), "restore the file from a copy");
    begin = end + 1;
    batch.next_offset = offset + begin;
    batch.marks.push_back({.bytes = batch.next_offset, .checksum = *checksum});
  }
}

Events::Events(std::filesystem::path log, std::uint64_t offset)
    : log_(std::move(log)), batch_(read_events(log_, offset)) {}

void Events::advance() {
  if (++at_ < batch_.events.size()) return;
  batch_ = read_events(log_, batch_.next_offset);
  at_ = 0;
}

std::uint64_t end_of_log(const std::filesystem::path& log) {
  std::ifstream in(log, std::ios::binary | std::ios::ate);
  if (!in) return 0;
  for (auto at = static_cast<std::streamoff>(in.tellg()); at > 0; --at) {
    in.seekg(at - 1);
    if (in.get() == '\n') return static_cast<std::uint64_t>(at);
  }
  return 0;
}

std::uint64_t tail_of_log(const std::filesystem::path& log, std::uint64_t bytes) {
  std::ifstream in(log, std::ios::binary | std::ios::ate);
  if (!in || in.tellg() <= static_cast<std::streamoff>(bytes)) return 0;
  in.seekg(-static_cast<std::streamoff>(bytes), std::ios::end);
  std::string line;
  if (!std::getline(in, line) || in.peek() == std::ifstream::traits_type::eof())
    return 0;  // one line is longer than that
  return static_cast<std::uint64_t>(in.tellg());
}

std::optional<Json> last_event(const std::filesystem::path& log) {
  constexpr std::uint64_t kEnough = 16u << 10;
  std::optional<Json> last;
  for (auto& event : Events(log, tail_of_log(log, kEnough))) last = std::move(event);
  return last;
}

std::optional<Json> last_start(const std::filesystem::path& log) {
  std::optional<Json> found;
  for (auto& event : Events(log)) {
    if (event.value("type", "") == "job_started") found = std::move(event);
  }
  return found;
}

SalvagedEvents salvage_events(const std::filesystem::path& path) {
  SalvagedEvents salvaged;
  const auto bytes = read_file(path);
  const std::string_view text = bytes;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string_view::npos;
       begin = end + 1) {
    const auto line = text.substr(begin, end - begin);
    if (is_whole(line)) {
      salvaged.events.push_back(parse_json(line.substr(kPrefix), path.string()));
      if (is_event(salvaged.events.back())) {
        salvaged.lines.push_back(std::string(line) + '\n');
        continue;
      }
      salvaged.events.pop_back();
    }
    ++salvaged.damaged_lines;
  }
  return salvaged;
}

bool event_log_is_held(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.get() >= 0 && is_locked(file.get());
}

}  // namespace harness

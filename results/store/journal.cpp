#include "results/store/journal.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <fstream>

#include "core/descriptor.h"
#include "core/file_error.h"
#include "core/files.h"
#include "core/sha256.h"
#include "results/store/record_type.h"

namespace harness {
namespace {

std::string digest_of(Json record) {
  record.erase("at");
  record.erase("time");
  return sha256_hex(canonical_json(record));
}

std::string slot_of(const Json& record) {
  return fmt::format("{} {}", record.at("type").get<std::string>(), record.at("key").get<std::string>());
}

}  // namespace

std::string JournalText::id() const {
  return empty() ? std::string() : sha256_hex(canonical_json(records.front())).substr(0, 16);
}

Journal::Journal(const std::filesystem::path& file) : file_(file), log_(file) {
  const auto text = read_journal(file);
  for (const auto& record : text.records) remember(record, record.value("at", std::string()));
  id_ = text.id();
  end_ = text.end();
  copied_ = end_.bytes;
  const auto copied = copy_of_journal(file);
  const auto whole = read_file(file);
  if (!std::filesystem::exists(copied) || read_file(copied) != whole) write_file_atomically(copied, whole);
}

void Journal::copy() {
  const auto path = copy_of_journal(file_);
  std::ifstream file(file_, std::ios::binary);
  std::string bytes(end_.bytes - copied_, '\0');
  file.seekg(static_cast<std::streamoff>(copied_));
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const Descriptor copy(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const auto written = ::pwrite(copy.get(), bytes.data(), bytes.size(), static_cast<off_t>(copied_));
  if (!file || written < 0) throw file_error("cannot write", path, errno);
  if (static_cast<std::size_t>(written) < bytes.size()) throw file_error("cannot write", path, ENOSPC);
  copied_ = end_.bytes;
}

void Journal::remember(const Json& record, const std::string& at) {
  // What was recorded of other runs is still true, but the same words may now have to be said again.
  if (record_type(record) == RecordType::kForget) last_.clear();
  if (record.contains("key")) last_[slot_of(record)] = {.digest = digest_of(record), .at = at};
}

bool Journal::is_last(const Json& record) const {
  if (!record.contains("key")) return false;
  const auto found = last_.find(slot_of(record));
  return found != last_.end() && found->second.digest == digest_of(record);
}

std::string Journal::time_of(const Json& record) const {
  return is_last(record) ? last_.at(slot_of(record)).at : utc_now();
}

std::optional<LogMark> Journal::append(const Json& record, const std::string& at) {
  return append_all({{record, at}});
}

std::optional<LogMark> Journal::append_all(const std::vector<std::pair<Json, std::string>>& records) {
  std::vector<Json> lines;
  for (const auto& [record, at] : records) {
    if (is_last(record)) continue;
    lines.push_back(record);
    lines.back()["at"] = at;
  }
  if (lines.empty()) return std::nullopt;
  end_ = log_.append_all(std::move(lines));
  log_.sync();  // the DB must not know more than what a power cut leaves
  copy();
  for (const auto& [record, at] : records) remember(record, at);
  if (id_.empty()) id_ = read_journal(file_).id();
  return end_;
}

std::filesystem::path copy_of_journal(const std::filesystem::path& file) {
  return file.string() + ".copy";
}

bool can_be_restored(const std::filesystem::path& file) {
  const auto copy = copy_of_journal(file);
  if (!std::filesystem::exists(copy)) return false;
  if (!std::filesystem::exists(file)) return true;
  if (std::filesystem::file_size(file) >= std::filesystem::file_size(copy)) return false;
  return read_file(copy).starts_with(read_file(file));
}

std::string restore_journal(const std::filesystem::path& file) {
  if (!can_be_restored(file)) return {};
  const auto* state = std::filesystem::exists(file) ? "had lost its end" : "was missing";
  const auto copy = copy_of_journal(file);
  write_file_atomically(file, read_file(copy));
  return fmt::format("{} {}; it was restored from {}", file.string(), state, copy.filename().string());
}

void require_whole_record(const Json& record, const std::filesystem::path& file, std::size_t line) {
  try {
    require_whole_record(record);
  } catch (const Error& error) {
    const auto field = error.where().find(':');
    throw Error(error.problem(),
                fmt::format("{}:{}{}", file.string(), line,
                            field == std::string::npos ? "" : error.where().substr(field)),
                error.hint().empty() ? kJournalHint : error.hint());
  }
}

JournalText read_journal(const std::filesystem::path& file) {
  JournalText text;
  try {
    Events events(file);
    for (auto& event : events) {
      text.marks.push_back(events.mark());
      text.records.push_back(std::move(event));
    }
  } catch (const Error& error) {
    if (error.status() == Status::kFailed) throw;
    throw Error(error.problem(), error.where(), kJournalHint, error.status());
  }
  for (std::size_t i = 0; i < text.records.size(); ++i) require_whole_record(text.records[i], file, i + 1);
  return text;
}

std::string utc_text(double seconds_since_1970) {
  const auto milliseconds = static_cast<std::int64_t>(std::floor(seconds_since_1970 * 1000));
  const std::chrono::sys_time<std::chrono::seconds> whole{std::chrono::seconds{milliseconds / 1000}};
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(whole)),
                     milliseconds % 1000);
}

std::string readable_time(const std::string& utc) {
  if (utc.size() < 19) return utc;
  return utc.substr(0, 10) + " " + utc.substr(11, 8) + " UTC";
}

std::string utc_now() {
  using Seconds = std::chrono::duration<double>;
  return utc_text(Seconds(std::chrono::system_clock::now().time_since_epoch()).count());
}

}  // namespace harness

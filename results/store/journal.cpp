#include "results/store/journal.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>

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
  bool decides = false;
  for (const auto& [record, at] : records) {
    if (is_last(record)) continue;
    lines.push_back(record);
    lines.back()["at"] = at;
    decides = decides || record_kind(record).is_decision;
  }
  if (lines.empty()) return std::nullopt;
  end_ = log_.append_all(std::move(lines));
  if (decides) log_.sync();  // it must not be lost with the power
  for (const auto& [record, at] : records) remember(record, at);
  if (id_.empty()) id_ = read_journal(file_).id();
  return end_;
}

Journal::~Journal() {
  try {
    log_.sync();
  } catch (const Error&) {
    // It is written; only a power cut could still lose the end of it.
  }
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

#include "results/journal.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <set>

#include "core/sha256.h"

namespace harness {
namespace {

constexpr const char* kForget = "forget";
const std::set<std::string> kDecisions = {"selection", "experiment", "comparisons",
                                          "alarms",    "job_state",  kForget};

std::string digest_of(Json record) {
  record.erase("at");
  record.erase("time");
  return sha256_hex(canonical_json(record));
}

std::string slot_of(const Json& record) {
  return fmt::format("{} {}", record.at("type").get<std::string>(), record.at("key").get<std::string>());
}

}  // namespace

Journal::Journal(const std::filesystem::path& file) : log_(file) {
  for (const auto& record : read_journal(file)) remember(record, record.value("at", std::string()));
}

void Journal::remember(const Json& record, const std::string& at) {
  // What was recorded of other runs is still true, but the same words may now have to be said again.
  if (record.at("type") == kForget) last_.clear();
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

void Journal::append(const Json& record, const std::string& at) {
  if (is_last(record)) return;
  Json line = record;
  line["at"] = at;
  log_.append(std::move(line));
  // What cannot be found again by repeating a command must not be lost with the power.
  if (kDecisions.contains(record.at("type").get<std::string>())) log_.sync();
  remember(record, at);
}

Journal::~Journal() {
  try {
    log_.sync();
  } catch (const Error&) {
    // It is written; only a power cut could still lose the end of it.
  }
}

std::vector<Json> read_journal(const std::filesystem::path& file) {
  std::vector<Json> records;
  std::uint64_t offset = 0;
  for (;;) {
    auto batch = read_events(file, offset);
    if (batch.events.empty()) return records;
    std::move(batch.events.begin(), batch.events.end(), std::back_inserter(records));
    offset = batch.next_offset;
  }
}

std::string utc_text(double seconds_since_1970) {
  const auto milliseconds = static_cast<std::int64_t>(std::floor(seconds_since_1970 * 1000));
  const std::chrono::sys_time<std::chrono::seconds> whole{std::chrono::seconds{milliseconds / 1000}};
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(whole)),
                     milliseconds % 1000);
}

std::string utc_now() {
  using Seconds = std::chrono::duration<double>;
  return utc_text(Seconds(std::chrono::system_clock::now().time_since_epoch()).count());
}

}  // namespace harness
